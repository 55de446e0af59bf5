"""Resets of groups: which partitions they are about, what a second run finds, and what is refused. No cluster."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import expected, selected_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import resets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnOutOfRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.reset_rules import reset_rules_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.identities import known_by_id

CLUSTER = Connection("cluster", ("broker:9092",))
NOW = 1_795_370_400_000
TOPICS = {"orders": 3, "clicks": 1}
COMMITS = {
    "billing": {("orders", 0): 40, ("orders", 1): 60, ("clicks", 0): 7, ("gone", 0): 5},
    "shipping": {("orders", 2): 10},
    "idle": {},
}


@pytest.fixture
def state(monkeypatch):
    """What the groups have committed; logs have the offsets from 10 to 100."""
    commits = {
        group: {TopicPartition(*where): CommittedOffset(at, "by hand", 3) for where, at in its.items()}
        for group, its in COMMITS.items()
    }

    def reading(name):
        if name not in commits:
            return GroupReading(name, False, "", "share" if name == "shared" else "classic", "consumer", {})
        return GroupReading(name, True, "Empty", "classic", "consumer", dict(commits[name]))

    def look_up(_cluster, wanted, _refused):
        return {each: 10 if each[1] < NOW else 55 for each in wanted}

    known_by_id(monkeypatch, lambda _cluster: "id")
    patch = monkeypatch.setattr
    for room in (resets, expected):
        patch(room.groups, "read_groups", lambda _cluster, names: {name: reading(name) for name in names})
    patch(resets.groups, "list_groups", lambda *_given, **_how: [GroupListing(name, "", "", "") for name in commits])
    patch(resets.topics, "partition_counts", lambda _cluster, names: {it: TOPICS[it] for it in names if it in TOPICS})
    for room in (resets.topics, selected_groups):
        patch(room, "list_topics", lambda _cluster: sorted(TOPICS))
    patch(resets.positions, "partition_bounds", lambda _cluster, its: dict.fromkeys(its, Bounds(10, 100, 100)))
    patch(resets.positions, "lookup_all_times", look_up)
    return commits


def logs_of(monkeypatch, start, end):
    """Every log has the offsets from start to end."""
    monkeypatch.setattr(
        resets.positions, "partition_bounds", lambda _c, its: dict.fromkeys(its, Bounds(start, end, end))
    )


LATEST = {"to": "latest"}
AT = TopicPartition("orders", 2)  # shipping's


def made(*rules, out_of_range=OnOutOfRange.BLOCK, receipt=None, previous=None, **selection):
    selected = Selection(**{name: tuple(its) for name, its in selection.items()})
    return resets.plan_resets(CLUSTER, selected, reset_rules_from(rules, NOW + 1), out_of_range, previous, receipt)


def planned(*rules, **more):
    return made(*rules, **more).plan


def shipping(*rules, **more):
    """Where it goes."""
    return offsets(planned(*rules, groups=["shipping"], **more))["shipping", "orders-2"]


def offsets(plan):
    return {
        (entry.group, str(entry.partition)): entry.offset if entry.offset is not None else entry.verdict.value
        for entry in plan.entries
    }


def refused(*rules, kind=InvalidInput, **selection):
    with pytest.raises(kind) as found:
        planned(*rules, **selection)
    assert found.value.remedy
    return str(found.value)


def test_partitions_that_no_rule_fits_are_named_beside_the_plan(state):
    its = made({**LATEST, "topics": ["orders"], "partitions": [1]}, groups=["billing"])
    assert [str(partition) for _group, partition in its.unruled] == ["clicks-0", "gone-0", "orders-0", "orders-2"]
    assert [str(entry.partition) for entry in its.plan.entries] == ["orders-1"]


def test_patterns_that_match_nothing_are_told_while_others_match(state):
    notes = made(LATEST, group_patterns=["billing", "shpping"], topic_patterns=["orders", "clics"]).notes
    assert "shpping. Correct group_patterns" in notes[0].text and "clics. Correct topic_patterns" in notes[1].text


def test_a_group_goes_where_it_has_committed_and_what_is_missing_is_blocked(state):
    assert offsets(planned(LATEST, groups=["billing"])) == {
        ("billing", "clicks-0"): 100,
        ("billing", "gone-0"): "blocked",
        ("billing", "orders-0"): 100,
        ("billing", "orders-1"): 100,
        ("billing", "orders-2"): "uncommitted",
    }


def test_a_named_group_goes_on_all_partitions_of_a_named_topic_and_one_of_a_pattern_only_where_it_has_committed(state):
    named = planned({"to": "earliest"}, groups=["billing", "new"], topics=["clicks", "orders"])
    assert {where for where, offset in offsets(named).items() if offset == 10} == {
        (group, where) for group in ("billing", "new") for where in ("clicks-0", "orders-0", "orders-1", "orders-2")
    }
    matched = offsets(planned({"to": "earliest"}, group_patterns=["b.*"], topics=["clicks", "orders"]))
    assert matched == {
        ("billing", "clicks-0"): 10,
        ("billing", "orders-0"): 10,
        ("billing", "orders-1"): 10,
        ("billing", "orders-2"): "uncommitted",
    }


def test_the_first_rule_that_fits_wins_and_what_none_fits_is_left_out(state):
    rules = [{"to": "offset", "value": 50, "partitions": [1]}, {"to": "shift", "value": -5, "topics": ["orders"]}]
    assert offsets(planned(*rules, groups=["billing"], topic_patterns=["orders|clicks"])) == {
        ("billing", "orders-0"): 35,
        ("billing", "orders-1"): 50,
        ("billing", "orders-2"): "uncommitted",
    }


def test_metadata_stays_with_its_offset(state):
    kept, moved = (planned({"to": to}, groups=["shipping"]).entries[-1].target for to in ("current", "latest"))
    assert kept == CommittedOffset(10, "by hand", 3)
    assert moved == CommittedOffset(100)


def receipt_of(before, written):
    """Of a reset of shipping, which was read back."""
    its = [None if each is None else CommittedOffset(each) for each in (before, written, written)]
    return Receipt("id", (ReceiptEntry("shipping", AT, *its),))


@pytest.mark.parametrize("now", [30, 45], ids=["as it was set", "consumed since"])
def test_a_second_run_of_a_shift_does_not_shift_again(state, now):
    rule = {"to": "shift", "value": 10}
    state["shipping"] = {AT: CommittedOffset(20)}
    first = planned(rule, groups=["shipping"])
    state["shipping"] = {AT: CommittedOffset(now)}
    assert planned(rule, groups=["shipping"], previous=first, receipt=receipt_of(20, 30)) == first
    assert shipping(rule, receipt=receipt_of(20, None)) == now + 10, "it was rolled back"


@pytest.mark.parametrize(
    ("committed", "value", "written", "before"),
    [
        pytest.param(20, 10, 30, 30, id="a later run about other partitions has found it there"),
        pytest.param(80, 50, 95, 80, id="it was moved to the end of a log that has grown since"),
    ],
)
def test_a_shift_that_the_earlier_plan_has_is_not_done_twice(state, monkeypatch, committed, value, written, before):
    def plan_of(value, end, **more):
        logs_of(monkeypatch, 10, end)
        rule = {"to": "shift", "value": value}
        return planned(rule, groups=["shipping"], out_of_range=OnOutOfRange.CLAMP, **more)

    state["shipping"] = {AT: CommittedOffset(committed)}
    first = plan_of(value, 95)
    state["shipping"] = {AT: CommittedOffset(written + 2)}  # it has consumed since
    earlier = {"previous": first, "receipt": receipt_of(before, written)}
    assert plan_of(value, 100, **earlier) == first
    assert offsets(plan_of(-1, 100, **earlier))["shipping", "orders-2"] == written + 1


@pytest.mark.parametrize(
    ("before", "written", "now", "value", "expected"),
    [
        pytest.param(90, 10, 50, -5, 45, id="a reset to earliest before"),
        pytest.param(20, 15, 90, -10, 80, id="another shift before"),
        pytest.param(None, 10, 50, 5, 55, id="a reset of a group that had committed nothing"),
        pytest.param(15, 5, 50, -10, "blocked", id="the same shift, whose offset has expired since"),
    ],
)
def test_a_shift_counts_from_what_is_committed_now_after_any_other_reset(state, before, written, now, value, expected):
    state["shipping"] = {AT: CommittedOffset(now)}
    assert shipping({"to": "shift", "value": value}, receipt=receipt_of(before, written)) == expected


def test_another_reset_counts_from_what_is_committed_now(state):
    state["shipping"] = {AT: CommittedOffset(45)}
    plan = planned(LATEST, groups=["shipping"], receipt=receipt_of(20, 30))
    assert plan.entries[-1].detail == "latest; 55 offsets are skipped"
    assert shipping({"to": "current"}, receipt=receipt_of(20, 30)) == 45


def test_a_time_before_the_first_record_is_told_from_its_own_time(state):
    early = planned({"to": "duration", "value": "PT1H"}, groups=["shipping"])
    assert "the log's first record is younger" in early.entries[-1].detail
    assert shipping({"to": "duration", "value": "PT0.001S"}) == 55


@pytest.mark.parametrize(
    ("first", "offset", "why"),
    [(0, 0, "; the log's first record is younger"), (3, "blocked", "")],
    ids=["it has lost nothing", "compaction may have taken those before its first"],
)
def test_a_log_that_has_lost_nothing_has_all_records_from_a_time_on_that_is_before_its_first(
    state, monkeypatch, first, offset, why
):
    logs_of(monkeypatch, 0, 100)
    monkeypatch.setattr(resets.positions, "lookup_all_times", lambda _c, wanted, _refused: dict.fromkeys(wanted, first))
    early = planned({"to": "duration", "value": "PT1H"}, groups=["shipping"])
    assert offsets(early)["shipping", "orders-2"] == offset
    assert early.entries[-1].detail.endswith(why)


@pytest.mark.parametrize(
    ("rules", "selection", "message"),
    [
        ([LATEST], {}, "no group is selected"),
        ([LATEST], {"group_patterns": ["none-.*"]}, "no group that this user may describe is matched by group_patterns"),
        ([LATEST], {"groups": ["idle"]}, "group idle: the group has committed nothing"),
        ([LATEST], {"groups": ["nobody"]}, "group nobody: the group has committed nothing"),
        (
            [LATEST], {"groups": ["idle", "nobody"]},
            "the groups idle, nobody have committed nothing, so nothing says which topics they read: these do not",
        ),
        ([LATEST], {"groups": ["biling"]}, "or correct groups (did you mean billing?)."),
        ([LATEST], {"groups": ["shared"], "topics": ["orders"]}, "the group is a share group"),
        (
            [{**LATEST, "topics": ["odrers"]}], {"groups": ["billing"]},
            "resets, entry 1 (latest) names odrers, and no selected topic is called so (did you mean orders?): only",
        ),
        (
            [{**LATEST, "topics": ["orders", "odr.*"]}], {"groups": ["billing"]},
            "resets, entry 1 (latest) names odr.*, and no selected topic is called so: only",
        ),
        ([LATEST, {"to": "shift", "value": 1}], {"groups": ["billing"]}, "resets, entry 2 (shift 1) is about no"),
        ([{**LATEST, "partitions": [0, 9]}], {"groups": ["billing"]}, "names partition 9, and no selected topic"),
        (
            [{**LATEST, "partitions": [7]}, {**LATEST, "partitions": [8]}], {"groups": ["billing"]},
            "resets, entry 1 (latest) is about no partition of the selected groups and topics; resets, entry 2 (latest)",
        ),
    ],
)  # fmt: skip
def test_what_is_about_nothing_is_refused(state, rules, selection, message):
    assert message in refused(*rules, **selection)


def test_a_topic_that_does_not_exist_is_refused(state):
    message = refused(LATEST, kind=NotFound, groups=["billing"], topics=["odrers"])
    told = "cluster broker:9092: no such topic, or TOPIC DESCRIBE on it is not allowed: odrers. Correct topics (did"
    assert told in message
    rules = {**LATEST, "topics": ["odrers"]}, {**LATEST, "topics": ["clikcs"]}, {**LATEST, "partitions": [99]}
    with pytest.raises(NotFound, match="TOPIC DESCRIBE on it is not allowed: odrers .*entry 2") as found:
        planned(*rules, groups=["billing"], topics=["orders", "odrers"])
    # They may be meant for the topic that is missing.
    assert "entry 1" not in str(found.value) and "entry 3" not in str(found.value)


def test_a_group_that_would_be_made_because_its_name_is_misspelt_is_noted_with_the_name_that_is_alike(state):
    (note,) = made(LATEST, groups=["biling"], topics=["orders"]).notes
    assert "the commit makes them: biling (did you mean billing?)." in note.text


def test_a_group_whose_offsets_the_reset_sets_is_not_told_as_left_out(state):
    its = made(LATEST, groups=["idle", "billing"], topics=["orders"])
    assert {entry.group for entry in its.plan.entries} == {"idle", "billing"}
    assert its.not_taken == ()


def look_ups(monkeypatch, refusing=(), without_times=()):
    """Brokers refuse look-ups in the topics `refusing`, and find no record with a time in those `without_times`."""

    def lookup_all_times(_cluster, wanted, refused):
        refused.update(where for where, _time in wanted if where.topic in refusing)
        return {
            (where, time): None if where.topic in without_times else 55 if time else 10
            for where, time in wanted
            if where.topic not in refusing
        }

    monkeypatch.setattr(resets.positions, "lookup_all_times", lookup_all_times)


@pytest.mark.parametrize(
    "to", [{"to": "datetime", "value": "2026-11-22T00:00:00Z"}, {"to": "duration", "value": "PT1H"}]
)
@pytest.mark.parametrize(
    ("logs", "why"),
    [
        ({"refusing": ["orders"]}, "brokers look up no time in it, because its message.format.version is before 0.10"),
        ({"without_times": ["orders"]}, "none of its records has a time"),
    ],
)
def test_a_time_in_a_log_without_times_blocks_its_partitions_alone_and_says_how_else(state, monkeypatch, to, logs, why):
    look_ups(monkeypatch, **logs)
    plan = planned(to, groups=["billing"])
    assert offsets(plan) == {
        ("billing", "clicks-0"): 55,
        ("billing", "gone-0"): "blocked",
        ("billing", "orders-0"): "blocked",
        ("billing", "orders-1"): "blocked",
        ("billing", "orders-2"): "uncommitted",
    }
    its = next(entry for entry in plan.entries if str(entry.partition) == "orders-0")
    assert its.reason == "no_timestamps"
    assert why in its.detail
    assert its.detail.endswith("; set it to earliest, latest, an offset, or by shift")


def test_other_resets_need_no_times(state, monkeypatch):
    look_ups(monkeypatch, refusing=["orders", "clicks"])
    assert offsets(planned({"to": "shift", "value": -5}, groups=["billing"]))["billing", "orders-0"] == 35


def test_a_time_in_a_log_whose_records_were_all_deleted_is_its_end(state, monkeypatch):
    look_ups(monkeypatch, refusing=["orders"])
    logs_of(monkeypatch, 100, 100)
    assert shipping({"to": "datetime", "value": "2026-11-22T00:00:00Z"}) == 100
