"""Strategy reset on real brokers: planned, reviewed, committed and rolled back; the offsets are the stock tool's."""

import csv
import datetime
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.background import Got, consumer
from testbed.clients import (
    Message,
    commit,
    committed,
    create_topic,
    delete_records,
    list_groups,
    log_bounds,
    produce,
    produce_in_transactions,
    until,
)
from tests.support.consumers import member, open_transaction
from tests.support.killing import dies_in
from tests.support.logs import compacted_log, topics_in_two_formats
from tests.support.modules import Migration, refuses
from tests.support.numbered import numbered_topic
from tests.support.playbooks import QUICK, Controller, done, failed
from tests.support.stock_tool import consumer_groups

HOUR = 3_600_000  # milliseconds


class Reset(Migration):
    """A reset inside one cluster, whose files are those of a migration."""

    def plan_resets(self, *rules, groups, **options):
        its = {"source": None, "snapshot": None, "strategy": "reset", "groups": groups, "resets": list(rules)}
        return self.translate(**its | options)


class ResetController(Controller):
    """A user who resets groups."""

    def reset_groups(self, *words, playbook="reset_groups", **variables):
        """Play reset_groups, or rollback, on the cluster onprem; variables are the role's, without its prefix."""
        its = {"cluster": "onprem", **QUICK, **variables}
        return self._play(playbook, "group_reset", its, words, clusters=())


@pytest.fixture
def orders(source, topic):
    """A topic of two partitions with ten records in each."""
    return numbered_topic(source, topic, 10)


def test_a_reset_is_planned_committed_and_rolled_back(source, orders, tmp_path):
    before = {(orders, 0): (4, "by hand"), (orders, 1): (10, "")}
    commit(source, orders, before)
    reset = Reset(tmp_path / "reset", source, source)
    planned = reset.carefully(orders, lambda **how: reset.plan_resets({"to": "earliest"}, groups=[orders], **how))
    assert [(row["offset"], row["verdict"], row["repeats"], row["detail"]) for row in planned["entries"]] == [
        (0, "requested", 4, "earliest; 4 offsets are repeated"),
        (0, "requested", 10, "earliest; 10 offsets are repeated"),
    ]
    assert committed(source, orders) == before
    reset.carefully(orders, lambda **how: reset.commit(on_rewind="rewind", **how))
    assert committed(source, orders) == {(orders, 0): (0, ""), (orders, 1): (0, "")}
    assert reset.plan_resets({"to": "earliest"}, groups=[orders])["changed"] is False
    reset.roll_back(on_advance="advance")
    assert committed(source, orders) == before


@pytest.fixture
def logs(source, topic):
    """A log that begins at 4 with a record an hour, a compacted one, and one of transactions, of which one is open."""
    names = [f"{topic}-plain", f"{topic}-compacted", f"{topic}-transactional"]
    now = int(time.time() * 1000)
    create_topic(source, names[0], retention_ms=-1)
    produce(source, names[0], [Message(b"%d" % hour, timestamp=now - (20 - hour) * HOUR) for hour in range(20)])
    delete_records(source, names[0], {0: 4})
    compacted_log(source, names[1])
    create_topic(source, names[2], retention_ms=-1)
    for hour, is_committed in ((15, True), (10, False), (5, True)):
        written = [Message(b"%d" % number, timestamp=now - hour * HOUR + number) for number in range(6)]
        produce_in_transactions(source, names[2], [(written, is_committed)])
    with open_transaction(source, names[2], [Message(b"open", timestamp=now - HOUR)] * 3):
        yield names


def at(hours):
    """A time so many hours ago, as the stock tool and the collection read it, in a zone of its own."""
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    moment = datetime.datetime.now(zone) - datetime.timedelta(hours=hours)
    return moment.isoformat(timespec="milliseconds")


SPECIFICATIONS = {
    "earliest": (["--to-earliest"], {"to": "earliest"}, []),
    "latest": (["--to-latest"], {"to": "latest"}, []),
    "current": (["--to-current"], {"to": "current"}, []),
    "shift back": (["--shift-by", "-2"], {"to": "shift", "value": -2}, []),
    "shift forward": (["--shift-by", "3"], {"to": "shift", "value": 3}, []),
    "offset": (["--to-offset", "11"], {"to": "offset", "value": 11}, []),
    "duration": (["--by-duration", "PT4H30M"], {"to": "duration", "value": "PT4H30M"}, ["compacted"]),
    "datetime": (["--to-datetime", at(12)], {"to": "datetime", "value": at(12)}, ["compacted"]),
    # What the tool moves into the log, we refuse unless on_out_of_range says clamp; and a time before a first record that may
    # not have been the first one.
    "shift before the start": (["--shift-by", "-9"], {"to": "shift", "value": -9}, ["plain", "transactional"]),
    "shift after the end": (["--shift-by", "5000"], {"to": "shift", "value": 5000}, ["plain", "compacted", "transactional"]),
    "offset before the start": (["--to-offset", "2"], {"to": "offset", "value": 2}, ["plain"]),
    "time before the first record": (
        ["--by-duration", "P1D"], {"to": "duration", "value": "P1D"}, ["plain", "compacted"]
    ),
}  # fmt: skip


def test_every_specification_gives_the_offsets_of_the_stock_tool(source, logs, topic, tmp_path):
    commit(source, topic, {(logs[0], 0): 8, (logs[1], 0): 150, (logs[2], 0): 7})
    reset = Reset(tmp_path / "reset", source, source)
    asked = ["--group", topic, "--all-topics", "--reset-offsets", "--dry-run", "--export"]
    with ThreadPoolExecutor(2) as pool:  # most of a run is Java's start
        answers = list(pool.map(lambda its: consumer_groups(source, *asked, *its[0]), SPECIFICATIONS.values()))
    wrong = {}
    for (name, (_words, rule, refused)), said in zip(SPECIFICATIONS.items(), answers, strict=True):
        tool = {row[0]: int(row[2]) for row in csv.reader(said.splitlines()) if len(row) == 3}
        clamped = reset.plan_resets(rule, groups=[topic], on_out_of_range="clamp")["entries"]
        strict = reset.plan_resets(rule, groups=[topic])["entries"]
        ours = {row["topic"]: row["offset"] for row in clamped}
        blocked = [row["topic"].rsplit("-", 1)[1] for row in strict if row["reason"] == "out_of_range"]
        same = {
            row["topic"]: row["offset"] for row in strict if row["reason"] != "out_of_range"
        }.items() <= tool.items()
        if ours != tool or sorted(blocked) != sorted(refused) or not same:
            wrong[name] = (tool, [(row["topic"], row["offset"], row["detail"]) for row in clamped], blocked)
    assert not wrong


def test_where_nothing_or_what_has_expired_is_committed_we_refuse_what_the_tool_does(source, logs, topic, tmp_path):
    commit(source, topic, {(logs[0], 0): 2})
    words = ["--group", topic, "--topic", logs[0], "--topic", logs[2], "--reset-offsets", "--dry-run", "--export"]
    in_an_hour = at(-1)
    current, future = (consumer_groups(source, *words, *to) for to in (["--to-current"], ["--to-datetime", in_an_hour]))
    found = [
        {row[0]: int(row[2]) for row in csv.reader(said.splitlines()) if len(row) == 3} for said in (current, future)
    ]
    ends = {name: max(end for _start, end in log_bounds(source, name).values()) for name in (logs[0], logs[2])}
    assert found == [{**ends, logs[0]: 2}, ends]
    reset = Reset(tmp_path / "reset", source, source)
    selected = {"groups": [topic], "topics": [logs[0], logs[2]]}
    planned = reset.plan_resets({"to": "current"}, **selected)["entries"]
    assert [(row["reason"], row["verdict"]) for row in planned] == [("out_of_range", "blocked"), (None, "uncommitted")]
    message = reset.plan_resets({"to": "datetime", "value": in_an_hour}, via=refuses, **selected)
    assert "resets, entry 1: " in message and "is in the future" in message


def test_a_reset_to_a_time_blocks_it_alone_and_a_reset_to_an_offset_does_not(old, topic, tmp_path):
    formats = topics_in_two_formats(old, topic)
    reset = Reset(tmp_path / "reset", old, old)
    planned = reset.plan_resets({"to": "duration", "value": "PT1H"}, groups=[topic])["entries"]
    assert [(row["topic"], row["reason"]) for row in planned] == [
        (formats[0], "no_timestamps"),
        (formats[1], None),
    ]
    assert planned[1]["offset"] == 0
    assert "set it to earliest, latest, an offset, or by shift" in planned[0]["detail"]
    planned = reset.plan_resets({"to": "shift", "value": "-1"}, groups=[topic])["entries"]
    assert [row["offset"] for row in planned] == [3, 3]


@pytest.mark.parametrize("version", ["kafka11", "kafka011"])
def test_a_group_is_reset_to_a_time_in_an_old_cluster(request, version, topic, tmp_path):
    old_source = request.getfixturevalue(version)
    create_topic(old_source, topic)
    now = time.time()
    messages = [Message(b"%d" % n, timestamp=int(1000 * (now - 600 + 30 * n))) for n in range(20)]  # one each 30 s
    produce(old_source, topic, messages)
    commit(old_source, topic, {(topic, 0): 5})
    reset = Reset(tmp_path / "reset", old_source, old_source)
    moment = datetime.datetime.fromtimestamp(now - 600 + 30 * 12 - 1, datetime.UTC).isoformat()
    to = {"to": "datetime", "value": moment}
    reset.plan_resets(to, groups=[topic])
    reset.commit()
    assert committed(old_source, topic) == {(topic, 0): (12, "")}
    reset.roll_back(on_rewind="rewind")
    assert committed(old_source, topic) == {(topic, 0): (5, "")}


def test_the_playbook_resets_twice_and_takes_it_back(source, orders, tmp_path):
    before = {(orders, 0): (4, "by hand"), (orders, 1): (10, "")}
    commit(source, orders, before)
    controller = ResetController(tmp_path / "infrastructure", onprem=source)
    asked = {"groups": [orders], "resets": [{"topics": [orders], "to": "shift", "value": -3}]}
    predicted = done(controller.reset_groups("--check", "--diff", **asked))
    assert "Dry run: nothing of this has been written." in predicted.output
    took = r'"It took: plan [0-9]+[.][0-9] s, commit [0-9]+[.][0-9] s[.]",\s+'
    assert re.search(
        took + '"Next: look at the offsets, and run the same command without --check[.]"', predicted.output
    )
    assert f"{orders} {orders}-0: 4 -> 1, requested: shift -3; 3 offsets are repeated" in predicted.output
    assert committed(source, orders) == before and controller.files() == {}
    planned = done(controller.reset_groups(phase="plan", write_report=True, **asked))
    took = r'"It took: plan [0-9]+[.][0-9] s[.]",\s+'
    assert planned.changed
    again = '"Next: .* -e group_reset_phase=apply -e group_reset_plan_digest=[0-9a-f]{64}[.] If groups have moved'
    assert re.search(took + again, planned.output)
    page = (controller.directory / "kafka-resets/onprem/report.md").read_text()
    assert "lag" in page, page
    page = controller.directory / "kafka-resets/onprem/report.html"
    assert f"Report: {page}" in planned.output
    assert "Planned: 2 of 2 group-partitions of 1 group can be committed, 0 blocked." in page.read_text()
    assert committed(source, orders) == before
    refused = failed(controller.reset_groups("--check", phase="apply", **asked | {"groups": ["nobody"]}))
    assert "not selected" in refused and "nobody" not in list_groups(source)
    applied = done(controller.reset_groups(phase="apply", write_report=True, **asked))
    assert "start the consumers. To roll back, stop them, and run the same command with" in applied.output
    assert "Read when the plan was made, and not by this run: group_reset_resets. To use another" in applied.output
    assert "Committed: 2 of 2 group-partitions of 1 group, 0 blocked." in page.read_text()
    after = {(orders, 0): (1, ""), (orders, 1): (7, "")}
    assert committed(source, orders) == after
    assert done(controller.reset_groups(**asked)).changed == 0
    idle = done(controller.reset_groups("--check", **asked))
    assert "without --check" not in idle.output and "Next: start the consumers, because nothing is left" in idle.output
    assert committed(source, orders) == after
    back = done(controller.reset_groups(playbook="rollback", write_report=True, **asked))
    assert "Next: start the consumers." in back.output
    assert "Rolled back: 2 of 2 group-partitions of 1 group." in page.read_text()
    assert committed(source, orders) == before
    assert done(controller.reset_groups(phase="rollback", **asked)).changed == 0
    assert controller.phases() == ["plan", "apply", "rollback"]
    assert all((folder / "report.html").exists() for folder in controller.history())


def test_consumers_get_the_records_from_where_a_known_and_a_new_group_were_reset_to(source, orders, tmp_path):
    clicks, audit = f"{orders}-clicks", f"{orders}-audit"
    numbered_topic(source, clicks, 10)
    before = {(orders, 0): (6, "día 3"), (orders, 1): (8, ""), (clicks, 0): (1, ""), (clicks, 1): (0, "")}
    commit(source, orders, before)
    controller = ResetController(tmp_path / "infrastructure", onprem=source)
    resets = [
        {"topics": [".*-clicks"], "to": "latest"},
        {"partitions": [0], "to": "earliest"},
        {"to": "offset", "value": 4},
    ]
    asked = {"groups": [orders, audit], "topics": [orders, clicks]}
    done(controller.reset_groups(resets=resets, **asked))
    starts = {(orders, 0): 0, (orders, 1): 4, (clicks, 0): 10, (clicks, 1): 10}
    for group in (orders, audit):
        assert committed(source, group) == {where: (offset, "") for where, offset in starts.items()}
        got: list[Got] = []
        with consumer(source, group, [orders, clicks], got) as running:
            until(lambda got=got: len(got) >= 16)
            time.sleep(1)  # for what it should not get
            running.end()
        wanted = [(*where, offset) for where, start in starts.items() for offset in range(start, 10)]
        assert sorted((record.topic, record.partition, record.offset) for record in got) == sorted(wanted)
    # What has consumed goes back only where that is asked for.
    refused = failed(controller.reset_groups(phase="rollback", on_rewind="fail", **asked))
    assert "Set group_reset_on_rewind to rewind" in refused
    done(controller.reset_groups(phase="rollback", **asked))
    assert committed(source, orders) == before and committed(source, audit) == {}


def test_a_new_plan_completes_the_renewal_of_a_reset_that_was_killed(source, orders, tmp_path):
    with member(source, orders, [orders]):
        pass  # it has committed everything, and is empty from now on
    before = {(orders, 0): (4, "by hand"), (orders, 1): (10, "")}
    commit(source, orders, before)
    reset = Reset(tmp_path / "reset", source, source)
    asked = {"groups": [], "group_patterns": [orders]}
    reset.plan_resets({"to": "shift", "value": -3}, **asked)
    warned = reset.commit(check=True, on_rewind="rewind")
    assert warned["note_kinds"][-1] == "offsets_expire" and "offsets.retention.minutes (10080)" in warned["notes"][-1]
    files = {"plan": str(reset.plan_file), "receipt": str(reset.receipt_file)}
    room = "ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.writing"
    dies_in(
        f"{room}.write_commits", "kafka_offset_commit",
        cluster=reset.destination, idle_wait=0, on_rewind="rewind", on_expiring="renew", **files,
    )  # fmt: skip
    assert committed(source, orders) == {}
    again = reset.plan_resets({"to": "shift", "value": -3}, **asked)
    assert (again["changed"], again["warnings"]) == (False, [])
    reset.carefully(orders, lambda **how: reset.commit(on_rewind="rewind", on_expiring="renew", **how))
    assert committed(source, orders) == {(orders, 0): (1, ""), (orders, 1): (7, "")}
    reset.roll_back(on_advance="advance")
    assert committed(source, orders) == before
