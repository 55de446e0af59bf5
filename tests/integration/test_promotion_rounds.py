"""The role promotes again and again, so that new topics and changes follow while a replication tool runs."""

import concurrent.futures
import time

from testbed.clients import change_topic, create_topic, until
from tests.support.playbooks import done


def without_lease(controller):
    return {name: text for name, text in controller.files().items() if not name.endswith("lease.json")}


def test_new_topics_and_changes_follow_and_a_round_without_news_writes_nothing(source, controller, promotion, topic):
    first, later = f"{topic}-first", f"{topic}-later"
    create_topic(source, first, 1, retention_ms=5000)
    selected = {"topic_patterns": [f"{topic}-.*"]}
    began = time.monotonic()
    done(controller.promote_topics("--check", interval=1, run_for=600, **selected))
    enough = int(3 * (time.monotonic() - began)) + 5  # for several rounds, however busy this machine is
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        playing = pool.submit(controller.promote_topics, interval=1, run_for=enough, **selected)
        until(lambda: promotion.partitions(first, later) == {first: 1})
        create_topic(source, later, 2)
        until(lambda: promotion.partitions(first, later) == {first: 1, later: 2})
        change_topic(source, first, retention_ms=6000)
        until(lambda: promotion.own(first) == {"retention.ms": "6000"})
        files = without_lease(controller)
        played = done(playing.result())
    assert without_lease(controller) == files
    assert "Nothing to change." in played.output
    # Each round with news has kept its files, and no other.
    assert controller.phases() == ["promote_round"] * 3
    assert done(controller.promote_topics(**selected)).changed == 0
    assert done(controller.promote_topics(phase="rollback", remove_created=True)).changed
    assert controller.phases() == ["promote_round"] * 3 + ["rollback"]
    assert {file.name for folder in controller.history() for file in folder.iterdir()} == {
        "topics.json",
        "topics-receipt.json",
        "run.json",
        "SHA256SUMS",
    }


def test_a_plan_says_that_it_has_changed_nothing(source, controller, promotion, topic):
    create_topic(source, topic)
    planned = done(controller.promote_topics(phase="plan", topics=[topic])).output
    assert f"{topic}: created with 1 partition" in planned
    assert "To make exactly these, run the same command with -e topic_promotion_phase=apply." in planned
    assert promotion.partitions(topic) == {}
    other = done(controller.promote_topics("--check", phase="apply", topics=[topic], acls="mirror")).output
    assert "not by this run: topic_promotion_acls. To use another" in other and "topics does not limit this" in other
    applied = done(controller.promote_topics(phase="apply")).output
    assert (
        "not by this run" not in applied
        and "To make exactly these" not in applied
        and "To roll back, run the same command with -e topic_promotion_phase=rollback." in applied
        and promotion.partitions(topic) == {topic: 1}
    )
