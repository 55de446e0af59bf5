"""What both clusters have, while somebody changes it."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Trial
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion import survey
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import Acls
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import CommittedTopics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.identities import known_by_id

SOURCE, DESTINATION = Connection("source", ("s:1",)), Connection("destination", ("d:1",))


@pytest.fixture
def take(monkeypatch):
    """``take(selection)`` while the source deletes the topic "gone", which it has listed before."""
    state = survey.TopicState(1, 1, TopicConfigs({}, {}))
    monkeypatch.setattr(survey.topics, "cluster_id", str)
    known_by_id(monkeypatch, str)
    monkeypatch.setattr(survey.topics, "list_topics", lambda each: ["gone", "orders"] if each is SOURCE else [])
    monkeypatch.setattr(survey, "topic_states", lambda each, _names: {"orders": state} if each is SOURCE else {})
    monkeypatch.setattr(survey, "_known", lambda *_arguments: frozenset())
    monkeypatch.setattr(survey.storage, "broker_count", lambda _connection: survey.storage.BrokerCount(1, 1))
    monkeypatch.setattr(survey, "may_be_open", lambda _connection, _acls: False)
    return lambda selection, acls=Acls.NONE: survey.take_survey(SOURCE, DESTINATION, selection, Mapping(), acls)


def test_a_topic_that_is_deleted_after_it_was_listed_is_not_selected(take):
    found = take(Selection(topic_patterns=(".*",)))
    assert (found.names, found.topics, found.source.keys()) == ({"orders": "orders"}, ("orders",), {"orders"})


def test_names_of_acls_are_later_names_if_the_selection_would_take_topics_that_are_called_so(take, monkeypatch):
    names = ["orders", "orders-dlq", "shop.", "mm2-later", "__consumer_offsets", "excluded", "*"]
    acls = frozenset(Acl("TOPIC", name, "LITERAL", "User:app", "*", "READ", "ALLOW") for name in names)
    monkeypatch.setattr(survey.acl_requests, "list_acls", lambda _connection: acls)
    patterns = {"topic_patterns": (".*",), "exclude_topic_patterns": ("excl.*",)}
    assert take(Selection(**patterns), Acls.CUTOVER).later_names == {"orders-dlq", "shop.", "*"}
    assert take(Selection(topics=("orders",)), Acls.CUTOVER).later_names == frozenset()
    assert take(CommittedTopics(frozenset({"orders"})), Acls.CUTOVER).later_names == frozenset()


def test_one_that_the_user_has_named_does_not_exist(take):
    with pytest.raises(NotFound, match="topic gone: the topic does not exist"):
        take(Selection(topics=("gone", "orders")))


def test_settings_are_known_by_the_topics_that_are_to_be_made_where_there_is_none(monkeypatch):
    """The user has ACLs on one prefix only."""
    known = TopicConfigs({"retention.ms": "5"}, {})
    monkeypatch.setattr(
        survey,
        "try_creation",
        lambda _connection, new: Trial({}, {name: known for name in new if name.startswith("shop.")}, {}),
    )
    assert survey._known(DESTINATION, {}, ["other", "shop.orders"]) == {"retention.ms"}
    assert survey._known(DESTINATION, {}, []) == frozenset()


GROUPS, TOPICS = ("GROUP", "*", "LITERAL"), ("TOPIC", "*", "LITERAL")


@pytest.mark.parametrize(
    ("there", "sees", "shown", "is_open"),
    [
        pytest.param([], False, True, False, id="the brokers refuse what nothing grants"),
        pytest.param([("GROUP", "billing", "LITERAL")], False, True, False, id="another group"),
        pytest.param([TOPICS], False, True, False, id="all topics"),
        pytest.param([GROUPS], True, True, True, id="all groups, so that only topics tell"),
        pytest.param([GROUPS], False, True, False, id="all groups, and topics are refused"),
        pytest.param([GROUPS, TOPICS], False, True, True, id="both, so that a refusal tells nothing"),
        pytest.param([("GROUP", "stream", "PREFIXED")], True, None, True, id="the probe's prefix"),
        pytest.param([GROUPS], True, False, False, id="no broker has the setting"),
    ],
)
def test_a_probe_that_an_acl_is_about_does_not_tell_whether_brokers_are_open(monkeypatch, there, sees, shown, is_open):
    monkeypatch.setattr(survey.permissions, "missing_acls", lambda _connection, reads_groups: reads_groups)
    monkeypatch.setattr(survey.permissions, "sees_every_topic", lambda _connection, _name: sees)
    monkeypatch.setattr(survey, "shows_setting", lambda _connection, _name: shown)
    acls = [Acl(*each, "User:other", "*", "READ", "ALLOW") for each in there]
    assert survey.may_be_open(DESTINATION, acls) == is_open
