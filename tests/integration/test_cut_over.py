"""Cut-overs after rounds. How one goes while everything runs: tests/soak."""

import json
import re
import time

import pytest

from testbed.background import Background
from testbed.clients import Message, commit, committed, consume, create_topic, produce
from tests.support.consumers import committing, member
from tests.support.playbooks import done, failed

NOW = int(time.time() * 1000) - 86_400_000


@pytest.fixture
def orders(source, destination, topic):
    """A topic on both clusters with 200 records in two partitions at the source, and a group that has consumed half of them."""
    for cluster in (source, destination):
        create_topic(cluster, topic, partitions=2, retention_ms=-1)
    more(source, topic, 0, 200)
    commit(source, topic, {(topic, 0): 50, (topic, 1): 50})
    return topic


def more(source, topic, first, count):
    messages = (
        Message(b"%d" % number, b"key", (), NOW + 10 * number, number % 2) for number in range(first, first + count)
    )
    produce(source, topic, list(messages))


def status(controller):
    return json.loads((controller.directory / "kafka-migrations/onprem-to-cloud/status.json").read_text())


def test_a_round_and_then_a_cut_over(source, destination, orders, controller):
    more(destination, orders, 0, 200)
    dry = done(controller.migrate_groups("--check", groups=[orders], phase="sync"))
    assert "Dry run" in dry.output and committed(destination, orders) == {}
    assert not (controller.directory / "kafka-migrations").exists()
    for decided, changed in ((0, 2), (2, 0)):
        with member(source, orders, [orders], commits=False):  # as it should be before a cut-over
            played = done(controller.migrate_groups(groups=[orders], phase="sync"))
        assert "has members" not in played.output
        assert f"Round 1: {changed} of 2 offsets changed. 2 exact; {decided} as decided before" in played.output
    assert played.changed == 0
    commit(source, orders, {(orders, 0): 70, (orders, 1): 80})
    dry = done(controller.migrate_groups("--check", groups=[orders], phase="cut_over"))
    assert f"These groups would be cut over: {orders}." in dry.output and "Consumers may start" not in dry.output
    assert "not ready" not in dry.output, dry.output
    last = done(controller.migrate_groups(groups=[orders], phase="cut_over", watch_start=1))
    assert f"0 of 1 groups have members at the destination. Not started: {orders}." in last.output
    assert last.changed == dry.changed and f"Consumers may start at the destination: {orders}." in last.output
    assert committed(destination, orders) == {(orders, 0): (70, ""), (orders, 1): (80, "")}
    assert done(controller.migrate_groups(groups=[orders], phase="cut_over")).changed == 0
    assert controller.phases() == ["sync", "cut_over"]


def test_a_second_cut_over_leaves_what_has_been_consumed_since_though_an_option_chooses_another_offset_by_now(
    source, destination, orders, controller
):
    more(destination, orders, 0, 200)
    half = f"{orders}-half"
    commit(source, half, {(orders, 0): 50})
    its = {"groups": [half], "phase": "cut_over", "on_uncommitted": "end"}
    done(controller.migrate_groups(**its))
    assert committed(destination, half) == {(orders, 0): (50, ""), (orders, 1): (100, "")}
    more(destination, orders, 200, 40)  # its producers have moved
    assert consume(destination, half, [orders], 85) == 85
    more(destination, orders, 240, 40)
    moved = committed(destination, half)
    again = done(controller.migrate_groups(**its))
    assert (again.changed, committed(destination, half)) == (0, moved)
    assert f"Consumers may start at the destination: {half}." in again.output


def test_a_tool_that_commits_ahead_between_a_round_and_the_cut_over_fails_it(source, destination, orders, controller):
    more(destination, orders, 0, 200)
    done(controller.migrate_groups(groups=[orders], phase="sync"))
    commit(destination, orders, {(orders, 0): 79})
    for more_options in ({}, {"idle_wait": 1}):
        refused = failed(controller.migrate_groups(groups=[orders], phase="cut_over", **more_options))
        assert "has committed 79 now, although no consumer has ever joined it" in refused
        assert "a consumer that starts now skips up to 29 records" in refused
        assert "Consumers may start" not in refused
    last = done(controller.migrate_groups(groups=[orders], phase="cut_over", on_rewind="rewind"))
    assert f"Consumers may start at the destination: {orders}." in last.output
    assert committed(destination, orders) == {(orders, 0): (50, ""), (orders, 1): (50, "")}


def test_a_group_that_a_tool_moves_right_after_the_commit_is_not_told_to_start(
    source, destination, orders, controller, tmp_path
):
    more(destination, orders, 0, 200)
    other = f"{orders}-other"
    commit(source, other, {(orders, 0): 30})
    receipt = controller.directory / "kafka-migrations/onprem-to-cloud/receipt.json"

    def move(over):
        """As MirrorMaker 2 does with sync.group.offsets.enabled. Until the receipt is complete, the commit would see it."""
        while not over.wait(0.02):
            if receipt.exists() and "pending" not in (text := receipt.read_text()) and other in text:
                commit(destination, orders, {(orders, 0): 79})
                break

    role = {"name": "streamshift.kafka.group_migration"}
    show = {"ansible.builtin.debug": {"msg": "May start: {{ streamshift_kafka_run.may_start | join(' ') }};"}}
    play = {"hosts": "cloud", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": role}, show]}
    playbook = tmp_path / "play.json"
    playbook.write_text(json.dumps([play]))
    its = {"source": "onprem", "destination": "cloud", "groups": [orders, other], "phase": "cut_over", "idle_wait": 0}
    its |= {"on_not_ready": "skip_group", "verify": "anchors"}
    given = json.dumps({f"group_migration_{name}": value for name, value in its.items()})
    with Background(move):
        output = done(controller.run(str(playbook), "-e", given)).output
    assert f"Consumers may start at the destination: {other}." in output
    assert f"{orders}: the committed offset at the destination is not the planned one any more" in output
    assert "but not those of groups that are blocked or left out." in output and f"May start: {other};" in output
    assert "but not those of groups that are blocked or left out" in (receipt.parent / "report.md").read_text()


def test_a_group_that_the_verification_objects_to_is_not_told_to_start(source, destination, orders, controller):
    """A round has committed its offsets, and what it has yet to consume was not copied since."""
    more(destination, orders, 0, 200)
    done(controller.migrate_groups(groups=[orders], phase="sync"))
    after = {(orders, 0): (50, ""), (orders, 1): (50, "")}
    assert committed(destination, orders) == after
    more(source, orders, 200, 10)
    more(destination, orders, 201, 9)
    its = {"verify": "records", "spark": {"master": "local[1]"}, "on_not_ready": "skip_group"}
    last = done(controller.migrate_groups(groups=[orders], phase="cut_over", **its))
    assert "verification_failed" in last.output
    assert "No group was cut over." in last.output and "Consumers may start" not in last.output
    (group,) = status(controller)["entries"]
    assert (group["ready"], group["verdicts"]) == (False, {"blocked": 1, "exact": 1})
    assert committed(destination, orders) == after


def test_a_consumer_that_does_not_stop_is_waited_for_and_one_that_goes_on_after_the_gate_is_found(
    source, destination, orders, controller
):
    more(destination, orders, 0, 200)
    its = {"groups": [orders], "phase": "cut_over"}
    with member(source, orders, [orders], commits=False):
        refused = failed(controller.migrate_groups(stop_timeout=1, **its))
    assert f"groups are in use: {orders} has members (its state is Stable)" in refused
    assert "group_migration_stop_timeout of 1 s is over" in refused and committed(destination, orders) == {}
    with committing(source, orders, orders):  # which idle_wait 0 does not see
        refused = failed(controller.migrate_groups(**its))
    assert re.search(r'"kind":\s*"(positions_moved|source_in_use)"', refused) and f"group {orders}: " in refused
    assert "Consumers may start" not in refused
