"""Snapshot files, as JSON and as the stock tool's CSV."""

import dataclasses
import hashlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import NO_TRAITS
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import (
    OffsetFormat,
    positions_of,
    read_backup,
    to_text,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import read_snapshot as read
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    OpenTransaction,
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
    from_json,
    to_json,
)

ORDERS = TopicPartition("orders", 0)
ONE = Snapshot("id", (SnapshotGroup("billing", "classic"),), (SnapshotEntry("billing", ORDERS, CommittedOffset(41)),))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["a,b", 'a"b', "a\nb", "{", "0"]
)
group_names = texts.filter(bool)
csv_group_names = group_names.filter(lambda name: not set("\r\n\0") & set(name) and name[0] != "\ufeff")
topic_names = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=8)
partitions = st.builds(TopicPartition, topic_names, st.integers(0, 2**31 - 1))
commits = st.builds(CommittedOffset, st.integers(0, 2**63 - 1), texts, st.none() | st.integers(0, 2**31 - 1))


@st.composite
def snapshots(draw: st.DrawFn, names: st.SearchStrategy[str] = group_names) -> Snapshot:
    """Snapshots of up to three groups, sorted as their files are."""
    groups = sorted(draw(st.lists(names, max_size=3, unique=True)))
    entries = [
        SnapshotEntry(group, partition, committed)
        for group in groups
        for partition, committed in sorted(draw(st.dictionaries(partitions, commits, max_size=3)).items())
    ]
    types = st.sampled_from(["classic", "consumer", "streams", "unknown"])
    cluster_id = draw(st.none() | texts)
    return Snapshot(cluster_id, tuple(SnapshotGroup(name, draw(types)) for name in groups), tuple(entries))


def to_csv(snapshot: Snapshot) -> str:
    return to_text(OffsetFormat.CSV, positions_of(snapshot))


def from_csv(text: str, path: str, group: str | None = None) -> Snapshot:
    return read(text, path, group, "csv")


def without_what_csv_drops(snapshot: Snapshot) -> list[tuple[str, TopicPartition, int]]:
    return [(group, partition, committed.offset) for group, partition, committed in snapshot.entries]


@given(snapshots())
def test_json_keeps_everything(snapshot):
    text = to_json(snapshot)
    assert read(text, "snapshot.json") == snapshot
    assert text.count("\n") == (len(snapshot.entries) + 2 if snapshot.entries else 1)


@given(snapshots(csv_group_names), st.randoms())
def test_equal_content_gives_equal_bytes(snapshot, random):
    shuffled = Snapshot(
        snapshot.cluster_id,
        tuple(random.sample(snapshot.groups, len(snapshot.groups))),
        tuple(random.sample(snapshot.entries, len(snapshot.entries))),
    )
    assert to_json(shuffled) == to_json(snapshot)
    assert to_csv(shuffled) == to_csv(snapshot)
    assert shuffled.digest() == snapshot.digest()


@given(snapshots(csv_group_names))
def test_csv_keeps_offsets(snapshot):
    only = snapshot.groups[0].name if len(snapshot.groups) == 1 else None
    if snapshot.entries:
        found = from_csv(to_csv(snapshot), "snapshot.csv", only)
        assert without_what_csv_drops(found) == without_what_csv_drops(snapshot)
        assert read(to_csv(snapshot), "snapshot.csv", only) == found
    else:
        assert to_csv(snapshot) == ""


def test_csv_has_the_stock_tools_columns_three_of_one_group_and_four_of_several():
    assert to_csv(ONE) == "orders,0,41\n"
    other = SnapshotEntry("ship,ping", TopicPartition("orders", 1), CommittedOffset(7, "metadata", 3))
    both = Snapshot("id", (*ONE.groups, SnapshotGroup("ship,ping", "consumer")), (*ONE.entries, other))
    assert to_csv(both) == 'billing,orders,0,41\n"ship,ping",orders,1,7\n'


@pytest.mark.parametrize(
    "text", ["\ufefforders,0,41\r\n", "orders,0,41\n\n \r\n", "orders,0,41", '\ufeff"orders",0,41\r\n\r\n']
)
def test_what_editors_leave_in_csv_is_read(text):
    assert without_what_csv_drops(read(text, "snapshot.csv", "billing")) == [("billing", ORDERS, 41)]


@pytest.mark.parametrize(
    "line", ["orders, 0, 41", "orders,0 ,41 ", "orders,\t0,+41", "orders,0,41,", "orders,+00,041 , "]
)
def test_numbers_are_read_as_the_stock_tool_reads_them(line):
    assert without_what_csv_drops(read(f"{line}\n", "snapshot.csv", "billing")) == [("billing", ORDERS, 41)]
    found = read(f"billing,{line}\nbilling,orders,1,7\n", "snapshot.csv")
    assert without_what_csv_drops(found)[0] == ("billing", ORDERS, 41)


@pytest.mark.parametrize("char", "\n\r\0")
def test_a_line_break_in_a_name_is_refused_in_csv_which_the_stock_tool_reads_line_by_line(char):
    name = f"a{char}b"
    odd = Snapshot("id", (SnapshotGroup(name, "classic"),), (SnapshotEntry(name, ORDERS, CommittedOffset(1)),))
    with pytest.raises(InvalidInput, match="write no CSV"):
        to_csv(odd)


def test_what_the_stock_tool_exports_can_be_read():
    # Unsorted, and quoted where it need not be.
    exported = 'shipping,orders,1,7\n"a-group-with-a-rather-long-name",orders,0,41\nshipping,orders,0,9\n'
    assert without_what_csv_drops(from_csv(exported, "exported.csv")) == [
        ("a-group-with-a-rather-long-name", ORDERS, 41),
        ("shipping", ORDERS, 9),
        ("shipping", TopicPartition("orders", 1), 7),
    ]


def test_three_columns_need_the_name_of_their_group():
    with pytest.raises(InvalidFile, match="do not say whose offsets they are"):
        from_csv("orders,0,41\n", "snapshot.csv")


@pytest.mark.parametrize(
    "text", ["orders,0,41\n", "\ufefforders,0,41,\r\n", "billing,orders,0,41\n", to_json(ONE), "\ufeff" + to_json(ONE)]
)
def test_a_backup_of_three_columns_is_of_the_only_group_that_is_selected(text):
    backup = read_backup(text, "billing.csv", Selection(groups=("billing",)))
    assert [(entry.group, entry.partition, entry.committed.offset) for entry in backup.entries] == [
        ("billing", ORDERS, 41)
    ]


@pytest.mark.parametrize(
    "selection", [Selection(groups=("a", "b")), Selection(("a",), ("b.*",)), Selection((), ("b.*",))]
)
def test_a_backup_of_three_columns_is_refused_for_several_groups(selection):
    with pytest.raises(InvalidFile, match="Select its group alone, by groups, or use a file with four columns"):
        read_backup("orders,0,41\n", "billing.csv", selection)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("GROUP,TOPIC,PARTITION,OFFSET\n", "'PARTITION' is no number"),
        ("billing,orders,0,-1\n", "'-1' is no number"),
        ("billing,orders,0,4_1\n", "'4_1' is no number"),
        ("billing,orders,0,4.1e1\n", "is no number"),
        ("billing,orders,0,VALUE_SPECIFIED_IN_NO_LOG_PARAMETER\n", "is no number"),
        ("billing,orders,0\nbilling,orders,1,7\n", "three columns"),
        ("billing,orders,0,41\norders,1,7\n", "line 2 of /srv/snapshot.csv"),
        ("billing,orders,0,41\norders,1,7\n", "it has 3 columns, and the first line has 4"),
        ("billing,orders,0,9223372036854775808\n", "is not an offset"),
        (f"billing,orders,0,{'9' * 20}\n", "is larger than any offset"),
        ("billing,orders,2147483648,0\n", "is not a partition"),
        ("billing,orders,0,41\n\nbilling,orders,1,7\n", "line 2 of /srv/snapshot.csv"),
        ("\nbilling,orders,0,41\n", "it is blank"),
        ('billing,orders,0,"41\n"\n', "line 1 of /srv/snapshot.csv"),
        ("billing,orders,0,41,5\n", "line 1 of /srv/snapshot.csv is not topic, partition, offset"),
        ("billing,orders,0,41,,\n", "it has 5 columns"),
        ("billing, orders,0,41\n", "' orders' cannot be the name of a topic"),
        ("billing,orders ,0,41\n", "'orders ' cannot be the name of a topic"),
        ("billing,orders,0,++41\n", "'++41' is no number"),
        ("billing,orders,0,4 1\n", "'4 1' is no number"),
        ("billing orders 0 41\n", "it has 1 column; commas separate columns"),  # rpk's variant
        (",orders,0,41\n", "a name is empty"),
        ("billing,,0,41\n", "a name is empty"),
        ("billing,orders,0,41\nbilling,orders,0,42\n", "two lines for group billing and orders-0, lines 1 and 2"),
        ("billing,orders\r,0,41\n", "it has a carriage return; end lines with a line feed"),
        ("\ufeffbilling,orders,0,41\n\ufeffshipping,orders,0,41\n", "line 2 of /srv/snapshot.csv"),
        (
            'billing,orders,0,41\n\ufeff"shipping",orders,0,41\n',
            "a cell begins with a byte order mark; two files may have been joined",
        ),
        ("\ufeff\ufeffbilling,orders,0,41\n", "a cell begins with a byte order mark"),
    ],
)
def test_csv_that_cannot_be_meant_is_refused(text, why):
    with pytest.raises(InvalidFile) as refused:
        from_csv(text, "/srv/snapshot.csv")
    assert why in str(refused.value)
    assert "/srv/snapshot.csv" in str(refused.value)
    assert refused.value.remedy


def test_a_file_that_changes_its_columns_is_refused_though_its_group_is_known():
    with pytest.raises(InvalidFile, match="line 2 .* has 4 columns, and the first line has 3"):
        from_csv("orders,0,41\nbilling,orders,1,7\n", "snapshot.csv", "billing")


def test_the_digest_changes_with_every_commit():
    moved = Snapshot(ONE.cluster_id, ONE.groups, (SnapshotEntry("billing", ORDERS, CommittedOffset(42)),))
    noted = Snapshot(ONE.cluster_id, ONE.groups, (SnapshotEntry("billing", ORDERS, CommittedOffset(41, "x")),))
    assert len({ONE.digest(), moved.digest(), noted.digest()}) == 3


def test_json_keeps_open_transactions_and_says_nothing_without_any():
    its = dataclasses.replace(ONE, open=(OpenTransaction("billing", ORDERS, "transactional id x9"),))
    assert read(to_json(its), "snapshot.json") == its
    assert its.digest() != ONE.digest() and "open_transactions" not in to_json(ONE)


def test_json_keeps_what_was_left_out_and_a_plan_does_not_depend_on_it():
    of_all = dataclasses.replace(ONE, left_out=("audit: none of its topics is selected",), left_out_names=("audit",))
    of_all = dataclasses.replace(of_all, groups=(SnapshotGroup("audit", "classic"), *ONE.groups))
    assert from_json(to_json(of_all), "a.json") == of_all
    assert of_all.digest() == ONE.digest() and "left_out" not in to_json(ONE)


def test_a_digest_of_an_earlier_release_counts_groups_without_commits():
    with_idle = dataclasses.replace(ONE, groups=(SnapshotGroup("audit", "classic"), *ONE.groups))
    earlier = hashlib.sha256(to_json(dataclasses.replace(with_idle, traits=NO_TRAITS)).encode()).hexdigest()[:32]
    assert with_idle.has_digest(earlier) and with_idle.has_digest(ONE.digest()) and not ONE.has_digest(earlier)
