"""What the collection writes is what the JSON Schemas and docs/files.md say."""

import collections.abc
import dataclasses
import enum
import json
import re
import types
import typing as t
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model import (
    backlog,
    plan,
    receipt,
    removed,
    report,
    run_record,
    snapshot,
    topic_plan,
    topic_receipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import (
    OffsetFormat,
    positions_of,
    to_text,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.record_sum import Bound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = re.findall(r"```json\n(.*?)```", (DOCS / "files.md").read_text(), re.DOTALL)
FILES: dict[str, t.Any] = {"snapshot": snapshot, "plan": plan, "receipt": receipt, "report": report, "copy": backlog}
FILES |= {"removed": removed, "topics": topic_plan, "topics-receipt": topic_receipt, "run": run_record}
SCHEMAS = {kind: json.loads((DOCS / f"schemas/{kind}.schema.json").read_text()) for kind in FILES}

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
PLAIN: dict[t.Any, st.SearchStrategy[t.Any]] = {
    str: texts,
    int: st.integers(1, 2**15 - 1),  # whatever it counts or numbers
    float: st.integers(0, 2**37 - 1).map(float),
    bool: st.booleans(),
    types.NoneType: st.none(),
    # The kinds of notes that a verification makes.
    NoteKind: st.sampled_from(
        SCHEMAS["report"]["$defs"]["entry"]["properties"]["notes"]["items"]["properties"]["kind"]["enum"]
    ).map(NoteKind),
}
# Members that hold less than their types, wherever they are.
DIGEST = st.just(Snapshot(None, (), ()).digest())
PARTS = st.lists(st.sampled_from(["key", "value", "headers", "timestamp"]), unique=True).map(tuple)
NARROW: dict[str, st.SearchStrategy[t.Any]] = {
    "snapshot": DIGEST,
    "matched_by": PARTS,
    "match_on": PARTS,
    "fingerprint": st.binary(min_size=16, max_size=16).map(bytes.hex),
    "method": st.sampled_from(["records", "anchors"]),
    "resource": st.sampled_from(["TOPIC", "GROUP", "TRANSACTIONAL_ID"]),
    "pattern": st.sampled_from(["LITERAL", "PREFIXED"]),
    "permission": st.sampled_from(["ALLOW", "DENY"]),
    "action": st.sampled_from(["add", "remove", "extra"]),
    "origin": st.sampled_from(["source", "override", "default"]),
    "lost_bound": st.sampled_from(list(Bound)),
}


def values(kind: t.Any, **narrow: st.SearchStrategy[t.Any]) -> st.SearchStrategy[t.Any]:
    """Values of a type, and of those that it is made of; narrow: of members of this one that hold less than their types."""
    origin, parts = t.get_origin(kind), t.get_args(kind)
    if origin is t.Annotated:
        return values(parts[0])
    if origin in (t.Union, types.UnionType):
        return st.one_of(*map(values, parts))
    if origin is tuple:
        return st.lists(values(parts[0]), max_size=2).map(tuple) if parts[-1] is ... else st.tuples(*map(values, parts))
    if origin in (dict, collections.abc.Mapping):
        return st.dictionaries(*map(values, parts), max_size=2)
    if kind in PLAIN:
        return PLAIN[kind]
    if issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    known = NARROW | narrow
    members = t.get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{name: known[name] if name in known else values(its) for name, its in members.items()})


def some(kind: t.Any, **narrow: st.SearchStrategy[t.Any]) -> st.SearchStrategy[t.Any]:
    """One or two."""
    return st.lists(values(kind, **narrow), min_size=1, max_size=2).map(tuple)


def with_offset(entry: plan.PlanEntry) -> plan.PlanEntry:
    """Only what is to be written has one."""
    has_none = entry.verdict in (Verdict.BLOCKED, Verdict.UNCOMMITTED)
    return dataclasses.replace(entry, offset=None if has_none else entry.offset or 1)


chosen = st.sampled_from([None, Reason.EXPIRED, Reason.CAUGHT_UP])
its_entry = values(plan.PlanEntry, source=some(plan.SourcePosition), chosen=chosen).map(with_offset)
entries = st.lists(its_entry, max_size=2).map(tuple)
places = some(report.PartitionOffset)
findings = st.lists(values(report.Finding, source=places, destination=places), max_size=2).map(tuple)
lines = values(receipt.ReceiptEntry, stood=st.none() | some(int | None)).map(
    lambda line: line._replace(stood=() if line.stood is None else line.stood[:1] * len(line.source))
)
digests = st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex)
traits = values(Traits, logs=st.just({}))  # only plans note what the logs are
documents = {
    "snapshot": values(Snapshot, traits=traits),
    "plan": values(plan.Plan, entries=entries),
    "receipt": values(receipt.Receipt, traits=traits, entries=st.lists(lines, max_size=2).map(tuple)),
    "report": values(report.Report, findings=findings, plan=digests),
    "copy": values(backlog.Backlog, name=st.from_regex(r"streamshift-copy-[0-9a-f]{16}", fullmatch=True)),
    "removed": values(removed.Removed, traits=traits),
    "topics": values(topic_plan.TopicPlan),
    "topics-receipt": values(topic_receipt.PromotionReceipt),
    "run": values(
        run_record.RunRecord,
        left_out=st.dictionaries(st.sampled_from(["blocked", "in_use_at_source", "others"]), st.integers(1, 9)),
    ),
}


def validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[kind])


@pytest.mark.parametrize("kind", FILES)
def test_the_schema_is_one(kind):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize("kind", FILES)
def test_whatever_is_written_fits_the_schema(kind):
    its = validator(kind)

    @given(documents[kind])
    def fits(document):
        its.validate(json.loads(FILES[kind].to_json(document)))

    fits()


@pytest.mark.parametrize(("kind", "text"), list(zip(FILES, EXAMPLES, strict=True)))
def test_the_documented_examples_are_files_as_they_are_written(kind, text):
    validator(kind).validate(json.loads(text))
    assert FILES[kind].to_json(FILES[kind].from_json(text, "files.md")) == text


def test_the_documented_snapshot_and_plan_belong_together_and_so_does_the_csv():
    taken, planned = snapshot.from_json(EXAMPLES[0], ""), plan.from_json(EXAMPLES[1], "")
    assert planned.snapshot == taken.digest()
    assert f"```csv\n{to_text(OffsetFormat.CSV, positions_of(taken))}```" in (DOCS / "files.md").read_text()


def test_the_schema_knows_every_verdict_and_reason():
    properties = SCHEMAS["plan"]["$defs"]["entry"]["properties"]
    assert set(properties["verdict"]["enum"]) == set(Verdict)
    assert set(properties["reason"]["enum"]) == {*Reason, None}


@given(digests, findings)
def test_a_commit_reads_whatever_a_verification_writes(digest, found):
    read = report.objections(report.to_json(report.Report("a", "b", None, found, digest)), "report.json")
    assert read.plan == digest
    assert set(read.lines) == {
        (each.group, partition) for each in found if each.problems for partition, _offset in each.destination
    }


def test_a_commit_heeds_a_problem_that_says_no_more():
    document = json.loads(EXAMPLES[3])
    finding = document["entries"][0]
    finding["problems"] = [{"kind": "skipped", "records": 1, "detail": ""}]
    at = finding["destination"][0]
    read = report.objections(json.dumps(document), "report.json")
    assert (finding["group"], TopicPartition(at["topic"], at["partition"])) in read.lines


def test_a_commit_says_of_a_damaged_report_to_verify_again():
    for text in ("{", EXAMPLES[3].replace('"problems"', '"flaws"'), EXAMPLES[3].replace('"destination": [', '"at": [')):
        with pytest.raises(InvalidFile, match="verify the plan again"):
            report.objections(text, "report.json")


def changed() -> list[t.Any]:
    """Every example with one member of its first entry removed, or with something that belongs in none."""
    found = []
    for kind, text in zip(FILES, EXAMPLES, strict=True):
        for member in json.loads(text)["entries"][0]:
            for value in (None, "removed", 4.5, True, -1, ["VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"]):
                document = json.loads(text)
                if value == "removed":
                    del document["entries"][0][member]
                else:
                    document["entries"][0][member] = value
                found.append(pytest.param(kind, document, id=f"{kind}-{member}-{value}"))
    return found


@pytest.mark.parametrize(("kind", "document"), changed())
def test_what_does_not_fit_the_schema_is_refused_and_only_that(kind, document):
    if validator(kind).is_valid(document):
        FILES[kind].from_json(json.dumps(document), "file.json")
    else:
        with pytest.raises(InvalidFile):
            FILES[kind].from_json(json.dumps(document), "file.json")
