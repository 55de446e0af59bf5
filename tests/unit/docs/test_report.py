# SPDX-License-Identifier: GPL-3.0-or-later

"""The report that a verification writes is what its JSON Schema and docs/files.md say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model import report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, Flaw, ProblemKind, Report

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = re.findall(r"```json\n(.*?)```", (DOCS / "files.md").read_text(), re.DOTALL)[3]
SCHEMA = json.loads((DOCS / "schemas/report.schema.json").read_text())

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
offsets = st.integers(0, 2**63 - 1)
positions = st.lists(
    st.tuples(st.builds(TopicPartition, texts, st.integers(0, 2**31 - 1)), offsets), min_size=1, max_size=2
).map(tuple)
counts = st.integers(0, 2**63)
# The kinds of notes that a verification makes.
NOTE_KINDS = SCHEMA["$defs"]["entry"]["properties"]["notes"]["items"]["properties"]["kind"]["enum"]
notes = st.lists(st.builds(Note, st.sampled_from(NOTE_KINDS).map(NoteKind), texts), max_size=2).map(tuple)
flaws = st.lists(st.builds(Flaw, st.sampled_from(ProblemKind), texts), max_size=2).map(tuple)
findings = st.builds(
    Finding,
    texts,
    positions,
    positions,
    counts,
    st.booleans(),
    *[counts] * 6,
    st.none() | st.tuples(st.none() | offsets, st.none() | offsets),
    st.lists(st.sampled_from(["key", "value", "headers", "timestamp"]), unique=True).map(tuple),
    flaws,
    notes,
)


def test_the_schema_is_one_and_knows_every_member():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    entry = json.loads(report.to_json(Report("a", "b", None, (Finding("g", (), ()),))))["entries"][0]
    assert list(SCHEMA["$defs"]["entry"]["properties"]) == SCHEMA["$defs"]["entry"]["required"] == list(entry)


@given(
    st.builds(
        Report,
        texts,
        texts,
        st.none() | st.integers(1, 10**9),
        st.lists(findings, max_size=3).map(tuple),
        st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex),
        st.sampled_from(["records", "anchors"]),
    )
)
def test_whatever_is_written_fits_the_schema(written):
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(report.to_json(written)))


def test_the_documented_example_is_a_report_as_it_is_written():
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(EXAMPLE))
    too_far, late = json.loads(EXAMPLE)["entries"]
    written = Report(
        "ABhmwknX73IbSTyzXQlabw",
        "AErS5i1RjX0RteTAXu4EjA",
        10_000,
        (finding(late), finding(too_far)),
        "9a0f7f6ef5b7ab4b5d0ae1e4c2e88a4d3c5ae0e3c0a3d1c7fd3a9db0d1c3b2f4",
    )
    assert report.to_json(written) == EXAMPLE


@given(texts, st.lists(findings, max_size=3).map(tuple))
def test_a_commit_reads_whatever_is_written(digest, found):
    read = report.objections(report.to_json(Report("a", "b", None, found, digest)), "report.json")
    assert read.plan == digest
    assert set(read.lines) == {
        (each.group, partition) for each in found if each.problems for partition, _offset in each.destination
    }


def test_what_cannot_be_read_is_named():
    with pytest.raises(InvalidFile, match="verify the plan again"):
        report.objections("{", "report.json")
    for member in ("group", "destination", "problems"):
        damaged = json.loads(EXAMPLE)
        del damaged["entries"][0][member]
        with pytest.raises(InvalidFile, match=f"'{member}' is missing"):
            report.objections(json.dumps(damaged), "report.json")


def finding(row):
    difference = row["first_difference"]
    return Finding(
        **{
            **row,
            "source": position(row["source"]),
            "destination": position(row["destination"]),
            "problems": tuple(Flaw(ProblemKind(each["kind"]), each["detail"]) for each in row["problems"]),
            "notes": tuple(Note(NoteKind(each["kind"]), each["detail"]) for each in row["notes"]),
            "first_difference": (difference["source"], difference["destination"]) if difference else None,
        }
    )


def position(rows):
    return tuple((TopicPartition(row["topic"], row["partition"]), row["offset"]) for row in rows)
