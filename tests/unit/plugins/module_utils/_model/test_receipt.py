"""Receipt files, and what a receipt tells a second run."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import (
    Origin,
    Pending,
    Receipt,
    ReceiptEntry,
    from_json,
    to_json,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

PARTITION = TopicPartition("orders", 0)
RECEIPT = Receipt(
    "destination-id",
    (
        ReceiptEntry("billing", PARTITION, None, CommittedOffset(7, "a\n€"), CommittedOffset(7, "a\n€", 3)),
        ReceiptEntry("billing", TopicPartition("orders", 1), CommittedOffset(9), CommittedOffset(7), None),
        ReceiptEntry("billing", TopicPartition("orders", 2), CommittedOffset(9, "", 1), None, None),
        ReceiptEntry("billing", TopicPartition("orders", 3), None, CommittedOffset(7), None, pending=Pending.COMMIT),
        ReceiptEntry("billing", TopicPartition("orders", 4), None, CommittedOffset(7), None, pending=Pending.ROLLBACK),
    ),
)


def written(before: int | None, offset: int | None, after: int | None) -> ReceiptEntry:
    commits = (None if each is None else CommittedOffset(each) for each in (before, offset, after))
    return ReceiptEntry("billing", PARTITION, *commits)


def test_everything_comes_back():
    assert from_json(to_json(RECEIPT), "receipt.json") == RECEIPT


SOURCE = (Origin("old", TopicPartition("shop.orders", 0)), Origin("old", TopicPartition("shop.orders", 1)))


def test_the_source_comes_back_and_a_line_without_one_stays_as_it_is():
    text = to_json(RECEIPT)
    assert "source" not in text
    merged = RECEIPT.merged([RECEIPT.entries[0]._replace(source=SOURCE)])
    assert from_json(to_json(merged), "receipt.json") == merged
    assert to_json(merged).splitlines()[2:] == text.splitlines()[2:]


def test_an_entry_is_known_by_its_source_or_else_by_itself():
    entry = RECEIPT.entries[0]
    assert entry.origins == (Origin("billing", PARTITION),)
    assert entry._replace(source=SOURCE).origins == SOURCE


def test_the_order_of_entries_does_not_matter():
    assert to_json(Receipt("destination-id", RECEIPT.entries[::-1])) == to_json(RECEIPT)


def test_merging_replaces_entries_with_the_same_key_and_keeps_the_others():
    new = written(None, 8, 8)
    merged = RECEIPT.merged([new])
    assert merged.by_key == {**RECEIPT.by_key, ("billing", PARTITION): new}
    assert len(merged.entries) == len(RECEIPT.entries)


@pytest.mark.parametrize(
    ("entry", "found", "explained"),
    [
        pytest.param(written(3, 7, 7), 7, True, id="stands where it was put"),
        pytest.param(written(3, 7, 7), 12, True, id="has consumed since"),
        pytest.param(written(30, 7, 7), 30, True, id="rewound, and has consumed up to where it once was"),
        pytest.param(written(3, 7, 7), 6, False, id="somebody has put it back"),
        pytest.param(written(3, 7, 7), None, False, id="its commit has expired"),
        pytest.param(written(3, None, None), 7, False, id="was rolled back"),
        pytest.param(written(3, 7, None), 7, True, id="killed after the write"),
        pytest.param(written(3, 7, None), 3, False, id="killed before the write"),
        pytest.param(written(30, 7, None), 30, False, id="killed before a rewind"),
        pytest.param(
            written(3, 7, 7)._replace(pending=Pending.COMMIT), 12, True, id="killed before it wrote that again"
        ),
        pytest.param(written(30, 7, 7)._replace(pending=Pending.ROLLBACK), 30, False, id="killed after its rollback"),
        pytest.param(written(30, 7, 7)._replace(pending=Pending.ROLLBACK), 7, True, id="killed before its rollback"),
        pytest.param(written(3, 7, 9), 9, False, id="somebody else has written at the same time"),
    ],
)
def test_a_receipt_explains_what_was_written_and_what_was_consumed_since(entry, found, explained):
    assert entry.explains(None if found is None else CommittedOffset(found)) is explained
