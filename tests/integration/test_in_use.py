"""Groups that somebody still uses at the source are not moved without a word, and neither are torn plans or one cluster."""

import json
import re
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups
from testbed.clients import Message, commit, committed, create_topic, list_groups, produce
from tests.support.consumers import committing, member, offsets_in_transaction, share_member
from tests.support.modules import Migration, refuses
from tests.support.playbooks import Controller, done, failed


@pytest.fixture
def migration(orders, migration):
    """Everything but the commit is done."""
    migration.plan(orders)
    return migration


@pytest.fixture
def controller(source, destination, tmp_path):
    """An inventory in which the source has two names."""
    return Controller(tmp_path / "infrastructure", onprem=source, twin=source, cloud=destination)


def test_a_group_that_is_in_use_again_at_the_source_after_the_snapshot_is_verified_in_case_it_is_left_meanwhile(
    source, destination, orders, controller
):
    done(controller.migrate_groups(groups=[orders], phase="plan"))
    directory = controller.directory / "kafka-migrations/onprem-to-cloud"
    (directory / "report.json").unlink(missing_ok=True)
    its = {
        "role": "group_migration",
        "phase": "migrate",
        "source": "onprem",
        "destination": "cloud",
        "directory": str(directory),
        "steps": ["verify", "commit"],
        "selection": {"groups": [orders], "group_patterns": [], "topics": [], "topic_patterns": []},
        "verify_options": {"method": "records", "on_absent": "fail"},
        "commit_options": {
            "on_blocked": "fail",
            "on_rewind": "fail",
            "on_active_group": "fail",
            "on_active_source": "skip_group",
            "idle_wait": 0,
        },
    }
    task = {
        "name": "Migrate",
        "ansible.builtin.import_role": {"name": "streamshift.kafka.common", "tasks_from": "round"},
        "vars": {f"_common_{name}": value for name, value in its.items()},
    }
    playbook = controller.directory / "later.json"
    playbook.write_text(json.dumps([{"name": "Play", "hosts": "cloud", "gather_facts": False, "tasks": [task]}]))
    with member(source, orders, [orders], commits=False):
        output = done(controller.run(str(playbook))).output
    assert f"{orders}: its source group" in output and committed(destination, orders) == {}
    report = json.loads((directory / "report.json").read_text())
    assert {entry["group"] for entry in report["entries"]} == {orders}


@pytest.mark.parametrize("side", ["source", "destination"])
def test_the_end_of_a_run_and_its_report_name_the_groups_that_were_left_out(
    source, destination, orders, controller, side
):
    quiet = f"{orders}-quiet"
    commit(source, quiet, {(orders, 0): 3})
    policies = {"on_active_source": "skip_group", "on_active_group": "skip_group"}
    used = source if side == "source" else destination
    with member(used, orders, [orders], commits=False):
        output = done(controller.migrate_groups(groups=[orders, quiet], write_report=True, **policies)).output
        assert (
            "Then start the consumers at the destination, but not those of groups that are blocked or left out."
            in output
        )
        ticket = (controller.directory / "kafka-migrations/onprem-to-cloud/report.md").read_text()
        assert "1 group left out because it is in use." in ticket.splitlines()[2]
        assert f"{orders}: left out, because it is in use at the {side}." in ticket.replace("\\", "")
        step = (
            "Look at what is left out. Then start the consumers at the destination, but not those of groups that are blocked "
            "or left out. To move these, too, remove the cause, and run the same command again."
        )
        assert step in ticket and step[1:] in output
        if side == "destination":  # where the group may be left before the commit looks: its offsets are verified, too
            assert re.search(rf"{orders}: has members .*: client .* on 127\.0\.0\.1: left out", output)
            assert committed(destination, orders) == {}
            report = json.loads((controller.directory / "kafka-migrations/onprem-to-cloud/report.json").read_text())
            assert {entry["group"] for entry in report["entries"]} == {orders, quiet}
        if side == "source":
            assert f"Left out, because they are in use at the source: {orders}." in output
            assert committed(destination, quiet) and orders not in list_groups(destination)
            done(controller.migrate_groups(groups=[quiet], **policies))  # the snapshot is another one then
            both = {"groups": [orders, quiet], "write_report": True}
            undone = done(controller.migrate_groups(phase="rollback", **both, **policies)).output
            ticket = (controller.directory / "kafka-migrations/onprem-to-cloud/report.md").read_text()
            assert "Rolled back: 1 of 1 group-partition of 1 group." in ticket
            assert f"Earlier runs wrote nothing for {orders}. So this one leaves it out" in undone
            assert committed(destination, quiet) == {}
            output = done(controller.migrate_groups(groups=[orders], directory="alone", **policies)).output
            assert "Next: look at what is left out, and run the same command again." in output


class TestAnOpenTransactionWithOffsets:
    """It is a matter of its group and partition alone, and has a name."""

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(groups, "STABLE_SECONDS", 0.5)

    def test_at_the_source_it_blocks_its_partition(self, source, destination, orders, migration):
        other = f"{orders}-other"
        commit(source, other, {(orders, 0): 3})
        with offsets_in_transaction(source, orders, {(orders, 1): 7}) as name:
            begun = time.monotonic()
            taken = migration.snapshot(orders, other)
            planned = migration.translate()["entries"]
            assert time.monotonic() < begun + 15
            assert any(
                f"{orders}: a transaction that commits offsets for {orders}-1 is open" in it for it in taken["warnings"]
            )
            reasons = {(row["group"], row["partition"]): row["reason"] for row in planned}
            assert reasons == {(orders, 0): None, (orders, 1): "open_transaction", (other, 0): None, (other, 1): None}
            (detail,) = (row["detail"] for row in planned if row["reason"])
            assert f"transactional id {name} (producer id " in detail
            refused = migration.commit(via=refuses)
            assert "1 of 4 group-partitions of the plan is blocked" in refused and name in refused
            assert committed(destination, other) == {}
            migration.commit(on_blocked="skip_partition", source=migration.source)
        assert set(committed(destination, orders)) == {(orders, 0)} and set(committed(destination, other)) == {
            (orders, 0)
        }

    @pytest.mark.parametrize("before", [{}, {1: (1, "")}])
    def test_at_the_destination_its_group_is_in_use(self, source, destination, orders, migration, before):
        other = f"{orders}-other"
        commit(source, other, {(orders, 0): 3})
        before = {(orders, number): its for number, its in before.items()}
        if before:
            commit(destination, orders, before)
        with offsets_in_transaction(destination, orders, {(orders, 1): 2}) as name:
            migration.plan(orders, other)
            refused = migration.commit(via=refuses)
            assert f"group {orders}: is in use: a transaction that commits offsets for {orders}-1 is open" in refused
            assert name in refused
            migration.commit(on_active_group="skip_group")
        assert committed(destination, orders) == before
        assert set(committed(destination, other)) == {(orders, 0)}


class TestBeforeThePlan:
    """The snapshot watches the source's commits, because consumers with assign() are never members."""

    def test_a_consumer_with_assign_ends_the_run_before_the_plan(self, source, destination, orders, controller):
        with committing(source, orders, orders):
            output = failed(controller.migrate_groups(groups=[orders], idle_wait=1.5))
        assert f"groups are in use: {orders} has commits that move ({orders}-0 from " in output
        assert not [name for name in controller.files() if name.endswith(".json")]
        assert orders not in list_groups(destination)

    def test_a_wave_that_fails_tells_nothing_of_the_wave_before_it_in_the_same_play(
        self, source, destination, orders, controller, tmp_path
    ):
        quiet = f"{orders}-quiet"
        commit(source, quiet, {(orders, 0): 3})
        clusters = {"group_migration_source": "onprem", "group_migration_destination": "cloud"}
        common = {**clusters, "group_migration_verify": "anchors", "group_migration_directory": str(tmp_path / "waves")}
        wave = {"ansible.builtin.include_role": {"name": "streamshift.kafka.group_migration"}}
        waves = [
            {**wave, "vars": {**common, "group_migration_groups": [quiet], "group_migration_idle_wait": 0}},
            {**wave, "vars": {**common, "group_migration_groups": [orders], "group_migration_idle_wait": 1.5}},
        ]
        play = tmp_path / "waves.json"
        play.write_text(json.dumps([{"hosts": "cloud", "gather_facts": False, "tasks": waves}]))
        with committing(source, orders, orders):
            output = failed(controller.run(str(play)))
        assert "has commits that move" in output
        assert quiet in list_groups(destination) and orders not in list_groups(destination)
        assert "The run failed, and changed no committed offset." in (tmp_path / "waves/report.md").read_text()
        first, second = sorted(folder.name for folder in (tmp_path / "waves/history").iterdir())
        assert first.endswith("-migrate") and second.endswith("-migrate-failed")

    def test_it_is_left_out_or_told_as_asked(self, source, orders, migration):
        other = f"{orders}-quiet"
        commit(source, other, {(orders, 0): 3})
        with committing(source, orders, orders):
            skipped = migration.snapshot(orders, other, idle_wait=1, on_active_group="skip_group")
            warned = migration.snapshot(orders, other, idle_wait=1)
            unseen = migration.snapshot(orders, other)
        assert skipped["left_out_groups"] == skipped["active_groups"] == [orders]
        assert [group["name"] for group in skipped["groups"]] == [other]
        assert warned["active_groups"] == [orders]
        assert any(
            f"groups are in use, and may consume more than the snapshot says: {orders} has" in line
            for line in warned["warnings"]
        )
        assert unseen["active_groups"] == []


class TestAroundTheCommit:
    """The source is looked at right before the first write, and after the last one."""

    def test_a_consumer_that_has_gone_on_since_the_snapshot_ends_the_run_before_anything_is_written(
        self, source, orders, migration
    ):
        before = migration.state(orders)
        with member(source, orders, [orders]):
            message = migration.commit(via=refuses, source=migration.source)
        assert (
            f"group {orders}: the group is still in use at the source: {orders} has members (its state is Stable)"
            in message
        )
        # The member has committed everything, and is gone.
        for check in (True, False):
            message = migration.commit(via=refuses, source=migration.source, check=check)
            assert f"has moved since the snapshot: {orders}-0 from 5 to 10; up to 5 records" in message
            assert "would be repeated at the destination" in message and "Nothing was written" in message
        assert migration.state(orders) == before


class TestOneCluster:
    """Addresses tell whether two names are one cluster."""

    def test_a_merge_without_on_conflict_is_the_only_problem(self, source, orders, tmp_path):
        other = f"{orders}-other"
        commit(source, other, {(orders, 0): 3})
        merge = Migration(tmp_path / "merge", source, source)
        (problem,) = merge.problems(orders, other, group_map=[{"pattern": ".*", "to": f"{orders}-all"}])
        assert "set on_conflict to lowest or highest to merge the groups" in problem


class TestPreflight:
    """What would block is known before the plan."""

    def test_topics_that_are_missing_or_have_other_partitions_are_notes(self, source, destination, orders, migration):
        ghost, wide = f"{orders}-ghost", f"{orders}-wide"
        create_topic(source, ghost)
        create_topic(source, wide, partitions=2)
        create_topic(destination, wide, partitions=3)
        commit(source, orders, {(ghost, 0): 0, (wide, 0): 0, (wide, 1): 0})
        found = migration.look(orders)
        assert found["problems"] == []
        assert [note.partition(":")[0] for note in found["notes"]] == [
            f"topic {ghost} does not exist at the destination",
            f"{wide} has 2 partitions at the source, and 3 at the destination",
        ]
        # One that may have other partitions still has to be there.
        assert len(migration.look(orders, repartitioned=[f"{orders}-.*"])["notes"]) == 1

    def test_settings_that_cost_records_are_notes(self, source, destination, topic, tmp_path):
        hour = 3_600_000
        create_topic(source, topic, retention_ms=-1)
        create_topic(destination, topic, retention_ms=hour, max_message_bytes=1000)
        old = int(time.time() * 1000) - 2 * hour
        produce(source, topic, [Message(b"old", timestamp=old), Message(b"new", timestamp=old + 2 * hour)])
        migration = Migration(tmp_path / "migration", source, destination)
        for offset, kinds in ((0, ["message_size", "retention"]), (1, ["message_size"])):
            commit(source, topic, {(topic, 0): offset})
            found = migration.look(topic)
            assert ([each["kind"] for each in found["settings"]], found["problems"]) == (kinds, [])
            assert [each["message"] for each in found["settings"]] == found["notes"]
        assert (found["settings"][0]["source"], found["settings"][0]["destination"]) == ("1048588", "1000")

    def test_a_share_group_among_named_ones_is_left_out_where_blocked_ones_are(
        self, source, destination, orders, controller, tmp_path
    ):
        share, migration = f"{orders}-share", Migration(tmp_path / "migration", source, destination)
        with share_member(source, share, orders):
            assert f"group {share}: the group is a share group" in migration.snapshot(orders, share, via=refuses)
            assert f"group {share}: the group is a share group" in migration.problems(orders, share)[0]
            # Alone it leaves nothing to migrate, and that is never a success.
            assert "the group is a share group" in migration.snapshot(share, via=refuses, on_blocked="skip_group")
            output = done(controller.migrate_groups(groups=[orders, share], on_blocked="skip_partition")).output
        assert f"{share}: is a share group, which has no single position in a partition" in output
        assert committed(destination, orders) == {(orders, 0): (5, ""), (orders, 1): (10, "")}
        assert share not in list_groups(destination)
