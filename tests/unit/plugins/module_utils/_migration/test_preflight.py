"""What the pre-migration checks find where they do not see every group."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import (
    hidden_topics,
    preflight,
    selected_groups,
    take_snapshot,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.destination_risks import assess_destination
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, rules_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnActiveGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.risks import RiskKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.identities import known_by_id

ONPREM, CLOUD = Connection("onprem", ("a:1",)), Connection("cloud", ("b:1",))
ORDERS = TopicPartition("orders", 0)
LISTED = ("billing", "hr-secret")
IDENTITY = Mapping()


@pytest.fixture
def denied(monkeypatch):
    """The groups of the source that the login may list, and not describe."""
    names = {"hr-secret"}

    def read_groups(_connection, wanted, skip_denied=False, **_how):
        if not skip_denied and names.intersection(wanted):
            raise NotAuthorized("needs ACL GROUP DESCRIBE on hr-secret", cluster="onprem")
        offsets = {ORDERS: CommittedOffset(5)}
        return {
            name: GroupReading(name, True, "Empty", "classic", "consumer", offsets)
            for name in wanted
            if name not in names
        }

    listed = [GroupListing(name, "Empty", "classic", "consumer") for name in LISTED]
    monkeypatch.setattr(groups, "list_groups", lambda *_args, **_how: listed)
    monkeypatch.setattr(groups, "read_groups", read_groups)
    monkeypatch.setattr(take_snapshot, "partition_counts", lambda _connection, topics: dict.fromkeys(topics, 1))
    monkeypatch.setattr(selected_groups, "list_topics", lambda _connection: ["orders"])
    known_by_id(monkeypatch, lambda _connection: "id")
    monkeypatch.setattr(preflight, "cluster_id", lambda connection: connection.name)
    monkeypatch.setattr(preflight.clusters, "are_one", lambda _one, _other: False)
    monkeypatch.setattr(preflight.permissions, "missing_acls", lambda *_args, **_needs: [])
    monkeypatch.setattr(preflight.permissions, "not_told", lambda _asked: [])
    monkeypatch.setattr(hidden_topics, "describe_topics", lambda _connection, _names: {})
    monkeypatch.setattr(groups, "subscriptions", lambda _connection, in_use: dict.fromkeys(in_use))
    monkeypatch.setattr(hidden_topics, "list_topics", lambda _connection: [])
    return names


def look(selection, mapping=IDENTITY):
    intent = preflight.Intent(commits=False, on_active_group=OnActiveGroup.WARN)
    return preflight.look(ONPREM, CLOUD, selection, mapping, intent)


def test_a_group_that_is_denied_is_a_problem_and_hides_no_other_group(denied):
    found = look(Selection(group_patterns=(".*",)))
    assert [problem.what for problem in found.problems] == ["needs ACL GROUP DESCRIBE on hr-secret"]
    assert [(draft.source_group, draft.partition) for draft in found.drafts] == [("billing", ORDERS)]


@pytest.mark.parametrize(
    ("topics", "compared"),
    [
        ({"topics": ("orders", "payroll")}, [ORDERS]),
        ({"topics": ("payroll",)}, []),
        ({"topic_patterns": ("pay.*",)}, []),
    ],
)
def test_a_topic_that_may_be_of_the_denied_group_is_no_problem(denied, topics, compared):
    found = look(Selection(groups=LISTED, **topics))
    assert [type(problem) for problem in found.problems] == [NotAuthorized]
    assert [draft.partition for draft in found.drafts] == compared


def test_nor_is_a_rule_that_may_be_for_it(denied, monkeypatch):
    monkeypatch.setattr(preflight.clusters, "are_one", lambda _one, _other: True)
    rules = [{"name": name, "to": f"{name}-v2"} for name in LISTED]
    found = look(Selection(groups=LISTED), Mapping(group_rules=rules_from("group_map", rules)))
    assert [type(problem) for problem in found.problems] == [NotAuthorized]
    assert [draft.group for draft in found.drafts] == ["billing-v2"]


def test_where_every_group_is_denied_it_is_said_that_nothing_was_compared(denied):
    denied |= set(LISTED)
    found = look(Selection(group_patterns=(".*",)))
    assert not found.drafts and [type(problem) for problem in found.problems] == [NotAuthorized]
    part = assess_destination(ONPREM, CLOUD, found.drafts, Mapping(), found.problems, found.cluster_ids, [])
    assert {risk.kind for risk in part.risks} == {RiskKind.ACL_MISSING, RiskKind.NOT_VISIBLE}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            ["onprem.orders", "other"],
            "Missing at the destination, but there with the prefix onprem: orders. If MirrorMaker 2",
        ),
        (["eu.onprem.orders"], "there with the prefix eu.onprem: orders."),
        (["onpremorders", "orders-onprem"], None),
        (["orders", "onprem.orders"], None),  # nothing is missing
    ],
)
def test_a_prefix_of_mirror_maker_2_is_named_before_a_missing_topic_is_created(denied, monkeypatch, there, said):
    denied.clear()
    monkeypatch.setattr(preflight, "list_topics", lambda _connection: there)
    monkeypatch.setattr(preflight, "setting_differences", lambda *_given: [])
    counts = {"onprem": {"orders": 1}, "cloud": dict.fromkeys(there, 1)}
    monkeypatch.setattr(
        preflight,
        "partition_counts",
        lambda connection, names: {name: 1 for name in names if name in counts[connection.name]},
    )
    notes = [note.text for note in look(Selection(groups=("billing",))).notes]
    told = [text for text in notes if "replication_policy to {name: default, source_alias: " in text]
    assert len(told) == (said is not None) and all(said in text for text in told), notes


@pytest.mark.parametrize(
    ("committed", "protocol", "is_refused"), [(55, "", True), (55, "consumer", False), (40, "", False), (39, "", False)]
)
def test_a_return_refuses_offsets_that_nobody_has_consumed_to(monkeypatch, committed, protocol, is_refused):
    there = TopicPartition("orders", 0)
    receipt = Receipt("id", (ReceiptEntry("billing", there, None, CommittedOffset(40), CommittedOffset(40)),))
    reading = GroupReading("billing", True, "Empty", "classic", protocol, {there: CommittedOffset(committed)})
    monkeypatch.setattr(groups, "read_groups", lambda _connection, names: dict.fromkeys(names, reading))
    problems = preflight.never_joined(receipt, ONPREM, {"billing"})
    assert [problem.place()["group"] for problem in problems] == ["billing"] * is_refused
    if is_refused:
        assert "(orders-0), although no consumer has ever joined it" in str(problems[0])
        assert "skips up to 15 records that nobody has consumed" in str(problems[0])
        assert "on_rewind to keep" in problems[0].remedy


def test_topics_that_may_hide_committed_offsets_are_a_problem_or_a_note(denied, monkeypatch):
    """A problem where members of a group consume them, and a note where only the destination has copies."""
    denied.clear()
    reading = GroupReading("billing", True, "Stable", "classic", "consumer", {ORDERS: CommittedOffset(5)})
    monkeypatch.setattr(groups, "read_groups", lambda _connection, names, **_how: dict.fromkeys(names, reading))
    monkeypatch.setattr(groups, "classic_members", lambda _connection, names: dict.fromkeys(names, ()))
    monkeypatch.setattr(groups, "subscriptions", lambda _source, names: dict.fromkeys(names, frozenset({"payroll"})))
    monkeypatch.setattr(hidden_topics, "list_topics", lambda _connection: ["orders", "copied"])
    hidden = TopicDescription(0, "TOPIC_AUTHORIZATION_FAILED")
    monkeypatch.setattr(hidden_topics, "describe_topics", lambda _connection, names: dict.fromkeys(names, hidden))
    found = look(Selection(groups=("billing",)))
    assert [problem.place()["topic"] for problem in found.problems] == ["payroll"]
    assert [note.kind for note in found.notes] == [NoteKind.TOPICS_HIDDEN]
