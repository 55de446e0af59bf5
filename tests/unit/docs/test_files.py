# SPDX-License-Identifier: GPL-3.0-or-later

"""What the collection writes is what the JSON Schemas and docs/files.md say."""

from __future__ import annotations

import json
import re
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
    run_record,
    snapshot,
    topic_plan,
    topic_receipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Done,
    Suspended,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import (
    OffsetFormat,
    positions_of,
    to_text,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Copied,
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Origin, Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, RemovedGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

DOCS = Path(__file__).parents[3] / "docs"
ALL_EXAMPLES = re.findall(r"```json\n(.*?)```", (DOCS / "files.md").read_text(), re.DOTALL)
# No task reads the report, which stands between them.
EXAMPLES = ALL_EXAMPLES[:3] + ALL_EXAMPLES[4:]
FILES: dict[str, t.Any] = {"snapshot": snapshot, "plan": plan, "receipt": receipt, "copy": backlog}
FILES |= {"removed": removed, "topics": topic_plan, "topics-receipt": topic_receipt, "run": run_record}
SCHEMAS = {kind: json.loads((DOCS / f"schemas/{kind}.schema.json").read_text()) for kind in FILES}

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
offsets = st.integers(0, 2**63 - 1)
partitions = st.builds(TopicPartition, names, st.integers(0, 2**31 - 1))
epochs = st.none() | st.integers(0, 2**31 - 1)
commits = st.builds(CommittedOffset, offsets, texts, epochs)
copies = st.none() | st.builds(
    Copied, offsets, offsets, st.binary(min_size=16, max_size=16).map(bytes.hex), st.none() | partitions
)
parts = st.lists(st.sampled_from(["key", "value", "headers", "timestamp"]), unique=True).map(tuple)


@st.composite
def plan_entries(draw: st.DrawFn) -> PlanEntry:
    verdict = draw(st.sampled_from(list(Verdict)))
    sources = st.builds(SourcePosition, names, partitions, st.none() | offsets)
    return PlanEntry(
        draw(names),
        draw(partitions),
        None if verdict in (Verdict.BLOCKED, Verdict.UNCOMMITTED) else draw(offsets),
        verdict,
        tuple(draw(st.lists(sources, min_size=1, max_size=2))),
        draw(texts),
        draw(epochs),
        draw(st.none() | st.sampled_from(list(Reason))),
        draw(st.none() | st.integers(0, 2**63)),
        draw(texts),
        draw(st.none() | offsets),
        draw(st.builds(Evidence, copies, copies, parts)),
        draw(st.none() | commits),
        predicted=draw(st.booleans()),
    )


counts = st.integers(0, 2**63 - 1)
topics = st.builds(
    BacklogTopic,
    names,
    names,
    st.none() | st.builds(NewTopic, st.integers(1, 9), st.integers(1, 9), st.dictionaries(names, texts, max_size=2)),
    st.dictionaries(names, st.builds(Suspended, st.none() | texts, texts), max_size=2),
    st.booleans(),
)
done = st.none() | st.builds(
    Done, counts, counts, st.none() | offsets, counts, counts, st.dictionaries(offsets, offsets, max_size=2)
)
ranges = st.builds(
    BacklogRange,
    partitions,
    offsets,
    offsets,
    partitions,
    offsets,
    st.lists(offsets, max_size=2).map(tuple),
    done,
)


def removed_groups(
    groups: list[str],
    cluster_id: str,
    restored: bool,
    partition: TopicPartition,
    committed: CommittedOffset,
    traits: Traits,
) -> Removed:
    its = tuple(RemovedGroup(name, "classic", restored) for name in groups)
    return Removed(cluster_id, its, tuple(SnapshotEntry(name, partition, committed) for name in groups), traits)


marks = st.lists(names, max_size=2, unique=True).map(lambda its: tuple(sorted(its)))
ids = st.dictionaries(names, st.none() | names, max_size=2)
logs = st.dictionaries(
    names, st.lists(st.none() | st.builds(LogRange, offsets, offsets), max_size=2).map(tuple), max_size=2
)
traits = st.tuples(marks, ids).map(lambda its: Traits(*its))
documents = {
    "snapshot": st.builds(
        Snapshot,
        st.none() | texts,
        st.lists(st.builds(SnapshotGroup, names, names), max_size=2).map(tuple),
        st.lists(st.builds(SnapshotEntry, names, partitions, commits), max_size=2).map(tuple),
        traits,
    ),
    "plan": st.builds(
        Plan,
        texts,
        texts,
        st.just(Snapshot(None, (), ()).digest()),
        st.lists(plan_entries(), max_size=2).map(tuple),
        st.builds(Traits, marks, ids, logs),
        st.builds(Traits, marks, ids, logs),
    ),
    "receipt": st.builds(
        Receipt,
        texts,
        st.lists(
            st.builds(
                ReceiptEntry,
                names,
                partitions,
                *[st.none() | commits] * 3,
                st.lists(st.builds(Origin, names, partitions), max_size=2).map(tuple),
                st.none() | st.integers(0, (1 << 37) - 1),
            ),
            max_size=2,
        ).map(tuple),
        st.lists(st.builds(SnapshotEntry, names, partitions, commits), max_size=2).map(tuple),
        traits,
    ),
    "removed": st.builds(
        removed_groups, st.lists(names, max_size=2, unique=True), texts, st.booleans(), partitions, commits, traits
    ),
    "copy": st.builds(
        Backlog,
        st.from_regex(r"streamshift-copy-[0-9a-f]{16}", fullmatch=True),
        texts,
        texts,
        st.just(Snapshot(None, (), ()).digest()),
        st.lists(topics, max_size=2).map(tuple),
        st.lists(ranges, max_size=2).map(tuple),
    ),
}

acls = st.builds(
    Acl,
    st.sampled_from(["TOPIC", "GROUP", "TRANSACTIONAL_ID"]),
    names,
    st.sampled_from(["LITERAL", "PREFIXED"]),
    *[texts] * 3,
    st.sampled_from(["ALLOW", "DENY"]),
)
counts = st.none() | st.integers(1, 2**31 - 1)
values = st.none() | texts
documents |= {
    "topics": st.builds(
        topic_plan.TopicPlan,
        texts,
        texts,
        st.lists(
            st.builds(
                topic_plan.TopicChange,
                names,
                names,
                counts,
                counts,
                st.none() | st.just(-1) | st.integers(1, 2**15 - 1),
                st.dictionaries(
                    texts,
                    st.builds(
                        topic_plan.SettingChange, values, values, st.sampled_from(["source", "override", "default"])
                    ),
                    max_size=2,
                ),
                topic_id=values,
            ),
            max_size=3,
        ).map(tuple),
        st.lists(st.builds(topic_plan.AclChange, acls, st.sampled_from(["add", "remove", "extra"])), max_size=3).map(
            tuple
        ),
    ),
    "topics-receipt": st.builds(
        topic_receipt.PromotionReceipt,
        texts,
        st.lists(
            st.builds(
                topic_receipt.TopicReceipt,
                names,
                st.booleans(),
                values,
                counts,
                counts,
                st.dictionaries(texts, st.builds(topic_receipt.Setting, values, values), max_size=2),
            ),
            max_size=3,
        ).map(lambda each: {one.topic: one for one in each}),
        st.dictionaries(acls, st.booleans(), max_size=3),
    ),
}
numbers = st.dictionaries(texts, offsets, max_size=2)
times = st.integers(0, 2**37 - 1).map(float)
documents["run"] = st.builds(
    run_record.RunRecord,
    values,
    values,
    st.none() | times,
    times,
    st.none() | st.builds(run_record.Failure, texts, values),
    values,
    numbers,
    st.none() | offsets,
    st.dictionaries(st.sampled_from(["blocked", "in_use_at_source", "others"]), st.integers(1, 9)),
    st.dictionaries(texts, texts, max_size=2),
    st.lists(st.builds(run_record.Step, texts, times, st.booleans(), st.booleans(), numbers), max_size=2).map(tuple),
)


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
