"""The last words of a run and its report tell to start the same consumers, and to run the same command next."""

import dataclasses
import re
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module.digests import digest
from ansible_collections.streamshift.kafka.plugins.module_utils._module.directions import places
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run_outcome import RunOutcome
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_run
from ansible_collections.streamshift.kafka.plugins.plugin_utils._last_words import LastWords
from tests.support.reported import entry, texts_of


def blocked(group: str, number: int) -> plan.PlanEntry:
    return entry(
        group, "orders", number, Verdict.BLOCKED, reason=Reason.DESTINATION_LAGS, detail="not at the destination"
    )


SHOP, BILLING, WEB = (entry(group, "orders", 0) for group in ("shop", "billing", "web"))
FINE = (BILLING, WEB)
SHOP_TOO, SHOP_BLOCKED = (SHOP, *FINE), (blocked("shop", 0), *FINE)
EACH_BLOCKED = (BILLING, blocked("billing", 1), WEB, blocked("web", 1))
ALL, SOME, NONE = "all", "some", "none"
BOTH = ["billing", "web"]
SET = {"written": 2, "stands": 2, "may_start": BOTH, "may_not_start": 0, "receipt": "receipt.json", "seconds": 1.0}
WAITS = {"may_not_start": 1}
IN_USE = {"skipped_groups": ["shop"]}
NOTHING = {"written": 0, "stands": 0, "may_start": []}
UNDONE = {"changed": True, "written": 2, "may_start": []}
FAILED = {"failed": True, "msg": "no broker answers"}


@dataclasses.dataclass(frozen=True)
class Run:
    """A run and how it ended. committed: the groups that the receipt has. objects: whether the verification does, to shop.

    starts: which groups may start. then: the phase of the next command, empty for none.
    """

    name: str
    phase: str
    starts: str
    then: str
    entries: tuple[plan.PlanEntry, ...] = FINE
    committed: tuple[str, ...] = ()
    undone: bool = False
    objects: bool = False
    refused: bool = False
    skips: bool = False
    source_lost: bool = False
    returns: bool = False
    results: dict[str, t.Any] = dataclasses.field(default_factory=dict)


def committing(
    name: str,
    phase: str,
    starts: str,
    then: str,
    entries: tuple[plan.PlanEntry, ...] = FINE,
    said: dict[str, t.Any] | None = None,
    *,
    objects: bool = False,
    **beside: t.Any,
) -> Run:
    """A run that has set billing and web. said: what its commit says besides. beside: the results of other steps."""
    results = {"commit": SET | (said or {}), **beside}
    return Run(name, phase, starts, then, entries, ("billing", "web"), objects=objects, results=results)


RUNS = [
    Run("nothing is committed", "plan", NONE, "apply"),
    Run("a commit would be refused", "plan", NONE, "plan", refused=True),
    Run("after a rollback", "plan", NONE, "apply", committed=("billing", "web"), undone=True),
    Run("blocked, and that fails", "plan", NONE, "plan", SHOP_BLOCKED),
    Run("blocked, and that is left out", "plan", NONE, "apply", SHOP_BLOCKED, skips=True),
    Run("blocked and refused", "plan", NONE, "plan", SHOP_BLOCKED, refused=True),
    Run("all are blocked", "plan", NONE, "plan", (blocked("shop", 0),), skips=True),
    Run("objected, and that is left out", "plan", NONE, "apply", SHOP_TOO, objects=True, skips=True),
    Run("everything stands", "plan", NONE, "apply", committed=("billing", "web")),
    Run("failed", "migrate", NONE, "migrate", results={"commit": FAILED}),
    Run("failed", "cut_over", NONE, "cut_over", committed=("billing",), results={"commit": FAILED}),
    committing("good", "sync", NONE, "cut_over"),
    committing("in use", "sync", NONE, "cut_over", snapshot=IN_USE),
    committing("blocked", "sync", NONE, "cut_over", SHOP_BLOCKED, WAITS),
    committing("objected", "sync", NONE, "cut_over", SHOP_TOO, WAITS, objects=True),
    committing(
        "moved by another tool", "cut_over", SOME, "cut_over", readiness={"not_ready": ["web"], "not_started": BOTH}
    ),
    dataclasses.replace(committing("all are returned", "return", ALL, ""), returns=True),
    dataclasses.replace(committing("the source is lost", "sync", ALL, ""), source_lost=True),
    Run("all are rolled back", "rollback", ALL, "", committed=tuple(BOTH), undone=True, results={"rollback": UNDONE}),
]
# What the commit says of shop, which is not set, whatever the phase.
BLOCKED = WAITS | {"blocked": ["shop orders-0: blocked, destination_lags: left out"]}
OBJECTED = WAITS | {"left_out": ["shop orders-0: blocked, verification_failed: left out"]}
ACTIVE = WAITS | {"active_groups": ["shop"], "left_out": ["shop: in use: left out"]}
KEPT = WAITS | {"kept_groups": ["shop"], "left_out": ["shop orders-0: kept at 99"]}
MISSING = WAITS | {"left_out": ["shop orders-0: no entry in the plan: left out"]}
IN_PART = {"may_start": [], "may_not_start": 2, "blocked": ["billing orders-1: blocked"]}
ALL_ACTIVE = NOTHING | {"may_not_start": 2, "active_groups": BOTH, "left_out": ["billing: in use"]}
for _phase in ("migrate", "apply", "cut_over"):
    _again = "plan" if _phase == "apply" else _phase
    RUNS += [
        committing("all are committed", _phase, ALL, ""),
        committing("blocked", _phase, SOME, _again, SHOP_BLOCKED, BLOCKED),
        committing("objected", _phase, SOME, _again, SHOP_TOO, OBJECTED, objects=True),
        committing("each group has a blocked partition", _phase, NONE, _again, EACH_BLOCKED, IN_PART),
        dataclasses.replace(
            committing("objected, and set before", _phase, SOME, _again, SHOP_TOO, OBJECTED, objects=True),
            committed=("shop", *BOTH),
        ),
        committing("in use at the source", _phase, SOME, _again, snapshot=IN_USE),
        committing("in use at the destination", _phase, SOME, _again, SHOP_TOO, ACTIVE),
        committing("kept", _phase, SOME, _again, SHOP_TOO, KEPT),
        committing("missing entries are skipped", _phase, SOME, _again, FINE, MISSING),
        Run("all are in use", _phase, NONE, _again, results={"commit": ALL_ACTIVE}),
    ]


def files_of(run: Run) -> dict[str, str]:
    texts = texts_of(run.entries, committed=bool(run.committed), skipped=3 if run.objects else 0)
    if run.committed:
        written = receipt.from_json(texts["receipt.json"], "receipt.json")
        kept = [each for each in written.entries if each.group in run.committed]
        if run.undone:
            kept = [each._replace(written=None, after=each.before) for each in kept]
        texts["receipt.json"] = receipt.to_json(dataclasses.replace(written, entries=tuple(kept)))
    if run.source_lost:
        made = dataclasses.replace(plan.from_json(texts["plan.json"], "plan.json"), source_id="", snapshot="")
        texts = {"plan.json": plan.to_json(made), "receipt.json": texts["receipt.json"]}
    return texts


def last_words(run: Run, results: dict[str, t.Any]) -> LastWords:
    variables = {
        "_common_role": "group_migration",
        "_common_source": "onprem",
        "_common_destination": "cloud",
        "_common_directory": "/m",
        "_common_returns": run.returns,
        "_common_source_lost": run.source_lost,
        "_common_plan_options": {"group_map": []},
        "_common_after_rollback": ["The copied records stay at the destination."],
        "_common_commit_options": {"on_blocked": "skip_group" if run.skips else "fail"},
    }
    outcome = RunOutcome(results, run.phase, *places("onprem", "cloud", returns=run.returns))
    return LastWords(outcome, variables, run.refused)


def as_sentences(lines: list[str]) -> str:
    """As a report has the last words, without the way back."""
    text = " ".join(lines).partition(" To roll back,")[0].removeprefix("Next: ")
    return text[0].upper() + text[1:]


def started(said: str) -> str:
    """Which groups are told to start."""
    if not re.search(r"(?<!do not )start (the )?consumers", said, re.IGNORECASE):
        return NONE
    return SOME if "but not those" in said else ALL


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.phase}: {run.name}")
def test_the_last_words_and_the_report_tell_the_same(run_module, tmp_path, run):
    texts = files_of(run)
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    counts = {verdict.value: sum(each.verdict is verdict for each in run.entries) for verdict in Verdict}
    results = {"plan": {"changed": True, "digest": digest(texts["plan.json"]), "counts": counts}, **run.results}
    if run.phase == "apply":
        del results["plan"]
    its = {"directory": str(tmp_path), "phase": run.phase, "role": "group_migration", "returns": run.returns}
    its |= {"source": "onprem", "destination": "cloud", "selection": {"groups": ["shop", *BOTH]}}
    if run.source_lost:
        its["files"] = ["plan.json", "receipt.json"]
    refusal = {"refusal": "offset 46 is before 99."} if run.refused else {}
    words = last_words(run, results)
    (settings,) = words.settings()
    ended = {"keep": 0, "results": results, "settings": settings, "holder": {"host": "a", "process": 1}, **refusal}

    def reported(state, **options):
        result = run_module(kafka_migration_run, state=state, **its, **options)
        assert not result.get("failed"), result
        page = (tmp_path / "report.md").read_text().replace("\\", "")
        steps, _fence, command = (
            page.partition("## What to do next")[2].partition("## The way back")[0].partition("```")
        )
        return " ".join(steps.split()), "".join(re.findall(r'"group_migration_phase": "(\w+)"', command))

    said = as_sentences(words.next())
    steps, command = reported("ended", **ended)
    assert steps == said and started(said) == run.starts
    # A return is asked for by names that no report knows.
    assert command == ("" if run.returns else run.then), said
    # One that is made afterwards knows less, and promises nothing.
    steps, _command = reported("reported")
    assert started(steps) == NONE, steps
