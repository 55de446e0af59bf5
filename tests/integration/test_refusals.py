"""What cannot be right is refused: in seconds, in one line that names what and where, and with nothing written."""

import pytest

from testbed.clients import commit, committed, create_topic, grant, until
from tests.support.consumers import member
from tests.support.modules import Migration, outcome, refuses, spawn
from tests.support.replication_tool import copied_topic
from tests.support.rights import rights_of


def test_a_wrong_password_is_told_by_every_step_and_changes_nothing(source, secured, orders, tmp_path):
    wrong = secured.connection_as("admin") | {"sasl_password": "not-the-password"}
    good = Migration(tmp_path / "migration", source, source)
    good.plan(orders, strategy="identical", group_map=[{"pattern": "(.*)", "to": "new-\\1"}])
    files = good.files()
    told = [
        good.snapshot(orders, via=refuses, cluster=wrong),
        good.translate(via=refuses, source=wrong),
        good.translate(via=refuses, destination=wrong),
        good.commit(via=refuses, cluster=wrong),
    ]
    assert good.files() == files
    for role in ("source", "destination"):
        (problem,) = good.problems(orders, topics=[orders], **{role: wrong})
        assert problem.startswith(f"{role} cluster ")
        told.append(problem)
    for message in told:
        assert "invalid credentials" in message and "not-the-password" not in message


class TestRights:
    """Each missing ACL is named before anything is written, by the preflight and by the module that would need it."""

    @pytest.fixture
    def migrator(self, secured):
        return secured.connection_as("migrator")

    @pytest.mark.parametrize("right", ["GROUP DESCRIBE", "TOPIC READ", "TOPIC DESCRIBE_CONFIGS"])
    def test_of_the_source(self, secured, destination, topic, migrator, tmp_path, right):
        copied_topic(secured, destination, topic, 10, 5, 10)
        missing = f"{right} on {topic}"
        # To read is to describe: without READ the topic must be describable, or nothing is known of it at all.
        grant(secured, (rights_of(topic, topic)["source"] | {f"TOPIC DESCRIBE on {topic}"}) - {missing})
        migration = Migration(tmp_path / "migration", migrator, destination)
        files = migration.state(topic)
        problems = migration.problems(topic, topics=[topic])
        assert len(problems) == 1
        assert problems[0].startswith("source cluster ") and missing in problems[0]
        if right == "GROUP DESCRIBE":
            assert f"needs ACL {missing}" in migration.snapshot(topic, via=refuses)
        else:
            migration.snapshot(topic)
            files = migration.state(topic)
            message = migration.translate(via=refuses)
            assert f"source cluster {migrator['bootstrap_servers'][0]}" in message and f"needs ACL {missing}" in message
        assert migration.state(topic) == files
        grant(secured, [missing])
        migration.carried_out(topic)

    def test_of_topics_that_may_not_even_be_described(self, secured, destination, topic, migrator, tmp_path):
        """A broker hides their offsets without a word; a group that seems to have none is refused."""
        copied_topic(secured, destination, topic, 10, 5, 10)
        grant(secured, [f"GROUP DESCRIBE on {topic}"])
        migration = Migration(tmp_path / "migration", migrator, destination)
        message = migration.snapshot(topic, via=refuses)
        assert f"group {topic}: the group has committed nothing, or TOPIC DESCRIBE" in message
        problems = migration.problems(topic, topics=[topic])
        assert any(f"missing ACL TOPIC READ on {topic}" in problem for problem in problems)
        matched = migration.snapshot(group_patterns=[topic])
        assert any(f"Nothing of these groups is in the snapshot: {topic}" in line for line in matched["warnings"])

    @pytest.mark.parametrize("others", [set(), {"TOPIC DESCRIBE_CONFIGS"}])
    def test_of_one_of_the_topics(self, secured, destination, topic, migrator, granted, tmp_path, others):
        """What the group has committed on it would be missing without a word."""
        hidden = f"{topic}-hidden"
        for name in (topic, hidden):
            copied_topic(secured, destination, name, 10, 5)
        commit(secured, topic, {(hidden, 0): 5})
        granted(*rights_of(topic, topic)["source"], *(f"{other} on {hidden}" for other in others))
        migration = Migration(tmp_path / "migration", migrator, destination)

        def told(**options):
            found = migration.look(topic, **options)
            return [problem["message"] for problem in found["problems"]], [
                note for kind, note in zip(found["note_kinds"], found["notes"], strict=True) if kind == "topics_hidden"
            ]

        its = {"topic_patterns": [f"{topic}.*"]}  # the tests beside this one have topics, too
        problems, (note,) = told(**its)
        assert problems == [] and f"may have copies of: {hidden}. " in note
        assert told(**its, exclude_topic_patterns=[".*-hidden"]) == ([], [])
        with member(secured, topic, [topic, hidden], commits=False):
            problems, _notes = told(**its)
            assert len(problems) == 1
            assert f"group {topic}, topic {hidden}: missing ACL TOPIC READ on {hidden}: members" in problems[0]
        granted(f"TOPIC DESCRIBE on {hidden}", f"TOPIC READ on {hidden}", f"TOPIC DESCRIBE_CONFIGS on {hidden}")
        until(lambda: told(**its) == ([], []))

    def test_of_a_topic_that_members_of_the_newer_protocol_consume(
        self, secured, destination, topic, migrator, granted, tmp_path
    ):
        """Brokers tell that there is one, and not which."""
        hidden = f"{topic}-hidden"
        copied_topic(secured, destination, topic, 10, 5)
        create_topic(secured, hidden)  # not copied
        granted(*rights_of(topic, topic)["source"])
        migration = Migration(tmp_path / "migration", migrator, destination)
        with member(secured, topic, [topic, hidden], protocol="consumer", commits=False):
            (problem,) = migration.problems(topic)
            assert f"group {topic}: missing ACL TOPIC READ on a topic that its members consume" in problem
            assert migration.problems(topic, topic_patterns=[topic]) == []
            granted(f"TOPIC READ on {hidden}")
            until(lambda: migration.problems(topic) == [])

    @pytest.mark.parametrize("right", ["GROUP READ", "TOPIC READ", "TOPIC DESCRIBE_CONFIGS"])
    def test_of_the_destination(self, source, secured, topic, migrator, tmp_path, right):
        copied_topic(source, secured, topic, 10, 5, 10)
        missing = f"{right} on {topic}"
        known = {f"GROUP DESCRIBE on {topic}", f"TOPIC DESCRIBE on {topic}"}
        grant(secured, (rights_of(topic, topic)["destination"] | known) - {missing})
        migration = Migration(tmp_path / "migration", source, secured)
        migration.destination = migrator
        problems = migration.problems(topic, topics=[topic])
        at = f"destination cluster {migrator['bootstrap_servers'][0]}"
        assert problems == [
            f"{at}: missing ACL {missing}. Grant it to the user of this cluster, or delete the ACL that denies it."
        ]
        migration.snapshot(topic)
        if right == "GROUP READ":
            migration.translate()
            files = migration.files()
            message = migration.commit(via=refuses)
            assert "receipt.json" not in files
        else:
            files = migration.files()
            message = migration.translate(via=refuses)
        assert f"needs ACL {missing}" in message and "cluster 127.0.0.1" in message
        assert migration.files() == files
        assert committed(secured, topic) == {}
        grant(secured, [missing])
        migration.carried_out(topic)

    def test_to_roll_back_needs_group_delete(self, source, secured, topic, migrator, tmp_path):
        copied_topic(source, secured, topic, 10, 5, 10)
        commit(secured, topic, {(topic, 0): 1})
        missing = f"GROUP DELETE on {topic}"
        grant(secured, rights_of(topic, topic)["destination"])
        migration = Migration(tmp_path / "migration", source, secured)
        migration.destination = migrator
        for receipt in ({}, {"receipt": str(migration.receipt_file)}):  # the second time, nothing is left to be set
            found = migration.look(topic, topics=[topic], **receipt)
            assert found["problems"] == []
            (note,) = found["notes"]
            assert note.startswith(f"destination cluster {migrator['bootstrap_servers'][0]}: missing ACL {missing}")
            migration.plan(topic)
            migration.commit()
        state = migration.state(topic)
        for check in (True, False):
            assert f"needs ACL {missing}" in migration.roll_back(via=refuses, check=check)
            assert migration.state(topic) == state  # what needs no such right is not put back either
        grant(secured, [missing])
        assert migration.look(topic, topics=[topic])["notes"] == []
        migration.roll_back()
        assert committed(secured, topic) == {(topic, 0): (1, "")}


class TestConcurrency:
    """Two runs at once do not mix: the second is refused at once, and the first is not disturbed."""

    def test_from_two_directories(self, source, destination, migration, orders, tmp_path):
        """Kafka has no lock for a group: the commit of one is what the other did not expect."""
        migration.plan(orders)
        other = Migration(tmp_path / "other", source, destination)
        commit(source, f"{orders}-2", {(orders, 0): 9, (orders, 1): 9})
        other.plan(f"{orders}-2", group_map=[{"pattern": ".*", "to": orders}])
        options = {"cluster": migration.destination, "idle_wait": 1}
        runs = [
            spawn("kafka_offset_commit", plan=str(each.plan_file), receipt=str(each.receipt_file), **options)
            for each in (migration, other)
        ]
        results = [outcome(each) for each in runs]
        done = [result for result in results if not result.get("failed")]
        for failure in (result["msg"] for result in results if result.get("failed")):
            assert f"group {orders}" in failure or f"{orders} {orders}-" in failure
        stands = {
            partition: offset for (_topic, partition), (offset, _unused) in committed(destination, orders).items()
        }
        said = [{entry["partition"]: entry["after"] for entry in result["entries"]} for result in done]
        assert not said or stands in said  # a mixture is never called a success


def test_exchanged_clusters_are_asked_about_where_the_groups_are_at_the_other_side(
    source, destination, orders, tmp_path
):
    exchanged = Migration(tmp_path / "exchanged", destination, source)
    missing, question = exchanged.problems(orders, topics=[orders])
    assert f"group {orders}: the group does not exist" in missing
    assert (
        f"{orders} has committed offsets here, and none at the source: source and destination may be swapped"
        in question
    )
    assert len(exchanged.problems("nowhere", topics=[orders])) == 1
