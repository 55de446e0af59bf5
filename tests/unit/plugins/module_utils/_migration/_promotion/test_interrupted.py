"""A promotion that is killed after any write is completed by the next run, and the receipt knows what stood there first."""

import copy
import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import BrokerCount
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Creation, Refusal
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import topic_making
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion import (
    promote,
    survey,
    trial,
    undo,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.survey import Survey, TopicState
from ansible_collections.streamshift.kafka.plugins.module_utils._model import topic_plan, topic_receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic, is_as_made
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    Acls,
    OnFewerPartitions,
    OnLockout,
    Settings,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import PromotionOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.identities import known_by_id
from tests.support.memory_groups import Killed, Mortal

SOURCE, DESTINATION = Connection("source", ("s:1",)), Connection("destination", ("d:1",))
OPTIONS = PromotionOptions(
    on_fewer_partitions=OnFewerPartitions.GROW, settings=Settings.EXACT, acls=Acls.CUTOVER, remove_acls=True
)


@dataclasses.dataclass
class Cluster(Mortal):
    """Topics with partitions, settings and an id, and ACLs."""

    topics: dict
    acls: set
    made: int = 0

    def write(self, change):
        change()
        if self.steps_to_live is not None:
            self.steps_to_live -= 1
            if self.steps_to_live == 0:
                raise Killed

    def state(self):
        return {name: (partitions, dict(own)) for name, (partitions, own, _id) in self.topics.items()}, set(self.acls)

    def create(self, new):
        made = {}
        for name, topic in new.items():
            if name not in self.topics:
                self.made += 1
                made[name] = f"id-{self.made}"
                self.topics[name] = topic.partitions, dict(topic.configs), made[name]
        return Creation(made, frozenset(new.keys() - made.keys()))

    def answer(self, _connection, new, note):
        """As brokers do: topics are made, and then it is told which."""
        if not new:
            return Creation({}, frozenset())
        answers = []
        self.write(lambda: answers.append(self.create(new)))
        note(answers[0])
        return answers[0]

    def unlike(self, new):
        return [
            name for name, its in new.items() if name in self.topics and not is_as_made(its, *self.topics[name][:2])
        ]

    def alter(self, changes):
        for name, its in changes.items():
            partitions, own, topic_id = self.topics[name]
            own = {key: value for key, value in (own | its).items() if value is not None}
            self.topics[name] = partitions, own, topic_id

    def grow(self, counts):
        for name, count in counts.items():
            self.topics[name] = count, *self.topics[name][1:]

    def states(self, names):
        return {
            name: TopicState(partitions, 1, TopicConfigs(own, own), topic_id)
            for name, (partitions, own, topic_id) in self.topics.items()
            if name in names
        }


def acl(name, operation):
    return Acl("TOPIC", name, "LITERAL", "User:billing", "*", operation, "ALLOW")


@pytest.fixture
def clusters(monkeypatch):
    """A source, and a destination with a missing topic, a smaller one with other settings, and other ACLs."""
    source = Cluster(
        {"new": (2, {"retention.ms": "5"}, None), "old": (3, {"retention.ms": "6"}, None)},
        {acl("new", "READ"), acl("old", "READ")},
    )
    destination = Cluster({"old": (1, {"retention.ms": "1", "segment.ms": "7"}, "id-0")}, {acl("old", "WRITE")})

    def its(connection):
        return source if connection is SOURCE else destination

    def take_survey(_source, _destination, selection, _mapping, _which):
        names = {name: name for name in selection.topics}
        destination_states = destination.states(names)
        every = (tuple(source.topics), tuple(destination.topics), source.states(names), destination_states)
        return Survey(
            "S", "D", names, *every, frozenset(), BrokerCount(1, 1), frozenset(source.acls), frozenset(destination.acls)
        )

    def writes(change):
        return lambda _connection, what: destination.write(lambda: change(what)) if what else None

    monkeypatch.setattr(survey, "take_survey", take_survey)
    monkeypatch.setattr(survey, "topic_states", lambda connection, names: its(connection).states(names))
    monkeypatch.setattr(survey, "may_be_open", lambda _connection, _acls: False)
    monkeypatch.setattr(trial, "check", lambda *_args: {})
    monkeypatch.setattr(promote.topics, "cluster_id", lambda connection: "S" if connection is SOURCE else "D")
    monkeypatch.setattr(promote.topics, "list_topics", lambda connection: list(its(connection).topics))
    known_by_id(monkeypatch, lambda connection: "S" if connection is SOURCE else "D")
    monkeypatch.setattr(topic_making, "create_topics", destination.answer)
    monkeypatch.setattr(topic_making, "unlike_planned", lambda _connection, new: destination.unlike(new))
    monkeypatch.setattr(promote, "add_partitions", writes(destination.grow))
    monkeypatch.setattr(survey, "empty_topics", lambda _connection, names: frozenset(names))
    monkeypatch.setattr(survey, "readers_of", lambda _connection, names, *_among, **_how: dict.fromkeys(names, ()))
    monkeypatch.setattr(undo, "delete_topics", writes(lambda ids: [destination.topics.pop(name) for name in ids]))
    monkeypatch.setattr(undo, "missing_topic_acls", lambda *_given: [])
    monkeypatch.setattr(undo, "missing_cluster_acls", lambda *_given: [])
    monkeypatch.setattr(undo.topic_changes, "try_settings", lambda *_given: {})
    for module in (promote, undo):
        monkeypatch.setattr(module, "alter_topic_configs", writes(destination.alter))
        monkeypatch.setattr(module, "create_acls", writes(destination.acls.update))
        monkeypatch.setattr(module, "delete_acls", writes(destination.acls.difference_update))
        monkeypatch.setattr(module, "list_acls", lambda connection: frozenset(its(connection).acls))
    return source, destination


def decided(*topics, options=OPTIONS, read_fence=lambda: None):
    return promote.plan_promotion(SOURCE, DESTINATION, Selection(topics=topics), Mapping(), options, read_fence)


def plan_of(*topics, options=OPTIONS):
    return decided(*topics, options=options).plan


class Run:
    """A promotion whose receipt is kept as a text, as the module keeps it; saving it counts as a write, too."""

    def __init__(self, destination):
        self.destination = destination
        self.text = None

    def receipt(self):
        known = None if self.text is None else topic_receipt.from_json(self.text, "receipt")
        return promote.promotion_receipt(DESTINATION, known)

    def save(self, receipt):
        def keep():
            self.text = topic_receipt.to_json(receipt)

        self.destination.write(keep)

    def promote(self):
        planned = plan_of("new", "old")
        promote.apply_plan(DESTINATION, planned, self.receipt(), self.save)
        return planned

    def apply(self, plan, on_lockout=OnLockout.FAIL):
        left = promote.check_expected(SOURCE, DESTINATION, plan, self.receipt(), on_lockout)
        promote.apply_plan(DESTINATION, left, self.receipt(), self.save)
        return left

    def roll_back(self):
        undone = undo.plan_undo(DESTINATION, self.receipt(), True)
        undo.undo_promotion(DESTINATION, undone, True, self.save)


@pytest.fixture
def source(clusters):
    return clusters[0]


@pytest.fixture
def destination(clusters):
    return clusters[1]


@pytest.fixture
def run(destination):
    return Run(destination)


def _settings(undone, topic):
    return next(change.settings for change in undone.plan.topics if change.topic == topic)


def test_only_the_receipt_of_a_fence_at_the_source_keeps_acls_from_following(source):
    denied = acl("old", "READ")._replace(permission="DENY")
    source.acls.add(denied)
    for cluster_id, follows in (("S", False), ("D", True), (None, True)):
        fence = cluster_id and topic_receipt.PromotionReceipt(cluster_id, acls={denied: False})
        # One that is made, or lifted, while the source's ACLs are read, counts as well.
        for told in ([fence, fence], [None, fence], [fence, None]):
            planned = decided("old", read_fence=iter(told).__next__)
            assert (denied in {change.acl for change in planned.plan.acls}) == follows


PROMOTED = (
    {"new": (2, {"retention.ms": "5"}), "old": (3, {"retention.ms": "6"})},
    {acl("new", "READ"), acl("old", "READ")},
)
FIRST = {"old": (3, {"retention.ms": "1", "segment.ms": "7"})}, {acl("old", "WRITE")}  # partitions stay
WRITES = 8  # the receipt three times, topics, partitions, settings, ACLs twice


@pytest.mark.parametrize("ends", ["next run", "apply", "rollback"])
@pytest.mark.parametrize("writes", range(1, WRITES + 1))
def test_killed_after_any_write(destination, run, writes, ends):
    before = destination.state()
    plan = plan_of("new", "old")
    with destination.killed_after(writes):
        run.promote()
    if ends == "apply":
        run.apply(plan)
    elif ends == "next run":
        run.promote()
    if ends != "rollback":
        assert destination.state() == PROMOTED
        assert not run.promote().changes
    run.roll_back()
    grown = destination.topics["old"][0]
    assert ("old" in run.receipt().topics) == (grown == 3), "the receipt knows partitions that nobody has added"
    topics, acls = destination.state()
    assert acls == before[1]
    assert topics["old"] == (grown, FIRST[0]["old"][1])
    # Killed before its id was noted, a topic may be anybody's.
    assert ("new" in topics) == (writes == 2)


@pytest.mark.parametrize("writes", range(1, 6))
def test_a_rollback_killed_after_any_write(destination, run, writes):
    run.promote()
    with destination.killed_after(writes):
        run.roll_back()
    run.roll_back()
    assert destination.state() == FIRST
    assert topic_receipt.from_json(run.text, "receipt").topics.keys() == {"old"}


def test_a_rollback_gives_access_back_before_it_takes_any_away(destination, run):
    run.promote()
    with destination.killed_after(1):
        run.roll_back()
    assert destination.acls == FIRST[1] | PROMOTED[1]


def test_a_created_topic_to_which_records_come_during_the_rollback_stays_and_stays_known(destination, run, monkeypatch):
    run.promote()
    looks = iter([frozenset({"new"}), frozenset()])
    monkeypatch.setattr(survey, "empty_topics", lambda *_asked: next(looks))
    undone = undo.plan_undo(DESTINATION, run.receipt(), True)
    done = undo.undo_promotion(DESTINATION, undone, True, run.save)
    assert (undone.deleted, done.deleted) == (["new"], [])
    assert Note(NoteKind.TOPIC_STAYS, "new stays, because it holds records.") in done.notes
    assert "new" in destination.topics and run.receipt().topics["new"].topic_id == "id-1"


REFUSED = {"old": Refusal("TOPIC_AUTHORIZATION_FAILED", "denied")}


@pytest.mark.parametrize(
    ("place", "name", "answer", "needed"),
    [
        (undo, "missing_cluster_acls", ["CLUSTER ALTER on kafka-cluster"], "CLUSTER ALTER on kafka-cluster"),
        (undo, "missing_topic_acls", ["TOPIC DELETE on new"], "TOPIC DELETE on new"),
        (undo.topic_changes, "try_settings", REFUSED, "TOPIC ALTER_CONFIGS on old"),
    ],
)
def test_a_rollback_names_the_acls_that_it_needs_before_it_changes_anything(
    run, monkeypatch, place, name, answer, needed
):
    """Unless the ACLs go back first, which may give them: as they were, or where brokers let everybody in without any."""
    run.promote()
    monkeypatch.setattr(place, name, lambda *_given: answer)
    receipt = run.receipt()
    added = dataclasses.replace(
        receipt, acls={acl: was_there for acl, was_there in receipt.acls.items() if not was_there}
    )
    assert set() != added.acls.keys() != receipt.acls.keys()
    if not needed.startswith("CLUSTER"):
        for noted, is_open in ((receipt, False), (added, True)):
            monkeypatch.setattr(undo.survey, "may_be_open", lambda *_given, is_open=is_open: is_open)
            undone = undo.plan_undo(DESTINATION, noted, True)
            assert undone.is_partial and f"Before that, this user needs ACL {needed}." in undone.notes[0].text
        monkeypatch.setattr(undo.survey, "may_be_open", lambda *_given: False)
    with pytest.raises(NotAuthorized, match=f"needs ACL {needed}"):
        undo.plan_undo(DESTINATION, added, True)


def test_a_rollback_that_lacks_an_acl_when_the_acls_are_back_says_that_they_are(destination, run, monkeypatch):
    run.promote()
    with monkeypatch.context() as patched:
        patched.setattr(undo, "missing_topic_acls", lambda *_given: ["TOPIC DELETE on new"])
        undone = undo.plan_undo(DESTINATION, run.receipt(), True)
        with pytest.raises(NotAuthorized, match="the ACLs are as before .* still needs ACL TOPIC DELETE on new"):
            undo.undo_promotion(DESTINATION, undone, True, run.save)
    assert destination.acls == FIRST[1] and "new" in destination.topics
    rest = undo.plan_undo(DESTINATION, run.receipt(), True)
    undo.undo_promotion(DESTINATION, rest, True, run.save)
    assert "new" not in destination.topics


@pytest.mark.parametrize("writes", [1, 2, 3, 4])
def test_what_somebody_has_set_instead_of_a_run_that_was_killed_comes_back(destination, run, writes):
    with destination.killed_after(writes):
        run.promote()
    destination.alter({"old": {"retention.ms": "9"}})
    run.promote()
    assert destination.topics["old"][1] == {"retention.ms": "6"}
    run.roll_back()
    assert destination.topics["old"][1] == {"retention.ms": "9", "segment.ms": "7"}


@pytest.mark.parametrize("applies", [False, True])
def test_what_a_run_that_was_killed_has_written_is_the_promotions_once_the_next_one_has_found_it(
    destination, run, applies
):
    plan = plan_of("new", "old")
    with destination.killed_after(WRITES - 1):  # all is written, and this is not noted
        run.promote()
    assert any(each.pending for each in run.receipt().topics["old"].settings.values())
    run.apply(plan) if applies else run.promote()
    assert not any(each.pending for each in run.receipt().topics["old"].settings.values())
    destination.alter({"old": {"retention.ms": "9"}})
    run.promote()
    run.roll_back()
    assert destination.topics["old"][1] == {"retention.ms": "1", "segment.ms": "7"}


@pytest.mark.parametrize(("is_killed", "retention"), [(False, "8"), (True, "8"), (True, "9")])
def test_repeated_promotions_keep_what_stood_there_first_also_where_one_between_them_was_killed(
    source, destination, run, is_killed, retention
):
    run.promote()
    if is_killed:
        source.topics["old"] = (3, {"retention.ms": "8"}, None)
        with destination.killed_after(1):
            run.promote()
    source.topics["old"] = (3, {"retention.ms": retention}, None)
    source.acls.add(acl("old", "WRITE"))
    run.promote()
    assert destination.topics["old"][1] == {"retention.ms": retention}
    run.roll_back()
    assert destination.state() == FIRST


@pytest.mark.parametrize("first", ["6", None])
@pytest.mark.parametrize("writes", range(1, 5))
def test_a_rollback_after_a_second_promotion_that_was_killed_leads_back_to_the_first(
    source, destination, run, writes, first
):
    source.topics["old"] = (3, {"retention.ms": first} if first else {}, None)
    run.promote()
    source.topics["old"] = (5, {"retention.ms": "8"}, None)
    with destination.killed_after(writes):  # the receipt, partitions, settings, the receipt
        run.promote()
    undone = undo.plan_undo(DESTINATION, run.receipt(), True)
    added = "2 partitions" if writes == 1 else "4 partitions"
    assert [note.text.split(" that ")[0] for note in undone.notes] == [f"old keeps the {added}"]
    run.roll_back()
    partitions, own = destination.state()[0]["old"]
    assert (partitions, own) == (3 if writes == 1 else 5, FIRST[0]["old"][1])


@pytest.mark.parametrize("retentions", [[], ["6"], ["6", "8"]], ids=str)
def test_a_rollback_leaves_alone_what_somebody_has_set_also_before_promotions_that_were_killed(
    source, destination, run, retentions
):
    run.promote()
    destination.alter({"old": {"retention.ms": "9"}})
    for retention in retentions:
        source.topics["old"] = (3, {"retention.ms": retention}, None)
        with destination.killed_after(1):
            run.promote()
    undone = undo.plan_undo(DESTINATION, run.receipt(), False)
    assert _settings(undone, "old").keys() == {"segment.ms"}
    said = "old: somebody has changed retention.ms since the promotion, and it is left alone."
    assert Note(NoteKind.SETTING_LEFT_ALONE, said) in undone.notes
    run.promote()
    run.roll_back()
    assert destination.state() == FIRST


def test_the_receipt_of_an_earlier_version_does_not_say_what_was_written_before_a_pending_setting(destination, run):
    with destination.killed_after(1):
        run.promote()
    noted = run.receipt()
    text = run.text.replace(', "previous": "1"', "").replace(', "previous": "7"', "")
    assert "previous" not in text and topic_receipt.from_json(text, "receipt") == noted


def test_a_plan_is_refused_where_the_destination_has_changed(destination, run):
    plan = plan_of("new", "old")
    first = copy.deepcopy(destination.topics)
    cases = {
        "somebody else has created it since then": {**first, "new": (2, {"retention.ms": "5"}, "id-9")},
        "it was deleted and created again": {"old": (1, first["old"][1], "id-9")},
        "it has 2 partitions, and had 1": {"old": (2, first["old"][1], "id-0")},
        r"its retention\.ms is 2, and was 1": {"old": (1, {**first["old"][1], "retention.ms": "2"}, "id-0")},
        r"its segment\.ms is 8, and was 7": {"old": (1, {**first["old"][1], "segment.ms": "8"}, "id-0")},
        "it does not exist any more": {},
    }
    for why, topics in cases.items():
        destination.topics = topics
        with pytest.raises(Refused, match=f"is not what it was when the promotion was planned: {why}"):
            run.apply(plan)
    destination.topics = first
    run.apply(plan)
    assert destination.state() == PROMOTED


def through_a_file(plan):
    return topic_plan.from_json(topic_plan.to_json(plan), "topics")


@pytest.mark.parametrize(
    ("on_fewer", "is_refused"),
    [
        (OnFewerPartitions.GROW_EMPTY, True),
        (OnFewerPartitions.GROW_EMPTY_OR_LEAVE, True),
        (OnFewerPartitions.GROW, False),
    ],
)
def test_a_topic_that_was_to_grow_because_it_was_empty_is_left_alone_once_it_holds_records(
    destination, run, monkeypatch, on_fewer, is_refused
):
    """Records with a key would go to other partitions than those that are there."""
    options = dataclasses.replace(OPTIONS, on_fewer_partitions=on_fewer)
    plan = plan_of("old", options=options)
    monkeypatch.setattr(survey, "empty_topics", lambda *_asked: frozenset())
    if is_refused:
        with pytest.raises(Refused, match="topic old: .* when the promotion was planned: it was empty, and holds"):
            run.apply(through_a_file(plan))
        assert run.text is None and destination.topics["old"][0] == 1
        monkeypatch.setattr(survey, "empty_topics", lambda _connection, counts: frozenset(counts))
    run.apply(through_a_file(plan))
    assert destination.topics["old"][0] == 3


def test_an_acl_on_a_prefix_stays_where_a_topic_that_the_plan_does_not_know_needs_it_by_now(source, destination, run):
    stale = acl("ol", "READ")._replace(pattern="PREFIXED")
    destination.acls.add(stale)
    plan = plan_of("old")
    destination.topics["older"] = (1, {}, "id-9")
    with pytest.raises(Refused, match=r"also cover a topic .* not planned with: ALLOW READ on TOPIC ol\*"):
        run.apply(through_a_file(plan))
    assert run.text is None and stale in destination.acls
    # One that the source has on the same prefix says what that prefix is for.
    source.acls.add(stale._replace(principal="User:app"))
    source.topics["older"] = (1, {}, None)
    follows = plan_of("old", "older")
    destination.topics["oldest"] = (1, {}, "id-10")
    run.apply(through_a_file(follows))
    assert stale not in destination.acls


@pytest.mark.parametrize("became", [None, (4, {}, "id-9")])
def test_what_has_become_of_a_topic_that_a_plan_does_not_change_does_not_matter(source, destination, run, became):
    source.topics["same"] = destination.topics["same"] = (3, {}, "id-8")
    plan = plan_of("new", "same")
    del destination.topics["same"]
    destination.topics |= {"same": became} if became else {}
    same = run.apply(plan).topics[1]
    assert "new" in destination.topics and not same.changes and same.before == (4 if became else 3)


def test_a_plan_is_refused_whose_acls_lock_out_or_open_since_others_have_gone(source, destination, run, monkeypatch):
    monkeypatch.setattr(survey, "may_be_open", lambda _connection, _acls: True)
    others = [acl(name, "DESCRIBE")._replace(principal="User:app") for name in ("new", "old")]
    source.acls.update(others)
    destination.acls.update(others)
    plan = plan_of("new", "old")
    destination.acls.remove(others[0])
    with pytest.raises(Refused, match="ACLs would lock clients out: ALLOW READ on TOPIC new") as refused:
        run.apply(plan)
    assert refused.value.kind == "acl_lockout"
    only_removes = dataclasses.replace(plan, acls=tuple(each for each in plan.acls if each.action == "remove"))
    destination.acls.remove(others[1])
    with pytest.raises(
        Refused, match="stood beside when the promotion was planned: ALLOW WRITE on TOPIC old"
    ) as refused:
        run.apply(only_removes)
    assert refused.value.kind == "destination_changed"
    run.apply(plan, OnLockout.ADD)
    assert destination.acls == PROMOTED[1]


def test_settings_with_which_records_go_are_noted(source, destination, monkeypatch):
    source.topics |= {
        "new": (1, {"retention.ms": "-1", "cleanup.policy": "delete"}, None),
        "old": (1, {"retention.ms": "6", "cleanup.policy": "delete"}, None),
    }
    defaults = {"retention.ms": "604800000", "cleanup.policy": "delete"}
    monkeypatch.setattr(trial, "check", lambda *_args: {"new": TopicConfigs(defaults, {})})
    destination.topics["old"] = (1, {"retention.ms": "8", "cleanup.policy": "compact,delete"}, "id-0")

    def noted():
        planned = decided("new", "old")
        return [note.text for note in planned.notes if note.kind is NoteKind.KEEPS_LESS]

    why = "Fewer records are kept or taken, because retention.ms"
    at_source = f"{why} is 604800000 on new topics, and -1 at the source: new."
    assert noted() == [at_source]  # the other topic is empty
    monkeypatch.setattr(survey, "empty_topics", lambda *_asked: frozenset())
    assert noted() == [at_source, f"{why} becomes 6 on topics that hold records, and is 8: old."]
    source.topics["old"] = (1, {"cleanup.policy": "delete"}, None)
    assert noted() == [at_source, f"{why} becomes the default on topics that hold records, and is 8: old."]
    destination.topics["old"] = source.topics["old"]
    assert noted() == [at_source]


class TestAnotherRunCreatesTheTopicToo:
    """It has the same plan, in another directory, and its topic looks the same."""

    @pytest.fixture
    def other(self, destination):
        return Run(destination)

    def write(self, run, plan):
        promote.apply_plan(DESTINATION, plan, run.receipt(), run.save)

    @pytest.fixture
    def killed(self, destination, run, other):
        """The other run was killed when it had saved its receipt, and then this one has created the topic. -> their plan."""
        plan = plan_of("new")
        with destination.killed_after(1):
            self.write(other, plan)
        self.write(run, plan)
        return plan

    def test_only_the_run_that_has_created_it_deletes_it(self, destination, run, other):
        plan = plan_of("new")  # both have planned before either writes
        self.write(run, plan)
        self.write(other, plan)
        assert run.receipt().topics["new"].topic_id == "id-1"
        assert "new" not in other.receipt().topics
        other.roll_back()
        assert "new" in destination.topics
        run.roll_back()
        assert "new" not in destination.topics

    def test_a_run_that_was_killed_before_it_has_created_anything_claims_nothing(self, killed, other):
        other.promote()
        assert not other.apply(killed).changes
        undone = undo.plan_undo(DESTINATION, other.receipt(), True)
        assert undone.deleted == []
        said = "new stays, because nobody knows whether it is the topic that a promotion has created."
        assert Note(NoteKind.TOPIC_STAYS, said) in undone.notes

    @pytest.mark.usefixtures("killed")
    def test_what_is_changed_of_it_later_goes_back(self, source, destination, other):
        source.topics["new"] = (3, {"retention.ms": "8"}, None)
        other.promote()
        assert destination.topics["new"] == (3, {"retention.ms": "8"}, "id-1")
        other.roll_back()
        assert destination.topics["new"] == (3, {"retention.ms": "5"}, "id-1")

    def test_one_with_other_settings_is_refused_and_not_claimed(self, destination, run):
        plan = plan_of("new")
        destination.create({"new": NewTopic(2, 1, {"retention.ms": "6"})})
        with pytest.raises(Refused, match="topic new: somebody else has created the topic at the same moment"):
            self.write(run, plan)
        assert "new" not in run.receipt().topics


def test_the_receipt_of_another_cluster_is_refused(source):
    with pytest.raises(Refused, match="the receipt was made for another cluster: this one has the id D, not X"):
        promote.promotion_receipt(DESTINATION, topic_receipt.PromotionReceipt("X"))


HELD = {"cleanup.policy": "delete", "retention.ms": "-1"}


class TestABacklogCopyNeedsSettingsAsTheyAre:
    """Its groups have yet to consume, and with the source's settings brokers would delete or compact what it has copied."""

    GROUP = "streamshift-copy-0123456789abcdef-progress-0"

    @pytest.fixture
    def readers(self, source, destination, monkeypatch):
        """The groups of copies, by topic: that of one which has begun."""
        source.topics["old"] = (1, {"retention.ms": "6", "cleanup.policy": "compact"}, None)
        destination.topics["old"] = (1, {**HELD, "segment.ms": "7"}, "id-0")
        readers = {"old": (self.GROUP,)}

        def readers_of(_connection, names, is_meant=bool, *, stable=True):
            assert is_meant is bool or not stable, "it waits for the transactions of a copy, which always has one"
            return {name: tuple(filter(is_meant, ("billing", *readers.get(name, ())))) for name in names}

        monkeypatch.setattr(survey, "readers_of", readers_of)
        return readers

    def test_they_stay_until_its_progress_is_gone(self, run, destination, readers):
        planned = decided("old")
        (note,) = (note for note in planned.notes if note.kind is NoteKind.SETTING_LEFT_ALONE)
        assert note.text == (
            f"old: cleanup.policy, retention.ms are left alone, because the backlog copy whose progress is in {self.GROUP} "
            "needs that until its groups have consumed. If it needs nothing any more, give it up "
            "(backlog_migration_phase: remove)."
        )
        run.promote()
        assert destination.topics["old"][1] == HELD  # what no copy needs is reset
        readers.clear()
        run.promote()
        assert destination.topics["old"][1] == {"retention.ms": "6", "cleanup.policy": "compact"}

    def test_a_copy_that_has_begun_since_a_plan_was_made_stops_it(self, run, destination, readers):
        begun = readers.pop("old")
        plan = plan_of("old")
        readers["old"] = begun
        with pytest.raises(Refused, match=f"topic old: .*: cleanup.policy, retention.ms must stay, .*{self.GROUP}"):
            run.apply(plan)
        assert run.text is None and destination.topics["old"][1] == {**HELD, "segment.ms": "7"}

    def test_a_rollback_restores_them_later(self, source, run, destination, readers):
        begun, first = readers.pop("old"), {"retention.ms": "9", "cleanup.policy": "compact"}
        source.topics["old"], destination.topics["old"] = (1, HELD, None), (1, first, "id-0")
        run.promote()
        readers["old"] = begun
        run.roll_back()
        assert destination.topics["old"][1] == HELD
        readers.clear()
        run.roll_back()
        assert destination.topics["old"][1] == first and "old" not in run.receipt().topics

    @pytest.mark.parametrize("before", ["1", "-1"])
    def test_a_rollback_restores_later_what_the_copy_has_suspended_since_the_promotion(
        self, run, destination, readers, before
    ):
        begun, first = readers.pop("old"), {"retention.ms": before, "cleanup.policy": "compact"}
        destination.topics["old"] = (1, first, "id-0")
        run.promote()
        promoted = destination.topics["old"]
        destination.alter({"old": {"retention.ms": "-1"}})
        readers["old"] = begun
        notes = " ".join(note.text for note in undo.plan_undo(DESTINATION, run.receipt(), False).notes)
        assert f"old: retention.ms is left alone, because the backlog copy whose progress is in {self.GROUP}" in notes
        assert "somebody has changed" not in notes
        run.roll_back()
        assert destination.topics["old"][1]["retention.ms"] == "-1"
        readers.clear()
        destination.topics["old"] = promoted  # as the copy gives it back
        run.roll_back()
        assert destination.topics["old"][1] == first

    @pytest.mark.usefixtures("readers")
    def test_once_it_has_given_them_back_its_progress_holds_nothing_up(self, run, destination):
        """With restore_retention, its progress group stays for offsets.retention.minutes."""
        destination.topics["old"] = (1, {"cleanup.policy": "delete", "retention.ms": "9"}, "id-0")
        run.promote()
        assert destination.topics["old"][1] == {"retention.ms": "6", "cleanup.policy": "compact"}
        run.roll_back()
        assert destination.topics["old"][1] == {"retention.ms": "9", "cleanup.policy": "delete"}

    @pytest.mark.usefixtures("readers")
    @pytest.mark.parametrize("default", ["delete", "compact"])
    def test_a_reset_is_held_up_only_where_the_default_is_another_value(
        self, source, run, destination, monkeypatch, default
    ):
        source.topics["old"] = (1, {"retention.ms": "-1"}, None)
        defaults = {"old": {"cleanup.policy": default}}
        monkeypatch.setattr(promote.copied, "topic_defaults", lambda _connection, _names, _settings: defaults)
        run.promote()
        held = {"cleanup.policy": "delete"} if default == "compact" else {}
        assert destination.topics["old"][1] == {"retention.ms": "-1"} | held
