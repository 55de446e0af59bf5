"""Files are hostile input: whatever becomes of one, it is read as something that Kafka can hold, or refused with the place."""

import copy
import json
import random
import re
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import (
    backlog,
    connect_receipt,
    documents,
    lease,
    offset_formats,
    plan,
    receipt,
    removed,
    report,
    snapshot,
    status,
    topic_plan,
    topic_receipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile

TEXTS = re.findall(r"```json\n(.*?)```", (Path(__file__).parents[5] / "docs/files.md").read_text(), re.DOTALL)
CSV = "billing,clicks,0,45\nbilling,orders,0,41\naudit,orders,1,60\n"
CONNECT = json.dumps({
    "format": "streamshift.kafka/connect-receipt", "version": 1, "destination": {"cluster_id": "A"}, "store": "topic",
    "connector": "mirror", "source_alias": "src",
    "entries": [{"topic": "orders", "partition": 0, "before": None, "written": 4, "after": 4}],
})  # fmt: skip
MODULES = {
    "snapshot": snapshot, "plan": plan, "receipt": receipt, "copy": backlog, "connect-receipt": connect_receipt,
    "topics": topic_plan, "topics-receipt": topic_receipt, "lease": lease, "removed": removed, "report": report,
    "status": status,
}  # fmt: skip
LEASE = lease.to_json(lease.Lease("host", "ns", 4711, 88, 1_700_000_000.5, "cut_over"))
ROUND = {
    "group": "g", "ready": True, "ready_since": "2026-01-01", "lag": 3, "expired": 0, "to_come": None, "verdicts": {"exact": 2},
    "absent": 0,
}  # fmt: skip
STATUS = status.to_json(status.Status("round", 1_700_000_000.5, 1_700_000_009.0, 3, None, 1_700_000_009.0, (ROUND,)))
FILES = {json.loads(text)["format"].partition("/")[2]: text for text in (*TEXTS, CONNECT, LEASE, STATUS)}
COUNT = 600  # of each file, in each of two ways
PLACE = re.compile(
    r"entry \d+: |its head: |line \d+|two entries for|two lines for|its format is|has version|no list of "
    r"entries|nested too deeply"
    r"|is there twice|columns|group .* (has|is)|is empty"
)


VALUES = [
    None, True, False, 0, -1, 1, 1.5, 1e400, float("nan"), 1 << 31, 1 << 32, 1 << 40, 1 << 63, 1 << 64, -(1 << 63), 10**400,
    "", "x", "41", "\ud800", "\0", "a\nb", "{{ 1 }}", "x" * 40_000, "é" * 20_000, [], {}, [[]], [5], {"a": 1},
    json.loads("[" * 400 + "]" * 400),
]  # fmt: skip


def places(value, path=()):
    """The paths of all values within JSON."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def mutated(document, draw):
    """The document with one to three values replaced, removed, doubled or swapped."""
    made = copy.deepcopy(document)
    for _time in range(draw.randint(1, 3)):
        path = draw.choice(list(places(made))[1:] or [()])
        if not path:
            return made
        *outer, key = path
        holder = made
        for step in outer:
            holder = holder[step]
        way = draw.random()
        if way < 0.7:
            holder[key] = copy.deepcopy(draw.choice(VALUES))
        elif way < 0.8:
            del holder[key]
        elif way < 0.9 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[draw.choice(list(holder)) if isinstance(holder, dict) else -1] = copy.deepcopy(holder[key])
    return made


def garbled(text, draw):
    """The text with some of it cut, doubled or replaced."""
    for _time in range(draw.randint(1, 3)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 1, 1, 1, 2, 10, 200]))
        new = draw.choice(["", "", *'",{}[]:0-\n\0\\é', "9" * 30, "e9", text[start:end] * 2])
        text = text[:start] + new + text[end:]
    return text


def numbers(value, key=""):
    """All numbers within JSON with their member's names."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from numbers(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each, key)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield key, value


def check(kind, text):
    """What the error says of a file that was refused as it should be; nothing of one that was read."""
    try:
        read = MODULES[kind].from_json(text, f"/srv/{kind}.json")
    except InvalidFile as exc:
        said = str(exc)
        assert f"/srv/{kind}.json" in said and exc.remedy and "\n" not in said
        assert PLACE.search(said), said
        assert not re.search(r"\b(\w+Error|NoneType|indices|unpack|'(str|int|list|dict)')", said), said
        said.encode()
        return said
    again = MODULES[kind].to_json(read)
    again.encode()
    for name, number in numbers(json.loads(again)):
        assert 0 <= number < 1 << (31 if name in ("partition", "leader_epoch") else 63), name
    return ""


@pytest.mark.parametrize("kind", MODULES)
def test_what_is_read_is_written_with_the_same_members_in_the_same_order(kind):
    again = MODULES[kind].to_json(MODULES[kind].from_json(FILES[kind], "file.json"))
    assert json.dumps(json.loads(again)) == json.dumps(json.loads(FILES[kind]))


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [("lease", "phase", None), ("copy", "claimed", True), ("plan", "lines", {}), ("snapshot", "cluster_id", None)],
)
def test_a_file_of_an_earlier_release_lacks_members(kind, member, value):
    document = json.loads(FILES[kind])
    del document[member]
    assert getattr(MODULES[kind].from_json(json.dumps(document), "file.json"), member) == value


@pytest.mark.parametrize("kind", MODULES)
def test_every_mutation_of_a_files_values(kind):
    draw, document = random.Random(f"values of {kind}"), json.loads(FILES[kind])
    assert not check(kind, FILES[kind])
    refused = [bool(check(kind, json.dumps(mutated(document, draw)))) for _number in range(COUNT)]
    assert 0.3 * COUNT < sum(refused) < COUNT


@pytest.mark.parametrize("kind", MODULES)
def test_every_mutation_of_a_files_text(kind):
    draw = random.Random(f"text of {kind}")
    refused = [bool(check(kind, garbled(FILES[kind], draw))) for _number in range(COUNT)]
    assert sum(refused) > 0.3 * COUNT


def test_every_mutation_of_csv():
    draw = random.Random("csv")
    for _number in range(3 * COUNT):
        try:
            read = offset_formats.read_snapshot(garbled(CSV, draw), "/srv/s.csv")
        except InvalidFile as exc:
            assert "/srv/s.csv" in str(exc) and PLACE.search(str(exc)), str(exc)
            continue
        for entry in read.entries:
            assert 0 <= entry.partition.partition < 1 << 31 and 0 <= entry.committed.offset < 1 << 63


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("where", ["document", "head", "entry"])
@pytest.mark.parametrize("depth", [400, 900, 990, 100_000])
def test_json_of_any_depth(kind, where, depth):
    nest = '{"a": ' * depth + "1" + "}" * depth
    if where == "document":
        text = nest
    elif where == "head":
        text = FILES[kind].replace('"version": 1', f'"version": {nest}', 1)
    else:
        member = r'"(partition|before|lag|process)": (\d+|null)'
        text = re.sub(member, lambda found: f'"{found[1]}": {nest}', FILES[kind], count=1)
    assert check(kind, text)


AT = {"group": "billing", "topic": "orders", "partition": 0}
BILLING = {"name": "billing", "type": "classic", "restored": False}
ACL = json.loads(FILES["topics"])["entries"][2]["acl"]
DONE = json.loads(FILES["copy"])["entries"][0]["done"]
COMMIT = {"offset": 41, "metadata": "", "leader_epoch": None}
GHOST = AT | {"group": "ghost", "told": ""}
TWICE = "group billing has two entries for orders-1"
HALF = {"before": {"source": 1}, "after": None, "matched_by": []}
# The file, which of its entries (None: its head), what that becomes or which members of it, and what the error says.
DAMAGE = [
    ("snapshot", 0, None, "entry 1: it is not built as the format says, in null"),
    ("snapshot", 0, [], "entry 1: it is not built as the format says, in []"),
    ("snapshot", 0, "orders", 'entry 1: it is not built as the format says, in "orders"'),
    ("snapshot", 0, {"partition": "41"}, 'entry 1: "41" is not a partition'),
    ("receipt", 0, {"partition": None}, "entry 1: null is not a partition"),
    ("plan", 0, {"topic": 7}, "entry 1: 7 is not a text"),
    ("plan", 0, {"group": "b" * 40_000}, "entry 1: group: a name is longer than 32767 bytes"),
    ("receipt", 0, {"group": ""}, "entry 1: group: a name is empty"),
    ("receipt", 0, {"topic": ""}, "entry 1: a name is empty"),
    ("snapshot", None, {"groups": [{"name": "\ud800", "type": "classic"}]}, r'groups: name: "\ud800" is not a text'),
    ("snapshot", None, {"topic_ids": {"orders": 1}}, "its head: topic_ids: 1 is not a text"),
    ("snapshot", None, {"left_out": "audit"}, "its head: left_out is not built as the format says"),
    ("snapshot", None, {"brokers": [None]}, "its head: brokers: null is not a text"),
    ("plan", None, {"source": {"cluster_id": "A", "logs": {"orders": [[1]]}}}, "source: logs is not built as"),
    # Masked or rounded offsets.
    *[
        (
            "snapshot",
            0,
            {"offset": masked},
            f'entry 1: {json.dumps(masked)} is not an offset, in {{"group": "billing", "topic"',
        )
        for masked in ("VALUE_SPECIFIED_IN_NO_LOG_PARAMETER", "********", "41", 41.0, True, -1, None, float("nan"))
    ],
    ("plan", 1, {"source": [{**AT, "offset": "********"}]}, 'entry 2: source: offset: "********" is not an offset'),
    ("plan", 1, {"expected": COMMIT | {"offset": "41"}}, 'entry 2: expected: "41" is not an offset'),
    ("plan", 0, {"leader_epoch": 1 << 31}, "entry 1: leader_epoch: 2147483648 is not a leader epoch"),
    ("receipt", 0, {"before": COMMIT | {"leader_epoch": -1}}, "before: -1 is not a leader epoch"),
    ("snapshot", 0, {"leader_epoch": 1 << 40}, "entry 1: 1099511627776 is not a leader epoch"),
    # What a user has edited in a plan.
    ("plan", 0, {"verdict": "exakt"}, 'entry 1: verdict: "exakt" is none of exact, safe, blocked, '),
    ("plan", 0, {"verdict": []}, "entry 1: verdict: [] is none of exact, safe, blocked, "),
    ("plan", 0, {"source": 7}, "entry 1: source is not built as the format says"),
    ("plan", 0, {"evidence": None}, "entry 1: evidence is not built as the format says"),
    ("plan", 0, {"evidence": HALF}, "entry 1: 'destination' is missing"),
    ("plan", 0, {"expected": "5"}, "entry 1: expected is not built as the format says"),
    ("plan", 1, {"offset": None}, "entry 2: verdict exact needs an offset"),
    ("plan", 1, {"verdict": "blocked"}, "entry 2: verdict blocked has no offset"),
    ("plan", 1, {"verdict": "requested"}, "verdict requested has a certificate, which only exact offsets have"),
    ("plan", 1, {"source": []}, "entry 2: there is no source position"),
    ("plan", 1, {"chosen": "recopied"}, "entry 2: chosen can only be expired or caught_up"),
    ("plan", 1, {"predicted": False}, "entry 2: predicted can only be true"),
    *[("receipt", 0, {"source": source}, "entry 1: source is not built as the format") for source in ("x", [[]], [5])],
    ("receipt", 0, {"source": []}, "entry 1: source is empty"),
    ("receipt", 0, {"source": [{**AT, "offset": 41}, AT]}, "entry 1: an offset of source is missing"),
    ("receipt", 0, {"time": 1.5}, "entry 1: time: 1.5 is not a whole number of seconds"),
    ("receipt", 0, {"source": [{**AT, "group": ""}]}, "entry 1: source: group: a name is empty"),
    ("receipt", 0, {"pending": "copy"}, 'entry 1: pending: "copy" is none of commit, rollback'),
    # A group or a partition that is there twice, or not at all.
    *[(kind, 0, AT | {"partition": 1}, TWICE) for kind in ("plan", "receipt", "snapshot", "removed")],
    ("removed", None, {"groups": [BILLING, BILLING]}, "group billing is named twice"),
    ("removed", None, {"groups": []}, "group billing has an entry and is not among the groups"),
    ("snapshot", 0, {"group": "ghost"}, "group ghost has an entry and is not among the groups"),
    (
        "snapshot",
        None,
        {"open_transactions": [GHOST]},
        "group ghost has an open transaction and is not among the groups",
    ),
    ("snapshot", None, {"open_transactions": [{**AT, "partition": -1}]}, "open_transactions: -1 is not a partition"),
    ("snapshot", None, {"open_transactions": [7]}, "its head: open_transactions is not built as the format says"),
    ("removed", None, {"groups": [BILLING | {"restored": "no"}]}, 'groups: restored: "no" is not true or false'),
    # The other files.
    ("copy", 0, {"start": 61}, "entry 1: start 61 is after end 60"),
    ("copy", 0, {"boundaries": None}, "entry 1: boundaries is not built as the format says"),
    ("copy", 0, {"done": {"records": 1}}, "entry 1: 'bytes' is missing"),
    ("copy", 0, {"done": DONE | {"places": [[50]]}}, "entry 1: done: places is not built as the format says"),
    # Groups are deleted whose names begin with it.
    *[
        ("copy", None, {"name": name}, f"its head: name: '{name}' is not the name of a copy")
        for name in ("billing", "streamshift-copy-", f"streamshift-copy-{16 * 'G'}", f"x-streamshift-copy-{16 * '0'}")
    ],
    ("status", 0, {"verdicts": [{}]}, "entry 1: verdicts is not built as the format says"),
    ("status", None, {"started": "x"}, 'its head: started: "x" is not a time'),
    ("topics", 2, {"acl": ACL | {"operation": "Read"}}, "entry 3: acl: operation: 'Read' is not ALL, READ, WRITE, "),
    ("topics", 2, {"acl": ACL | {"resource": "Topic"}}, "resource: 'Topic' is not TOPIC, GROUP or TRANSACTIONAL_ID"),
    ("topics", 2, {"acl": ACL | {"pattern": "ANY"}}, "entry 3: acl: pattern: 'ANY' is not LITERAL or PREFIXED"),
    ("topics", 2, {"acl": ACL | {"permission": "Allow"}}, "entry 3: acl: permission: 'Allow' is not ALLOW or DENY"),
    ("topics-receipt", 0, {"partitions": {"before": None, "written": 0}}, "written: 0 is not a number of partitions"),
    ("lease", None, {"process": 0}, "its head: process: 0 is not the id of a process"),
]


@pytest.mark.parametrize(("kind", "number", "change", "told"), DAMAGE)
def test_the_error_names_the_entry_and_the_member(kind, number, change, told):
    document = json.loads(FILES[kind])
    if isinstance(change, dict):
        (document if number is None else document["entries"][number]).update(change)
    else:
        document["entries"][number] = change
    said = check(kind, json.dumps(document))
    assert said.startswith(f"the {kind} file /srv/{kind}.json is damaged: ") and told in said


def test_a_member_that_is_there_twice_is_refused():
    text = FILES["receipt"].replace('"offset": 12', '"offset": 12, "offset": 0', 1)
    with pytest.raises(InvalidFile, match='"offset" is there twice'):
        receipt.from_json(text, "receipt.json")
    with pytest.raises(ValueError, match='"b" is there twice in one object, which begins with 1'):
        documents.json_of('{"a": 1, "b": 2, "b": 3, "a": 4}')
