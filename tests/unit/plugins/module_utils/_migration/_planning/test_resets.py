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


def planned(*rules, receipt=None, previous=None, **selection):
    selection = {name: tuple(its) for name, its in selection.items()}
    its = resets.plan_resets(
        CLUSTER, Selection(**selection), reset_rules_from(rules, NOW + 1), previous=previous, receipt=receipt
    )
    return its.plan


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
    rules = reset_rules_from([{"to": "latest", "topics": ["orders"], "partitions": [1]}], NOW)
    its = resets.plan_resets(CLUSTER, Selection(groups=("billing",)), rules)
    assert [str(partition) for _group, partition in its.unruled] == ["clicks-0", "gone-0", "orders-0", "orders-2"]
    assert [str(entry.partition) for entry in its.plan.entries] == ["orders-1"]


def test_patterns_that_match_nothing_are_told_while_others_match(state):
    selection = Selection(group_patterns=("billing", "shpping"), topic_patterns=("orders", "clics"))
    notes = resets.plan_resets(CLUSTER, selection, reset_rules_from([{"to": "latest"}], NOW)).notes
    assert ["shpping. Correct group_patterns" in notes[0].text, "clics. Correct topic_patterns" in notes[1].text] == [
        True
    ] * 2


def test_a_group_goes_where_it_has_committed_and_what_is_missing_is_blocked(state):
    assert offsets(planned({"to": "latest"}, groups=["billing"])) == {
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


def receipt_of(before, written, after):
    where = TopicPartition("orders", 2)
    its = [None if each is None else CommittedOffset(each) for each in (before, written, after)]
    return Receipt("id", (ReceiptEntry("shipping", where, *its),))


@pytest.mark.parametrize("now", [30, 45], ids=["as it was set", "consumed since"])
def test_a_second_run_of_a_shift_does_not_shift_again(state, now):
    rule = {"to": "shift", "value": 10}
    state["shipping"] = {TopicPartition("orders", 2): CommittedOffset(20)}
    first = planned(rule, groups=["shipping"])
    state["shipping"] = {TopicPartition("orders", 2): CommittedOffset(now)}
    again = planned(rule, groups=["shipping"], previous=first, receipt=receipt_of(20, 30, 30))
    assert again == first
    rolled_back = receipt_of(20, None, None)
    assert offsets(planned(rule, groups=["shipping"], receipt=rolled_back))["shipping", "orders-2"] == now + 10


@pytest.mark.parametrize(
    ("committed", "value", "written", "before"),
    [
        pytest.param(20, 10, 30, 30, id="a later run about other partitions has found it there"),
        pytest.param(80, 50, 95, 80, id="it was moved to the end of a log that has grown since"),
    ],
)
def test_a_shift_that_the_earlier_plan_has_is_not_done_twice(state, monkeypatch, committed, value, written, before):
    def plan_of(value, end, **more):
        monkeypatch.setattr(
            resets.positions, "partition_bounds", lambda _c, its: dict.fromkeys(its, Bounds(10, end, end))
        )
        rules = reset_rules_from([{"to": "shift", "value": value}], NOW)
        selection = Selection(groups=("shipping",))
        return resets.plan_resets(CLUSTER, selection, rules, on_out_of_range="clamp", **more).plan

    state["shipping"] = {TopicPartition("orders", 2): CommittedOffset(committed)}
    first = plan_of(value, 95)
    state["shipping"] = {TopicPartition("orders", 2): CommittedOffset(written + 2)}  # it has consumed since
    receipt = receipt_of(before, written, written)
    assert plan_of(value, 100, previous=first, receipt=receipt) == first
    other = plan_of(-1, 100, previous=first, receipt=receipt)
    assert offsets(other)["shipping", "orders-2"] == written + 1


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
    state["shipping"] = {TopicPartition("orders", 2): CommittedOffset(now)}
    rule = {"to": "shift", "value": value}
    plan = planned(rule, groups=["shipping"], receipt=receipt_of(before, written, written))
    assert offsets(plan)["shipping", "orders-2"] == expected


def test_another_reset_counts_from_what_is_committed_now(state):
    state["shipping"] = {TopicPartition("orders", 2): CommittedOffset(45)}
    plan = planned({"to": "latest"}, groups=["shipping"], receipt=receipt_of(20, 30, 30))
    assert plan.entries[-1].detail == "latest; 55 offsets are skipped"
    stays = planned({"to": "current"}, groups=["shipping"], receipt=receipt_of(20, 30, 30))
    assert offsets(stays)["shipping", "orders-2"] == 45


def test_a_time_before_the_first_record_is_told_from_its_own_time(state):
    early = planned({"to": "duration", "value": "PT1H"}, groups=["shipping"])
    assert "the log's first record is younger" in early.entries[-1].detail
    exactly = planned({"to": "duration", "value": "PT0.001S"}, groups=["shipping"])
    assert offsets(exactly)["shipping", "orders-2"] == 55


def test_a_log_that_has_lost_nothing_has_all_records_from_a_time_on_that_is_before_its_first(state, monkeypatch):
    monkeypatch.setattr(
        resets.positions, "partition_bounds", lambda _cluster, its: dict.fromkeys(its, Bounds(0, 100, 100))
    )
    early = planned({"to": "duration", "value": "PT1H"}, groups=["shipping"])
    assert offsets(early)["shipping", "orders-2"] == 10


@pytest.mark.parametrize(
    ("rules", "selection", "message"),
    [
        ([{"to": "latest"}], {}, "no group is selected"),
        (
            [{"to": "latest"}],
            {"group_patterns": ["none-.*"]},
            "no group that this user may describe is matched by group_patterns",
        ),
        ([{"to": "latest"}], {"groups": ["idle"]}, "group idle: the group has committed nothing"),
        ([{"to": "latest"}], {"groups": ["nobody"]}, "group nobody: the group has committed nothing"),
        (
            [{"to": "latest"}],
            {"groups": ["idle", "nobody"]},
            "the groups idle, nobody have committed nothing, so nothing says which topics they read: these do not",
        ),
        ([{"to": "latest"}], {"groups": ["biling"]}, "or correct groups (did you mean billing?)."),
        ([{"to": "latest"}], {"groups": ["shared"], "topics": ["orders"]}, "the group is a share group"),
        (
            [{"to": "latest", "topics": ["odrers"]}],
            {"groups": ["billing"]},
            "resets, entry 1 (latest) names odrers, and no selected topic is called so (did you mean orders?): only",
        ),
        (
            [{"to": "latest", "topics": ["orders", "odr.*"]}],
            {"groups": ["billing"]},
            "resets, entry 1 (latest) names odr.*, and no selected topic is called so: only",
        ),
        (
            [{"to": "latest"}, {"to": "shift", "value": 1}],
            {"groups": ["billing"]},
            "resets, entry 2 (shift 1) is about no",
        ),
        ([{"to": "latest", "partitions": [0, 9]}], {"groups": ["billing"]}, "names partition 9, and no selected topic"),
        (
            [{"to": "latest", "partitions": [7]}, {"to": "latest", "partitions": [8]}],
            {"groups": ["billing"]},
            "resets, entry 1 (latest) is about no partition of the selected groups and topics; resets, entry 2 (latest)",
        ),
    ],
)
def test_what_is_about_nothing_is_refused(state, rules, selection, message):
    assert message in refused(*rules, **selection)


def test_a_topic_that_does_not_exist_is_refused(state):
    message = refused({"to": "latest"}, kind=NotFound, groups=["billing"], topics=["odrers"])
    assert (
        "cluster broker:9092: no such topic, or TOPIC DESCRIBE on it is not allowed: odrers. Correct topics (did"
        in message
    )
    rules = (
        {"topics": ["odrers"], "to": "latest"},
        {"topics": ["clikcs"], "to": "latest"},
        {"partitions": [99], "to": "latest"},
    )
    with pytest.raises(NotFound) as found:
        planned(*rules, groups=["billing"], topics=["orders", "odrers"])
    assert "TOPIC DESCRIBE on it is not allowed: odrers" in str(found.value) and "entry 2" in str(found.value)
    assert not {"entry 1", "entry 3"} & set(
        str(found.value).split(" (")
    )  # they may be meant for the topic that is missing


def test_a_group_that_would_be_made_because_its_name_is_misspelt_is_noted_with_the_name_that_is_alike(state):
    selection = Selection(groups=("biling",), topics=("orders",))
    (note,) = resets.plan_resets(CLUSTER, selection, reset_rules_from([{"to": "latest"}], NOW + 1)).notes
    assert "the commit makes them: biling (did you mean billing?)." in note.text


def test_a_group_whose_offsets_the_reset_sets_is_not_told_as_left_out(state):
    rules = reset_rules_from([{"to": "latest"}], NOW + 1)
    its = resets.plan_resets(CLUSTER, Selection(groups=("idle", "billing"), topics=("orders",)), rules)
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
    monkeypatch.setattr(
        resets.positions, "partition_bounds", lambda _, all_of: dict.fromkeys(all_of, Bounds(100, 100, 100))
    )
    plan = planned({"to": "datetime", "value": "2026-11-22T00:00:00Z"}, groups=["shipping"])
    assert offsets(plan)["shipping", "orders-2"] == 100
