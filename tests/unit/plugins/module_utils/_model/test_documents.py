"""The common shape of the files."""

import json

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import documents, plan, receipt, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from tests.support.module_inputs import entry, plan_of

KINDS = {"snapshot": snapshot.from_json, "plan": plan.from_json, "receipt": receipt.from_json}


def test_every_entry_has_a_line_of_its_own():
    text = documents.dumps("plan", {"snapshot": "abc"}, [{"group": "a"}, {"group": "b\nc"}])
    assert text == (
        '{"format": "streamshift.kafka/plan", "version": 1, "snapshot": "abc", "entries": [\n'
        '{"group": "a"},\n'
        '{"group": "b\\nc"}\n'
        "]}\n"
    )


def test_a_document_without_entries_is_one_line():
    text = documents.dumps("plan", {}, [])
    assert text == '{"format": "streamshift.kafka/plan", "version": 1, "entries": []}\n'
    assert documents.loads("plan", text, "plan.json")[1] == []


ROWS = [{"group": "a", "entries": [1]}, {"group": 'b\n]}\n"'}, {"group": "c"}]
WRITTEN = documents.dumps("plan", {"snapshot": "abc"}, ROWS)


@pytest.mark.parametrize(
    "edited",
    [
        WRITTEN,
        json.dumps(json.loads(WRITTEN)),
        json.dumps(json.loads(WRITTEN), indent=2),
        json.dumps(json.loads(WRITTEN), indent=2) + "\n",
        WRITTEN.replace("},\n", "},\n\n"),
        WRITTEN.replace("},\n", "}, "),
        WRITTEN.replace("},\n", "}\n,"),
        WRITTEN.replace('{"group": "c"}', '{"group":\n"c"}'),
        WRITTEN.replace('{"group": "c"}', '  {"group": "c"}  '),
        WRITTEN.replace("\n]}\n", '\n], "more": [\n]}\n'),
    ],
)
def test_an_edited_document_is_read_as_json_is(edited):
    head, rows = documents.loads("plan", edited, "plan.json")
    assert (head["snapshot"], list(rows)) == ("abc", ROWS)


@pytest.mark.parametrize(
    "damaged",
    [
        WRITTEN.replace("},\n", "}\n", 1),
        WRITTEN.replace("},\n", "},,\n", 1),
        WRITTEN.replace("\n]}\n", ",\n]}\n"),
        WRITTEN.replace('{"group": "c"}\n', ""),
        WRITTEN.replace('"c"}', '"c"'),
        WRITTEN.replace('"c"}', '"c", "group": "d"}'),
        WRITTEN.replace('"c"', "[" * 100_000),
        WRITTEN + "{}",
        WRITTEN + WRITTEN,
        WRITTEN[:-4],
    ],
)
def test_a_damaged_line_is_refused(damaged):
    with pytest.raises(InvalidFile, match=r"plan\.json is damaged"):
        list(documents.loads("plan", damaged, "plan.json")[1])


def test_names_stay_readable():
    assert '"größe-注文"' in documents.dumps("plan", {}, [{"group": "größe-注文"}])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is damaged: it is not JSON"),
        ("{", "is damaged: it is not JSON"),
        ("[]", "its format is null"),
        (
            '{"format": "streamshift.kafka/copy", "version": 1, "entries": []}',
            'its format is "streamshift.kafka/copy", not "streamshift.kafka/',
        ),
        ('{"format": "streamshift.kafka/KIND", "version": 2, "entries": []}', "has version 2, and this release reads"),
        ('{"format": "streamshift.kafka/KIND", "entries": []}', "has version null"),
        ('{"format": "streamshift.kafka/KIND", "version": 1, "entries": {}}', "it has no list of entries"),
        ('{"format": "streamshift.kafka/KIND", "version": 1, "entries": [7]}', "is damaged"),
        ('{"format": "streamshift.kafka/KIND", "version": 1, "entries": []}', "is damaged"),  # no members at all
    ],
)
def test_what_cannot_be_read_is_told_in_one_line_with_path_and_remedy(kind, text, told):
    with pytest.raises(InvalidFile) as refused:
        KINDS[kind](text.replace("KIND", kind), f"/srv/{kind}.json")
    message = str(refused.value)
    assert told in message
    assert f"/srv/{kind}.json" in message
    assert "\n" not in message
    assert refused.value.remedy


@pytest.mark.parametrize("kind", ["copy", "receipt", "removed", "connect-receipt", "topics-receipt"])
def test_what_a_rollback_or_a_copy_needs_is_never_said_to_be_made_again(kind):
    def remedy(text):
        with pytest.raises(InvalidFile) as refused:
            documents.loads(kind, text.replace("KIND", kind), "file.json")
        return refused.value.remedy

    restore = "restore it from the newest folder in history/ that has one, or from a backup: without it "
    assert remedy("{").startswith(restore) and "path" not in remedy("{")
    assert remedy("{}").startswith(restore) and remedy("{}").endswith("; or correct the path")
    assert remedy('{"format": "streamshift.kafka/KIND", "version": 2}') == "use the release that wrote it"


def test_what_is_no_plan_can_be_moved_away():
    with pytest.raises(InvalidFile) as refused:
        plan.from_json("{}", "plan.json")
    assert refused.value.remedy == "correct the path, or move that file away"


def test_several_damaged_entries_are_told_at_once():
    text = plan.to_json(plan_of(*[entry()] * 9))
    lines = text.splitlines()
    for number in (2, 4):
        lines[number] = lines[number].replace('"offset": 5', f'"offset": -{number}')
    with pytest.raises(InvalidFile) as refused:
        plan.from_json("\n".join(lines) + "\n", "/srv/plan.json")
    message = str(refused.value)
    assert message.count("/srv/plan.json is damaged") == 1
    assert "entry 2: offset: -2 is not an offset" in message and "entry 4: offset: -4 is not an offset" in message
    with pytest.raises(InvalidFile, match=r"entry 5: .* and 4 more\."):
        plan.from_json(text.replace('"offset"', '"place"'), "/srv/plan.json")


def test_a_name_that_thousands_of_entries_share_takes_memory_once():
    one, other = (documents.name_of(json.loads('"billing-of-the-shop"')) for _unused in range(2))
    assert one is other
