"""ACLs follow the source, and missing ones are named.

Where no older version takes part, one cluster with an authorizer is both: topics get other names.
"""

import contextlib

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import list_acls
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import create_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import list_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from testbed.clients import create_topic, grant, revoke, until
from tests.support.clusters import authorizer
from tests.support.consumers import refusal
from tests.support.modules import refuses, succeeds
from tests.support.promotion import Promotion

SECONDS = 20.0
AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
READING = ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")


@pytest.fixture
def promotion(tmp_path, secured):
    return Promotion(tmp_path, secured, secured)


def acls_on(secured, name):
    return {str(acl) for acl in list_acls(connection_from(secured.connection)) if acl.name == name}


def test_acls_follow_before_and_after_the_cut_over_and_go_back(promotion, secured, topic, granted):
    copy = f"{topic}-copy"
    create_topic(secured, topic)
    granted(f"TOPIC ALL on {topic}", f"GROUP READ on {topic}")
    options = {"topics": [topic], "topic_map": [{"name": topic, "to": copy}]}
    promotion.carefully(**options, acls="mirror")
    who = "for User:migrator"
    reading = {f"ALLOW {each} on TOPIC {copy} {who}" for each in READING}
    assert acls_on(secured, copy) == reading
    assert refusal(secured.connection_as("migrator"), copy) == "TOPIC_AUTHORIZATION_FAILED"

    done = promotion.carefully(**options, acls="cutover")
    assert done["acls"] == [{"acl": f"ALLOW ALL on TOPIC {copy} {who}", "action": "add"}]
    assert done["diff"][0]["after"] == f"partitions: 1\nALLOW ALL on TOPIC {copy} {who}\n"
    assert refusal(secured.connection_as("migrator"), copy) is None
    where = TopicPartition(copy, 0)
    read = read_ranges(connection_from(secured.connection_as("migrator")), {where: [(0, 1)]})
    assert len(read[where][0].records) == 1

    grant(secured, [f"TOPIC WRITE on {copy}"], "User:mallory")
    extra = f"ALLOW WRITE on TOPIC {copy} for User:mallory"
    listed = promotion.carefully(**options, acls="cutover")
    # Other tests may have granted something on * meanwhile, which is noted, too.
    assert not listed["changed"] and f"Only the destination has these ACLs: {extra}." in listed["notes"]
    promotion.carefully(**options, acls="cutover", remove_acls=True)
    assert extra not in acls_on(secured, copy)

    promotion.carefully(state="rolled_back")
    assert acls_on(secured, copy) == {extra}
    revoke(secured, [f"TOPIC WRITE on {copy}"], "User:mallory")


def test_prefixes_groups_and_principals_are_mapped(promotion, secured, topic, granted):
    create_topic(secured, f"{topic}.orders")
    granted(f"TOPIC READ on {topic}.*", f"GROUP READ on {topic}*")
    done = promotion.carefully(
        topic_patterns=[f"{topic}.*"],
        topic_map=[{"pattern": f"{topic}(.*)", "to": rf"new-{topic}\1"}],
        acls="mirror",
        acl_groups=[f"{topic}.*"],
        principal_map=[{"name": "User:migrator", "to": "User:migrator-prod"}],
    )
    assert [each["acl"] for each in done["acls"] if each["action"] == "add"] == [
        f"ALLOW READ on GROUP {topic}* for User:migrator-prod",
        f"ALLOW READ on TOPIC new-{topic}.* for User:migrator-prod",
    ]
    promotion.carefully(state="rolled_back", remove_created=True)
    assert acls_on(secured, f"new-{topic}.") == set()


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("3.9.1", {"secured": True}),
        ("2.8.2", {"settings": {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}}),
    ],
)
def test_acls_follow_from_an_older_version_and_back(tmp_path, own_cluster, secured, topic, version, options):
    older = own_cluster("older", version=version, **options)
    who = f'User:CN=one,O="{topic}, two\'s"'  # no other test's
    create_topic(older, f"{topic}.a", 2)
    create_topic(secured, f"{topic}.b", 2)
    for cluster, name in ((older, f"{topic}.a"), (secured, f"{topic}.b")):
        grant(cluster, [f"TOPIC ALL on {name}"], who)
        grant(cluster, [f"TOPIC READ on {topic}.*"], who)
    asked = {"topic_patterns": [rf"{topic}\..*"], "topic_map": [{"pattern": "(.*)", "to": r"to-\1"}]}
    for number, (one, other, name) in enumerate(((older, secured, "a"), (secured, older, "b"))):
        (tmp_path / str(number)).mkdir()
        promotion = Promotion(tmp_path / str(number), one, other)
        promotion.carefully(**asked, acls="mirror")
        reading = {f"ALLOW {each} on TOPIC to-{topic}.{name} for {who}" for each in READING}
        assert acls_on(other, f"to-{topic}.{name}") == reading
        assert acls_on(other, f"to-{topic}.") == {f"ALLOW READ on TOPIC to-{topic}.* for {who}"}
        promotion.carefully(**asked, acls="cutover")
        everything = reading | {f"ALLOW ALL on TOPIC to-{topic}.{name} for {who}"}
        assert acls_on(other, f"to-{topic}.{name}") == everything
        promotion.carefully(state="rolled_back", remove_created=True)
        assert acls_on(other, f"to-{topic}.{name}") == acls_on(other, f"to-{topic}.") == set()
    revoke(secured, [f"TOPIC ALL on {topic}.b", f"TOPIC READ on {topic}.*"], who)


def test_every_missing_acl_is_named_and_nothing_written(tmp_path, source, secured, topic, granted):
    new, there, small = (f"{topic}-{each}" for each in ("new", "there", "small"))
    promotion = Promotion(tmp_path, source, secured)
    for name in (new, there, small):
        create_topic(source, name, 2, retention_ms=5000)
    create_topic(secured, there, 2)
    create_topic(secured, small, 1, retention_ms=5000)
    as_migrator = {"destination": secured.connection_as("migrator")}
    options = {"topics": [new, there, small], "on_fewer_partitions": "grow_empty", **as_migrator}
    said = promotion.run(refuses, **options)
    assert f"needs ACL TOPIC DESCRIBE on {new}, {small}, {there}" in said
    granted(*(f"TOPIC DESCRIBE on {each}" for each in (new, there, small)))
    said = promotion.run(refuses, **options)
    assert f"needs ACL TOPIC DESCRIBE_CONFIGS on {small}, {there}" in said
    granted(*(f"TOPIC DESCRIBE_CONFIGS on {each}" for each in (new, there, small)))
    said = promotion.run(refuses, **options)
    needed = f"needs ACL TOPIC CREATE on {new}; TOPIC ALTER on {small}; TOPIC ALTER_CONFIGS on {there}"
    assert needed in said
    assert promotion.files() == {} and new not in list_topics(connection_from(secured.connection))
    granted(f"TOPIC CREATE on {new}", f"TOPIC ALTER on {small}", f"TOPIC ALTER_CONFIGS on {there}")
    promotion.carefully(**options)
    assert promotion.partitions(new, there, small) == dict.fromkeys((new, there, small), 2)


def test_acls_need_the_cluster_s_acls(promotion, secured, topic, granted):
    create_topic(secured, topic)
    create_topics(connection_from(secured.connection), {f"{topic}-copy": NewTopic(1, 1, {})})
    granted(*(f"TOPIC {each} on {topic}*" for each in ("DESCRIBE", "DESCRIBE_CONFIGS", "READ")))
    as_migrator = secured.connection_as("migrator")
    options = {
        "topics": [topic],
        "topic_map": [{"name": topic, "to": f"{topic}-copy"}],
        "acls": "mirror",
        "acl_groups": [f"{topic}.*"],
        "principal_map": [{"name": "User:migrator", "to": "User:other"}],
        "source": as_migrator,
        "destination": as_migrator,
    }
    granted(f"GROUP READ on {topic}")
    assert "needs ACL CLUSTER DESCRIBE on kafka-cluster" in promotion.run(refuses, **options)
    granted("CLUSTER DESCRIBE on kafka-cluster")
    assert "needs ACL CLUSTER ALTER on kafka-cluster" in promotion.run(refuses, **options)
    granted("CLUSTER ALTER on kafka-cluster")

    def promoted():
        with contextlib.suppress(AssertionError):
            return promotion.carefully(**options)

    until(promoted, SECONDS)
    assert acls_on(secured, topic) >= {f"ALLOW READ on GROUP {topic} for User:other"}
    promotion.carefully(state="rolled_back", destination=as_migrator)


def test_a_first_acl_that_locks_others_out_is_refused_and_its_rollback_needs_no_topic(tmp_path, own_cluster, topic):
    copy = f"{topic}-copy"
    everybody = own_cluster("everybody", settings=authorizer())
    for name in (topic, copy):
        create_topic(everybody, name)
    grant(
        everybody, [f"TOPIC ALL on {topic}"], "User:ANONYMOUS"
    )  # who runs this, and is somebody else at the destination
    grant(everybody, ["GROUP READ on *"], "User:other")  # brokers refuse all groups to the user now, but they stay open
    promotion = Promotion(tmp_path, everybody, everybody)
    options = {"topics": [topic], "topic_map": [{"name": topic, "to": copy}], "acls": "mirror"}
    options["principal_map"] = [{"name": "User:ANONYMOUS", "to": "User:app"}]
    for check in (True, False):
        message = promotion.run(via=refuses, check=check, **options)
        assert f"ACLs would lock clients out: ALLOW DESCRIBE on TOPIC {copy} for User:app" in message
        assert acls_on(everybody, copy) == set()
    done = promotion.run(**options, on_lockout="add")
    assert done["note_kinds"] == ["acl_lockout"]
    assert len(acls_on(everybody, copy)) == len(READING)
    assert "needs ACL TOPIC DESCRIBE" in promotion.run(via=refuses, **options, on_lockout="add")
    assert promotion.run(state="rolled_back")["changed"]
    assert acls_on(everybody, copy) == set()
    # The same of a fence: its first ACL would keep readers out, too.
    both = {"source": everybody.connection, "destination": everybody.connection}
    fence = {**both, "topics": [copy], "receipt": str(tmp_path / "fence.json"), "idle_wait": 0.2}
    refused = refuses("kafka_topic_promotion", state="fenced", **fence)
    assert f"ACLs would lock clients out: DENY WRITE on TOPIC {copy} for User:*" in refused
    assert acls_on(everybody, copy) == set()
    # Whoever runs this is kept out as well, and cannot look who still writes.
    locked_out = refuses("kafka_topic_promotion", state="fenced", on_lockout="add", **fence)
    assert f"needs ACL TOPIC READ on {copy}" in locked_out
    assert acls_on(everybody, copy) == {f"DENY WRITE on TOPIC {copy} for User:*"}
    succeeds("kafka_topic_promotion", state="lifted", **fence)
    assert acls_on(everybody, copy) == set()
