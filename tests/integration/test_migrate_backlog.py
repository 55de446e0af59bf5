"""The role backlog_migration and its playbook, played as users play them."""

import json
import re
import time

import pytest

from testbed.clients import Message, commit, committed, create_topic, list_groups, log_bounds, produce, topic_settings
from tests.support.consumers import member
from tests.support.modules import Migration
from tests.support.playbooks import Controller, done, failed
from tests.support.sparkless import sparkless

DRY_RUN = "Dry run: nothing of this has been written."
MONTH_AGO = int(time.time() * 1000) - 30 * 86_400_000


@pytest.fixture
def orders(source, topic):
    """A topic with two partitions of 20 old records, of which a group of its name has not consumed 15 and none."""
    create_topic(source, topic, partitions=2, retention_ms=-1)
    produce(source, topic, [Message(b"%d" % n, b"k%d" % n, (), MONTH_AGO + n, n % 2) for n in range(40)])
    commit(source, topic, {(topic, 0): (5, "kept"), (topic, 1): 20})
    return topic


def home(controller):
    return controller.directory / "kafka-backlogs/onprem-to-cloud"


def kept_files(controller):
    """The files of the migration by name, without the history of its runs."""
    return {file.name: file for file in sorted(home(controller).iterdir()) if file.is_file()}


def migrated_by_modules(controller, source, destination, group):
    """What the playbook does without verification, in its directory and with its modules, but without Ansible and Spark."""
    home(controller).mkdir(parents=True)
    migration = Migration(home(controller), source, destination)
    with sparkless():
        migration.snapshot(group)
        migration.backlog()
        migration.commit(source=migration.source, snapshot=str(migration.snapshot_file))


def took(played, *steps):
    """A run that must have succeeded, and that ends with the seconds of these steps."""
    times = ", ".join(rf"{step} [0-9]+[.][0-9] s" for step in steps)
    assert re.search(rf'"It took: {times}[.]"', played.output), played.output
    return done(played)


def test_a_plan_is_made_while_everything_runs_and_writes_to_no_cluster(source, destination, orders, controller):
    with member(source, orders, [orders]):
        assert f"groups are in use: {orders} has members (its state is Stable)" in failed(
            controller.migrate_backlog(groups=[orders])
        )
        planned = done(controller.migrate_backlog(phase="plan", groups=[orders]))
    assert "nothing to copy" in planned.output
    assert "run the same command without -e backlog_migration_phase=plan." in planned.output
    assert list(kept_files(controller)) == ["snapshot.json"]
    assert orders not in list_groups(destination)


def test_a_rollback_leaves_what_is_copied_which_is_proved_before_groups_are_set_again(
    source, destination, orders, controller
):
    commit_before = {(orders, 1): (0, "an older life")}
    create_topic(destination, orders, partitions=2)
    commit(destination, orders, commit_before)
    migrated_by_modules(controller, source, destination, orders)
    copied = log_bounds(destination, orders)
    assert copied == {0: (0, copied[0][1]), 1: (0, 0)} and copied[0][1] >= 15
    files = controller.files()
    dry = done(controller.migrate_backlog("--check", "--diff", phase="rollback", groups=[orders]))
    assert DRY_RUN in dry.output and dry.changed > 0 and controller.files() == files
    back = done(controller.migrate_backlog(phase="rollback", groups=[orders]))
    assert "The copied records stay at the destination" in back.output
    assert committed(destination, orders) == commit_before

    # Somebody who knows better has moved where a boundary lies.
    file = home(controller) / "copy.json"
    kept = file.read_text()
    file.write_text(kept.replace('"places": [[5, 0]]', '"places": [[5, 2]]'))
    said = failed(controller.migrate_backlog(groups=[orders]))
    assert "2 unconsumed records are skipped" in said and "No group was set by this run." in said
    assert committed(destination, orders) == commit_before
    report = json.loads((home(controller) / "report.json").read_text())
    assert [entry["skipped"] for entry in report["entries"]] == [2, 0]

    file.write_text(kept)
    again = done(controller.migrate_backlog(groups=[orders]))
    assert again.changed == 2 and "15 records compared" in again.output  # proved before they are set
    assert committed(destination, orders)[orders, 0] == (0, "kept")
    assert log_bounds(destination, orders) == copied


def test_it_ends_without_its_source(source, destination, orders, controller):
    """Settings come back, and what is given up goes; nobody asks the source, which is gone."""
    create_topic(destination, orders, partitions=2, retention_ms=600_000)
    dry = done(controller.migrate_backlog("--check", groups=[orders], verify="none"))
    assert DRY_RUN in dry.output and controller.files() == {}
    assert log_bounds(destination, orders) == {0: (0, 0), 1: (0, 0)} and orders not in list_groups(destination)
    copied = done(controller.migrate_backlog(groups=[orders], verify="none"))
    numbers = rf'"{orders}(?: +[0-9.]+){{5}}'
    assert re.findall(numbers, dry.output) == re.findall(numbers, copied.output) != []
    assert "Next: look at the offsets, and run the same command without --check." in dry.output
    back = "To roll back, stop them, and run the same command with -e backlog_migration_phase=rollback."
    assert f"Next: start the consumers at the destination. {back}" in copied.output
    assert done(controller.migrate_backlog(groups=[orders], verify="none")).changed == 0
    assert f"Settings are suspended of {orders}." in copied.output
    during = topic_settings(destination, orders)
    gone = Controller(controller.directory, onprem={"bootstrap_servers": ["127.0.0.1:1"]}, cloud=destination)
    files = gone.files()
    dry = done(gone.migrate_backlog("--check", groups=[orders], restore_retention=True))
    assert (dry.changed, gone.files(), topic_settings(destination, orders)) == (1, files, during)
    real = took(gone.migrate_backlog(groups=[orders], restore_retention=True), "restore", "preview")
    assert real.changed == 1 and "Every group is set. The source was not asked." in real.output
    assert topic_settings(destination, orders) == {"retention.ms": "600000"}
    assert done(gone.migrate_backlog(groups=[orders], restore_retention=True)).changed == 0

    groups = [name for name in list_groups(destination) if name.startswith("streamshift-copy-")]
    dry = done(gone.migrate_backlog("--check", phase="remove"))
    removed = took(gone.migrate_backlog(phase="remove", remove_topics=True), "remove")
    assert (dry.changed, removed.changed) == (1, 1) and "progress of the copy, deleted" in removed.output
    assert list(kept_files(gone)) == ["receipt.json", "snapshot.json"]
    assert len(set(groups) - set(list_groups(destination))) == 1
    assert log_bounds(destination, orders)[0][1] >= 15  # the topic was there before
    assert done(gone.migrate_backlog(phase="remove")).changed == 0
    # The run that has copied, the one that has given the settings back, and the removal.
    assert gone.phases() == ["migrate", "migrate", "remove"]


def test_a_group_that_cannot_be_set_is_no_group_that_is_set(source, destination, orders, controller):
    create_topic(destination, orders, partitions=2, retention_ms=600_000)
    done(controller.migrate_backlog(groups=[orders], verify="none"))
    done(controller.migrate_backlog(phase="rollback", groups=[orders]))
    gone = Controller(controller.directory, onprem={"bootstrap_servers": ["127.0.0.1:1"]}, cloud=destination)
    with member(destination, orders, [orders], commits=False):
        for policy in ("fail", "skip_group"):
            said = failed(gone.migrate_backlog(groups=[orders], restore_retention=True, on_active_group=policy))
            assert "Groups are still to be set: the migration goes on." in said and "Every group is set" not in said


def test_what_was_begun_does_not_go_on_with_groups_that_have_moved(source, destination, orders, controller):
    migrated_by_modules(controller, source, destination, orders)
    files = controller.files()
    commit(source, orders, {(orders, 0): 6, (orders, 1): 20})
    for check in (["--check"], []):
        said = failed(controller.migrate_backlog(*check, groups=[orders]))
        assert "the source's groups have moved since the copy was planned" in said
        assert "by the playbook restore_offsets" in said
        assert controller.files() == files
    backup = str(home(controller) / "snapshot.json")
    done(controller.clone_groups(playbook="restore_offsets", groups=[orders], backup=backup, on_rewind="rewind"))
    assert done(controller.migrate_backlog(groups=[orders], verify="none")).changed == 0


def test_what_is_missing_is_said_before_anything_is_written(source, destination, orders, controller):
    said = failed(controller.migrate_backlog(groups=[orders, f"{orders}-typo"], spark={"java_home": "/nowhere"}))
    assert "Spark needs Java 17 or newer" in said and "anchors" not in said
    assert f"group {orders}-typo: the group does not exist" in said
    create_topic(destination, orders, partitions=3)
    said = failed(controller.migrate_backlog(groups=[orders]))
    assert f"the topic has 3 partitions, and {orders} has 2 at the source" in said
    assert orders not in list_groups(destination)
    assert not (home(controller) / "copy.json").exists()


def test_a_damaged_copy_file_is_named_where_it_is(orders, controller):
    home(controller).mkdir(parents=True)
    file = home(controller) / "copy.json"
    file.write_text("{")
    # A dry run works on a copy of it, and names it all the same.
    assert f"the copy file {file} is damaged" in failed(controller.migrate_backlog("--check", groups=[orders]))
    assert file.read_text() == "{"
