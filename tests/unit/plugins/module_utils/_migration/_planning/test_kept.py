"""Which entries of the plan before may be kept, before any record is read again."""

import dataclasses
from types import SimpleNamespace

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import kept
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import TranslateOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import EVERYTHING, MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence, Plan, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import (
    Absent,
    CertificateName,
    Copied,
    Reason,
    Verdict,
)

HERE, THERE = TopicPartition("orders", 0), TopicPartition("dc1.orders", 0)
DRAFT = Draft("billing", THERE, "billing", HERE, CommittedOffset(40, "host-7"))
PARTS = ("key", "value", "headers", "timestamp")
KNOWN = Evidence(Copied(39, 44, "a"), Copied(40, 45, "b"), PARTS, CertificateName.FROM_THE_END)
EXACT = DRAFT.entry(Verdict.EXACT, 45, repeats=0, evidence=KNOWN)


def given(entries, drafts, log_start=0, match_on=EVERYTHING):
    """What a strategy gets after a plan with these entries."""
    return SimpleNamespace(
        searched={draft.key: draft for draft in drafts},
        previous=Plan("one", "two", "digest", tuple(entries)),
        source=SimpleNamespace(),
        destination=SimpleNamespace(logs={THERE: SimpleNamespace(facts=SimpleNamespace(log_start=log_start))}),
        options=TranslateOptions(match_on=match_on),
    )


@pytest.fixture
def keep(monkeypatch):
    """``keep(entry, ...)``: is it kept, if its records stand where they stood?"""
    monkeypatch.setattr(kept, "answer_all", lambda cases, *_rest, **_options: dict.fromkeys(cases, True))

    def ask(entry, draft=DRAFT, log_start=0, match_on=EVERYTHING, same_offsets=False):
        found, moved = kept.part_kept(given([entry], [draft], log_start, match_on), same_offsets)
        assert (found, moved) in (({}, {draft.key: draft}), ({entry.key: entry}, {}))
        return bool(found)

    return ask


def test_an_exact_entry_of_the_same_commit_is_kept(keep):
    assert keep(EXACT)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"verdict": Verdict.SAFE, "reason": Reason.EQUAL_RECORDS, "repeats": 1}, id="safe"),
        pytest.param({"verdict": Verdict.BLOCKED, "offset": None}, id="blocked"),
        pytest.param({"evidence": KNOWN._replace(certificate=None)}, id="no known certificate"),
        pytest.param({"evidence": KNOWN._replace(before=None)}, id="at the log's start"),
        pytest.param({"metadata": "host-8"}, id="other metadata"),
        pytest.param({"absent": Absent(2, 43)}, id="absent records"),
        pytest.param({"source": (DRAFT.position._replace(offset=41),)}, id="another commit"),
        pytest.param({"offset": 46}, id="edited so that it skips"),
        pytest.param({"offset": 44}, id="edited so that it repeats"),
    ],
)
def test_anything_else_is_decided_anew(keep, change):
    assert not keep(dataclasses.replace(EXACT, **change))


def test_an_entry_of_one_group_is_decided_anew_where_another_has_become_one_with_it(keep):
    assert not keep(EXACT, DRAFT._replace(others=(SourcePosition("billing-2", HERE, 40),)))


def test_of_a_group_that_had_consumed_everything_the_last_copy_must_be_the_last_consumed_record_s(keep):
    """Otherwise this copy was made again, and copies of the consumed records after it may have followed since."""
    assert keep(dataclasses.replace(EXACT, evidence=KNOWN._replace(after=None)))
    assert not keep(dataclasses.replace(EXACT, evidence=KNOWN._replace(before=Copied(37, 44, "a"), after=None)))


def test_what_the_question_changes_is_decided_anew(keep):
    assert not keep(EXACT, log_start=45)  # the copy of the record before the offset has expired
    assert not keep(EXACT, match_on=MatchOn.of(("key",)))
    assert not keep(EXACT, same_offsets=True)


def test_each_difference_of_offsets_has_to_go_on(monkeypatch):
    """While a plan waited, the tool began again: the offsets of the groups that it waited for differ otherwise."""
    later = Draft("audit", THERE, "audit", HERE, CommittedOffset(50))
    its = Evidence(Copied(49, 64, "c"), Copied(50, 65, "d"), PARTS, CertificateName.FROM_THE_END)
    again = later.entry(Verdict.EXACT, 65, repeats=0, evidence=its)
    monkeypatch.setattr(
        kept, "answer_all", lambda cases, *_rest, **_options: {run: run[-1] == 49 - 64 for run in cases}
    )
    found, _moved = kept.part_kept(given([EXACT, again], [DRAFT, later]))
    assert found == {again.key: again}
