# SPDX-License-Identifier: GPL-3.0-or-later

"""The tools of the tests do what they say, or every test that leans on them proves nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from testbed.clients import (
    Message,
    change_topic,
    committed,
    consume,
    create_topic,
    delete_groups,
    delete_records,
    list_groups,
    log_bounds,
    produce,
    produce_in_transactions,
    read,
)
from testbed.sandbox import alive, describe, start
from tests.support import sharing
from tests.support.loaded_python import loaded_python
from tests.support.playbooks import Controller, ProgramController
from tests.support.replication_tool import copy


def test_a_copy_keeps_everything_but_the_offsets(source, destination, topic):
    for cluster in (source, destination):
        create_topic(cluster, topic, partitions=2, retention_ms=-1)
    messages = [
        Message(b"value", b"key", (("a", b"1"), ("a", None)), 1_700_000_000_000, 1),
        Message(b"", b"", (), 1_600_000_000_000, 1),
        Message(None, None, (), 1_650_000_000_000, 0),
    ]
    assert produce(source, topic, messages, compression_type="lz4") == [0, 1, 0]
    copies = copy(source, destination, topic, junk=3)
    assert copies == {(0, 0): [3], (1, 0): [3], (1, 1): [4]}
    written = [(record.partition, *record[2:]) for record in read(source, topic)]
    assert [(record.partition, *record[2:]) for record in read(destination, topic) if record.offset >= 3] == written


def test_a_replication_tool_filters_lags_and_repeats(source, destination, topic):
    for cluster in (source, destination):
        create_topic(cluster, topic)
    produce(source, topic, [Message(b"%d" % number) for number in range(10)])
    copies = copy(source, destination, topic, keep=lambda record: record.offset != 2, lag=3, again=2)
    assert copies == {(0, 0): [0], (0, 1): [1], (0, 3): [2], (0, 4): [3], (0, 5): [4, 6], (0, 6): [5, 7]}
    assert [record.value for record in read(destination, topic)] == [b"0", b"1", b"3", b"4", b"5", b"6", b"5", b"6"]


def test_aborted_records_are_there_and_not_visible(source, topic):
    create_topic(source, topic)
    one, two, three = Message(b"1"), Message(b"2"), Message(b"3")
    offsets = produce_in_transactions(source, topic, [([one, two], True), ([three], False), ([three], True)])
    assert offsets == [[0, 1], [3], [5]]
    assert [record.offset for record in read(source, topic)] == [0, 1, 5]
    assert [record.offset for record in read(source, topic, committed=False)] == [0, 1, 3, 5]


def test_a_group_consumes_and_commits(source, topic):
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"", partition=number % 2) for number in range(100)])
    assert consume(source, topic, [topic], 30) == 30
    assert sum(offset for offset, _unused in committed(source, topic).values()) == 30
    assert consume(source, topic, [topic], 1000) == 70
    assert {offset for offset, _unused in committed(source, topic).values()} == {50}
    assert topic in list_groups(source)
    delete_groups(source, [topic])
    assert topic not in list_groups(source)
    assert committed(source, topic) == {}


def test_the_head_of_a_log_goes(source, topic):
    create_topic(source, topic)
    produce(source, topic, [Message(b"") for _unused in range(5)])
    delete_records(source, topic, {0: 3})
    assert log_bounds(source, topic) == {0: (3, 5)}
    change_topic(source, topic, retention_ms=-1)
    assert [record.offset for record in read(source, topic)] == [3, 4]
    assert [record.offset for record in read(source, topic, start={0: 4})] == [4]


def test_clusters_of_a_killed_test_run_are_stopped(tmp_path):
    user = subprocess.Popen(["sleep", "60"])
    (tmp_path / "sandbox-users").mkdir()
    (tmp_path / "sandbox-users" / str(user.pid)).touch()
    guard = subprocess.Popen([sys.executable, sharing.__file__, str(tmp_path), str(user.pid)])
    cluster = start("left", tmp_path / "deep/below")
    other = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", tmp_path / "mirror-maker.properties"]
    )
    assert guard.poll() is None
    user.kill()
    user.wait()
    assert guard.wait(timeout=30) == 0
    assert other.wait(timeout=0) == -signal.SIGKILL
    assert not any(map(alive, cluster.processes()))
    assert describe("left", tmp_path / "deep/below") is None


def test_a_module_says_the_same_by_an_interpreter_that_has_it_loaded(source, topic, tmp_path):
    create_topic(source, topic)
    produce(source, topic, [Message(b"")] * 3)
    consume(source, topic, [topic], 2)
    said = []
    for kind in (Controller, ProgramController):
        controller = kind(tmp_path, onprem=source)
        run = controller.run("streamshift.kafka.list_groups", "-e", json.dumps({"list_groups_groups": [topic]}))
        said.append((run.code, run.output))
    assert said[0][0] == 0 and topic in said[0][1]
    assert said[0][1].splitlines() == said[1][1].splitlines()


def test_a_module_ends_with_the_interpreter_that_ansible_has_called(tmp_path):
    began, script = tmp_path / "began", tmp_path / "AnsiballZ_sleep.py"
    script.write_text(f"import os, sys, time\nopen({str(began)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    client = subprocess.Popen([loaded_python(), str(script)])
    while not (began.exists() and began.read_text()):
        time.sleep(0.05)
    client.kill()
    client.wait()
    end = time.monotonic() + 10
    while Path(f"/proc/{began.read_text()}").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    script.write_text("import sys\nprint('said')\nsys.exit(3)\n")
    done = subprocess.run([loaded_python(), str(script)], stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "said\n")
