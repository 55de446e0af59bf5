"""What a run has come to, by the results of its modules."""

import time
import tracemalloc

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.run_record import Failure, Step
from ansible_collections.streamshift.kafka.plugins.module_utils._model.visible_text import visible_name
from ansible_collections.streamshift.kafka.plugins.module_utils._module.run_outcome import RunOutcome

FAILED = {"failed": True, "msg": "no broker answers", "failure": {"kind": "unreachable", "group": "billing"}}
SKIPPED = {"skipped": True, "changed": False}


def test_the_first_failure_is_told_with_its_place():
    outcome = RunOutcome({"snapshot": {"changed": True}, "plan": FAILED, "verify": {"failed": True, "msg": "later"}})
    assert outcome.failed
    assert outcome.failure == {"msg": "no broker answers", "kind": "unreachable", "group": "billing"}
    assert RunOutcome({"snapshot": {"changed": True}}).failure is None


@pytest.mark.parametrize(
    ("phase", "results", "kept"),
    [
        ("migrate", {"snapshot": {"changed": True}}, True),
        ("migrate", {"plan": {"changed": False}}, False),
        ("migrate", {"plan": FAILED}, True),
        ("migrate", {"commit": SKIPPED}, False),
        # The snapshot and the plan of each round differ.
        ("sync", {"snapshot": {"changed": True}, "plan": {"changed": True}}, False),
        ("sync", {"commit": {"changed": True}}, True),
        ("promote_round", {"promotion": {"changed": True}}, True),
    ],
)
def test_what_is_worth_keeping(phase, results, kept):
    assert RunOutcome(results, phase).is_worth_keeping is kept


@pytest.mark.parametrize(
    ("phase", "results", "written"),
    [
        ("migrate", {"commit": {"written": 3}}, 3),
        ("migrate", {"plan": FAILED, "commit": {}}, 0),  # it has not come so far
        ("migrate", {"commit": FAILED}, None),  # half-way, nobody knows
        ("migrate", {"commit": FAILED | {"written": 0}}, 0),
        ("migrate", {}, None),
        ("sync", {"commit": {"written": 3}}, None),  # earlier rounds may have written others
        ("rollback", {"rollback": {"written": 2}}, 2),
        ("rollback", {"groups": {"changed": True}, "rollback": {"written": 2}}, None),
        ("rollback", {"groups": FAILED}, 0),
        ("rollback", {"groups": FAILED | {"changed": True}}, None),
    ],
)
def test_how_many_offsets_a_run_has_changed(phase, results, written):
    assert RunOutcome(results, phase).written == written


def test_groups_that_are_left_alone_have_the_lines_that_say_why():
    lines = [
        "billing orders-0: kept at 99 (on_rewind: keep)",
        "billing: left as a whole",
        "billing-eu orders-0: uncommitted",
    ]
    committed = {"kept_groups": ["billing", "fraud"], "left_out": lines}
    for step in ("commit", "rollback"):
        assert RunOutcome({step: committed}).left_alone == {"billing": lines[:2], "fraud": []}
    assert RunOutcome({"commit": FAILED}).left_alone == {}


@pytest.mark.parametrize("name", ["my group", "a:", "billing: eu"])
def test_a_group_with_any_name_has_its_lines(name):
    lines = [
        f"{visible_name(name)} orders-0: kept at 99",
        f"{visible_name(name)}: left as a whole",
        "other orders-0: kept",
    ]
    assert RunOutcome({"commit": {"kept_groups": [name], "left_out": lines}}).left_alone == {name: lines[:2]}


def test_the_end_of_a_run_of_10_000_groups_takes_no_time_for_pairs_of_them():
    names = [f"group-{number}" for number in range(10_000)]
    committed = {"may_start": names, "kept_groups": names, "left_out": [f"{name} orders-0: kept" for name in names]}
    outcome = RunOutcome({"commit": committed, "readiness": {"not_ready": names[:1], "not_started": names}}, "cut_over")
    begun = time.process_time()
    assert (len(outcome.may_start), len(outcome.left_alone)) == (9_999, 10_000)
    assert time.process_time() - begun < 2


def test_the_lines_of_left_alone_groups_need_no_memory_for_each_of_their_words():
    lines = [f"billing orders-{number}: {'kept at offset 99 instead of 46 ' * 4}" for number in range(5_000)]
    outcome = RunOutcome({"commit": {"kept_groups": ["billing"], "left_out": lines}})
    tracemalloc.start()
    try:
        assert len(outcome.left_alone["billing"]) == 5_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_run_is_recorded_in_numbers_alone():
    results = {
        "snapshot": {"seconds": 0.5, "changed": True, "skipped_groups": ["billing"], "left_out": ["orders: excluded"]},
        "plan": {"seconds": 2, "records_read": 66, "digest": "4b8", "counts": {"exact": 1, "blocked": 2}},
        "verify": SKIPPED,
        "commit": FAILED | {"seconds": 0.1, "written": 0, "msg": "billing at broker1:9092"},
    }
    run = RunOutcome(results, "migrate").record("group_migration", None, 9.0, {"Python": "3.11"})
    assert run.steps == (
        Step("snapshot", 0.5, True, False, {}),
        Step("plan", 2.0, False, False, {"records_read": 66}),
        Step("commit", 0.1, False, True, {"written": 0}),
    )
    assert (run.failure, run.plan, run.written) == (Failure("commit", "unreachable"), "4b8", 0)
    assert run.left_out == {"blocked": 2, "in_use_at_source": 1, "others": 1}
    assert "billing" not in str(run) and "broker1" not in str(run) and "orders" not in str(run)


def test_the_groups_that_a_run_has_left_out_are_counted_once():
    lines = ["audit orders-0: kept", "audit orders-1: kept", "orders: excluded"]
    committed = SET | {"kept_groups": ["audit"], "left_out": lines, "active_groups": ["shop"]}
    run = RunOutcome({"commit": committed, "readiness": LOOKED}, "cut_over").record(None, None, 1.0, {}, refused=True)
    assert run.left_out == {"in_use_at_destination": 1, "left_alone": 2, "others": 1}
    assert run.groups_left_out == 3 and run.refused


def test_a_run_knows_its_plan_as_the_verification_has_left_it():
    planned, verified = {"plan": {"digest": "4b8"}}, {"verify": {"plan_digest": "5c9"}}
    assert [RunOutcome(results).record(None, None, 1.0, {}).plan for results in (planned, planned | verified)] == [
        "4b8",
        "5c9",
    ]
    # A reviewed plan is applied, and not made again.
    assert RunOutcome(verified).record(None, None, 1.0, {}).plan == "5c9"


def test_patterns_that_match_nothing_are_told_once():
    told = {"note_kinds": ["excluded", "rule_unused"], "notes": ["audit", "No group is matched by x"]}
    assert RunOutcome({"snapshot": told, "plan": {}, "commit": told}).unused_rules == ["No group is matched by x"]


def test_what_is_left_out_is_told_once():
    results = {
        "snapshot": {"skipped_groups": ["billing"], "left_out": ["orders: excluded"]},
        "preview": {"left_out": ["audit: kept"]},
        "commit": {"blocked": ["stock: blocked"], "left_out": ["audit: kept"], "active_groups": ["web"]},
    }
    outcome = RunOutcome(results)
    at_source = "Left out, because they are in use at the source: billing."
    assert outcome.left_out == ["stock: blocked", at_source, "orders: excluded", "audit: kept"]
    assert outcome.in_use == [
        "billing: left out, because it is in use at the source.",
        "web: left out, because it is in use at the destination.",
    ]
    returned = RunOutcome(results, at_source=" on cloud", at_destination=" on onprem")
    assert returned.in_use[0] == "billing: left out, because it is in use on cloud."
    assert RunOutcome(results, at_destination="").in_use[1] == "web: left out, because it is in use."


@pytest.mark.parametrize(
    ("results", "failed", "for_handlers"),
    [
        ({"verify": FAILED}, True, True),
        ({"read back": FAILED}, True, True),
        # Problems that a second run finds again are no news.
        ({"plan": {"changed": True}, "verify": {"problems": ["skipped"]}}, True, True),
        ({"plan": {"changed": False}, "verify": {"problems": ["skipped"]}}, False, False),
        ({"plan": {"changed": True}, "verify": {"problems": []}}, False, True),
        ({"plan": FAILED}, False, False),
    ],
)
def test_which_runs_handlers_are_told_of(results, failed, for_handlers):
    outcome = RunOutcome(results)
    assert (outcome.verification_failed, outcome.has_news) == (failed, for_handlers)


def test_handlers_are_told_of_a_round_that_has_failed():
    assert RunOutcome({"snapshot": FAILED, "plan": {}}, "sync").has_news


def test_handlers_read_numbers_and_lines():
    results = {
        "plan": {"digest": "4b8", "counts": {"exact": 1}, "summary": ["1 exact"]},
        "commit": {
            "written": 1,
            "summary": ["1 of 1 offsets changed"],
            "may_start": ["billing"],
            "still_written": [{"topic": "orders", "records": 3}],
        },
    }
    told = RunOutcome(results).told()
    assert (told["may_start"], told["still_written"]) == (["billing"], ["orders"])
    assert RunOutcome(results, "sync").told()["may_start"] == []
    assert (told["digest"], told["verdicts"], told["written"]) == ("4b8", {"exact": 1}, 1)
    assert told["summary"] == ["1 exact", "1 of 1 offsets changed"]
    assert told["failure"] is None and told["left_out"] == []
    nothing = RunOutcome({}).told()
    assert (nothing["digest"], nothing["written"], nothing["verdicts"]) == (None, 0, {})


# web has started meanwhile, and consumed; audit is blocked; another tool has moved billing.
LOOKED = {"not_ready": ["audit", "billing", "web"], "not_started": ["audit", "billing", "stock"]}
SET = {"written": 3, "may_start": ["billing", "stock", "web"]}


@pytest.mark.parametrize(
    ("results", "started"),
    [
        ({"commit": SET}, ["billing", "stock", "web"]),
        ({"commit": SET, "readiness": {"not_ready": [], "not_started": ["billing"]}}, ["billing", "stock", "web"]),
        ({"commit": SET, "readiness": LOOKED}, ["stock", "web"]),
        ({"commit": SET, "read back": FAILED}, []),
        ({"commit": SET, "readiness": LOOKED, "refused": {"failed": True, "msg": "billing"}}, []),
    ],
)
def test_no_consumer_is_told_to_start_where_the_run_itself_says_that_it_must_not(results, started):
    assert RunOutcome(results, "cut_over").told()["may_start"] == started


def test_groups_that_another_tool_has_moved_after_the_commit_are_left_out():
    outcome = RunOutcome({"commit": SET, "readiness": LOOKED}, "cut_over")
    (line,) = outcome.left_out
    assert line.startswith("billing: the committed offset at the destination is not the planned one any more")
    assert "Do not start the consumers: records may be skipped." in line
    assert outcome.left_alone == {"billing": [line]}
    assert outcome.has_news  # what handlers have read of a run before is not true any more
    # A dry run has committed nothing, so that no group is where it would be set to.
    dry = RunOutcome({"commit": SET, "readiness": LOOKED}, "cut_over", dry_run=True)
    assert (dry.left_out, dry.told()["may_start"]) == ([], SET["may_start"])
