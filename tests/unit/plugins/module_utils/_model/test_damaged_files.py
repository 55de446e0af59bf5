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
LEASE = lease.to_json(lease.Lease("host", "ns", 4711, 88, 1_700_000_000.5))
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
    """None for a file that was refused as it should be, else what was read, written again."""
    try:
        read = MODULES[kind].from_json(text, f"/srv/{kind}.json")
    except InvalidFile as exc:
        said = str(exc)
        assert f"/srv/{kind}.json" in said and exc.remedy and "\n" not in said
        assert PLACE.search(said), said
        said.encode()
        return False
    again = MODULES[kind].to_json(read)
    again.encode()
    for name, number in numbers(json.loads(again)):
        assert 0 <= number < 1 << (31 if name in ("partition", "leader_epoch") else 63), name
    return True


@pytest.mark.parametrize("kind", MODULES)
def test_what_is_read_is_written_with_the_same_members_in_the_same_order(kind):
    again = MODULES[kind].to_json(MODULES[kind].from_json(FILES[kind], "file.json"))
    assert json.dumps(json.loads(again)) == json.dumps(json.loads(FILES[kind]))


@pytest.mark.parametrize("kind", MODULES)
def test_every_mutation_of_a_files_values(kind):
    draw, document = random.Random(f"values of {kind}"), json.loads(FILES[kind])
    assert check(kind, FILES[kind])
    taken = [check(kind, json.dumps(mutated(document, draw))) for _number in range(COUNT)]
    assert 0 < sum(taken) < 0.7 * COUNT


@pytest.mark.parametrize("kind", MODULES)
def test_every_mutation_of_a_files_text(kind):
    draw = random.Random(f"text of {kind}")
    taken = [check(kind, garbled(FILES[kind], draw)) for _number in range(COUNT)]
    assert sum(taken) < 0.7 * COUNT


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
    assert not check(kind, text)


@pytest.mark.parametrize("epoch", [-1, 1 << 31, 1 << 40])
def test_a_leader_epoch_beyond_the_protocol_is_refused_with_its_entry(epoch):
    for kind in ("plan", "receipt", "snapshot"):
        text = FILES[kind].replace('"leader_epoch": null', f'"leader_epoch": {epoch}', 1)
        with pytest.raises(
            InvalidFile, match=rf"entry 1: ((expected|before): )?(leader_epoch: )?{epoch} is not a leader epoch"
        ):
            MODULES[kind].from_json(text, "file.json")


@pytest.mark.parametrize(
    ("kind", "was", "becomes", "told"),
    [
        (
            "topics-receipt",
            '"written": 1}',
            '"written": 0}',
            "entry 1: partitions: written: 0 is not a number of partitions",
        ),
        ("copy", '"restored": false', '"restored": 0', "its head: topics: restored: 0 is not true or false"),
        ("plan", '"clicks": [[0, 70]]', '"clicks": [[0]]', "its head: source: logs is not built as the format says"),
        ("copy", "[50, 9]", "[50]", "entry 1: done: places is not built as the format says"),
        ("lease", '"process": 4711', '"process": 0', "its head: process: 0 is not the id of a process"),
    ],
)
def test_the_error_names_the_member(kind, was, becomes, told):
    assert was in FILES[kind]
    with pytest.raises(InvalidFile, match=told):
        MODULES[kind].from_json(FILES[kind].replace(was, becomes, 1), "file.json")


def test_a_member_that_is_there_twice_is_refused():
    text = FILES["receipt"].replace('"offset": 12', '"offset": 12, "offset": 0', 1)
    with pytest.raises(InvalidFile, match='"offset" is there twice'):
        receipt.from_json(text, "receipt.json")


def test_a_name_that_the_protocol_cannot_carry_is_refused_with_its_entry():
    text = FILES["plan"].replace('"billing"', '"' + "b" * 40_000 + '"')
    with pytest.raises(InvalidFile, match="entry 1: group: a name is longer than 32767 bytes"):
        plan.from_json(text, "plan.json")
