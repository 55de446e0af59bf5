"""The tools of the tests do what they say, or every test that leans on them proves nothing."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from testbed.clients import Message, consume, create_topic, produce, until
from testbed.sandbox import alive, describe, start
from tests.support import sharing
from tests.support.loaded_python import loaded_python
from tests.support.playbooks import Controller, ProgramController


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
    until(lambda: began.exists() and began.read_text())
    client.kill()
    client.wait()
    until(lambda: not Path(f"/proc/{began.read_text()}").exists(), 10)
    script.write_text("import sys\nprint('said')\nsys.exit(3)\n")
    done = subprocess.run([loaded_python(), str(script)], stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "said\n")
