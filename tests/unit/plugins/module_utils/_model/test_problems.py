"""The worst finding comes first, each has its kind, and what an option tolerates is said and no problem."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim, Windows, window
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.sums import Counts, Spot
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.verified import finding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import (
    Finding,
    Flaw,
    Problem,
    ProblemKind,
    by_gravity,
    counts_by_kind,
    problems_of,
    summary,
    tolerating_absent,
)

# The names are those that a careless search in the lines would fall for.
HERE, THERE = TopicPartition("repeated", 0), TopicPartition("left", 1)
NOTHING = Counts(compared=7)


def found(
    counts: Counts,
    partitions: tuple[TopicPartition, ...] = (HERE,),
    *,
    is_compacted: bool = False,
    open_from: int | None = None,
    leaves: bool = False,
    starts: tuple[int, ...] = (0,),
) -> Finding:
    positions = tuple((partition, 60) for partition in partitions)
    windows = Windows((window(60, 0, 99, 5),) * len(partitions), (window(60, 0, 99, 5),) * len(partitions))
    claim, opens = Claim("billing", positions, positions, 0, leaves), (open_from,) * len(partitions)
    return finding(claim, counts, windows, ("value",), is_compacted=is_compacted, opens=opens, starts=starts)


@pytest.mark.parametrize("partitions", [(HERE,), (HERE, THERE)], ids=["one", "several"])
@pytest.mark.parametrize(
    ("counts", "kind", "records"),
    [
        (NOTHING._replace(skipped=2, first_skipped=Spot((0, 50), (0, 58))), ProblemKind.SKIPPED, 2),
        (NOTHING._replace(absent=3, first_absent=Spot((0, 53), None)), ProblemKind.ABSENT, 3),
        (NOTHING._replace(repeated=4, first_repeated=Spot(None, (0, 61))), ProblemKind.REPEATED, 4),
        (NOTHING._replace(pending=5), ProblemKind.REPEATED, 5),
    ],
)
def test_what_the_comparison_says_has_a_kind_and_a_number(partitions, counts, kind, records):
    (problem,) = problems_of(found(counts, partitions))
    assert (problem.kind, problem.records, problem.group) == (kind, records, "billing")
    assert problem.destination == tuple((partition, 60) for partition in partitions)


@pytest.mark.parametrize(
    ("open_from", "told"),
    [
        (None, "; the replication tool has filtered or lost what is missing"),
        (
            60,
            "; the replication tool has filtered or lost what is missing; a transaction is open at the source from offset 60",
        ),
        (
            53,
            "first source offset 53; a transaction is open at the source from offset 53 on, and they may be its records",
        ),
    ],
)
def test_records_of_an_open_transaction_are_not_called_lost(open_from, told):
    absent = found(NOTHING._replace(absent=3, first_absent=Spot((0, 53), None)), open_from=open_from)
    (flaw,) = absent.problems
    assert told in flaw.detail
    assert ("lost" in flaw.detail) == (open_from != 53)


@pytest.mark.parametrize(
    ("first", "starts", "is_told"),
    [
        pytest.param(60, (60,), True, id="before the start of the log"),
        pytest.param(60, (40,), False, id="the log starts earlier"),
        pytest.param(60, (0,), False, id="nothing was deleted"),
        pytest.param(63, (60,), False, id="maybe after the copies of others"),
        pytest.param(60, (60, 60), False, id="of several partitions nobody knows which"),
    ],
)
def test_records_that_the_destination_has_deleted_are_not_called_filtered(first, starts, is_told):
    (flaw,) = found(NOTHING._replace(absent=3, first_absent=Spot((0, first), None)), starts=starts).problems
    assert (
        "the destination's log starts at offset 60: retention or DeleteRecords has deleted" in flaw.detail
    ) is is_told
    assert ("the replication tool has filtered or lost" in flaw.detail) is not is_told


def test_what_compaction_may_have_removed_is_a_note_that_says_why_it_may_be_absent():
    absent = found(NOTHING._replace(absent=3, first_absent=Spot((0, 53), None)), is_compacted=True)
    assert not absent.problems and [note.kind for note in absent.notes] == [NoteKind.ABSENT]
    assert absent.notes[0].text == (
        "3 unconsumed records are not at the destination, which is compacted: compaction may have removed what is absent, "
        "because only each key's newest record counts"
    )


def test_what_was_not_examined_and_offsets_beyond_the_end_have_kinds():
    assert [each.kind for each in problems_of(found(Counts()))] == [ProblemKind.NOT_EXAMINED]
    beyond = Finding("g", (), ((HERE, 9),), problems=(Flaw(ProblemKind.BEYOND_END, "beyond the end"),))
    assert [each.kind for each in problems_of(beyond)] == [ProblemKind.BEYOND_END]


def problem(kind: ProblemKind, group: str = "billing", partition: TopicPartition = HERE) -> Problem:
    return Problem(kind, group, (), ((partition, 60),), None, "it is wrong")


def test_the_gravest_come_first_and_are_counted_by_kind():
    all_kinds = [problem(kind) for kind in ProblemKind]
    assert by_gravity(reversed(all_kinds)) == all_kinds
    assert [kind.value for kind in ProblemKind][:5] == ["skipped", "copy_differs", "beyond_end", "repeated", "absent"]
    absent = [problem(ProblemKind.ABSENT, f"group-{number}") for number in range(4)]
    its = by_gravity([*absent, problem(ProblemKind.SKIPPED, "zebra")])
    assert its[0].line == "zebra repeated-0: it is wrong"
    assert [each.group for each in its[1:]] == ["group-0", "group-1", "group-2", "group-3"]
    assert counts_by_kind(its) == {"skipped": 1, "absent": 4}
    assert summary(its) == "5 problems of 2 kinds: skipped 1, absent 4"
    assert summary(its[:1]) == "1 problem of 1 kind: skipped 1"


def test_what_is_tolerated_is_a_note_that_names_the_option():
    both = NOTHING._replace(skipped=2, absent=3, first_skipped=Spot((0, 50), (0, 58)))
    its = tolerating_absent(found(both))
    assert [each.kind for each in problems_of(its)] == [ProblemKind.SKIPPED]
    (note,) = its.notes
    assert note.kind is NoteKind.ABSENT and note.text.startswith("3 unconsumed records are not at the destination")
    assert note.text.endswith("(on_absent: warn)")
    assert its.absent == 3


@pytest.mark.parametrize(("start", "compared", "said"), [(60, 0, True), (59, 0, False), (60, 1, False), (0, 0, False)])
def test_it_is_told_that_what_is_to_come_may_have_been_deleted(start: int, compared: int, said: bool):
    (note,) = found(NOTHING._replace(to_come=2, compared=compared), starts=(start,)).notes[-1:]
    assert ("unless the destination, whose log starts at offset 60, has had and deleted them" in note.text) is said


def test_what_a_return_leaves_at_the_source_is_not_still_to_be_copied():
    counts = NOTHING._replace(to_come=2)
    (note,) = found(counts).notes
    assert (note.kind, note.text) == (NoteKind.TO_COME, "2 unconsumed records are still to be copied")
    (note,) = found(counts, leaves=True).notes
    assert note.kind is NoteKind.NEW_RECORDS
    assert note.text == "2 unconsumed records are only at the source, and the group never gets them"
    skipped = counts._replace(skipped=1, first_skipped=Spot((0, 50), (0, 58)))
    assert "verify again" in problems_of(found(skipped))[0].detail
    assert "verify again" not in problems_of(found(skipped, leaves=True))[0].detail
