"""The plays of docs/waves.md, as they stand there: they stop an application, cut its group over, and start it again.

systemd and Kubernetes are played by programs of a few lines, which understand what the plays ask of them and nothing else.
"""

import collections
import contextlib
import json
import re
import sys
import threading
import time

import pytest
import yaml

from testbed.background import Background, Got, consumer
from testbed.clients import Message, commit, committed, create_topic, produce, until
from testbed.live_tool import LiveTool
from tests.support.consumers import member
from tests.support.playbooks import ROOT, Controller, done, failed

NOW = int(time.time() * 1000) - 86_400_000
SYSTEMCTL = """\
#!/bin/sh
cd {folder}
case "$1 $2" in
    "show billing") echo LoadState=loaded; grep -q 0 running && echo ActiveState=inactive || echo ActiveState=active ;;
    "start billing") echo 1 > wanted ;;
    "stop billing") echo 0 > wanted ;;
    *) exit 1 ;;
esac
while ! cmp -s wanted running; do sleep 0.05; done
"""
K8S_SCALE = """\
import pathlib, time
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule(
    dict(
        api_version=dict(choices=["apps/v1"], required=True),
        kind=dict(choices=["Deployment"], required=True),
        namespace=dict(required=True),
        name=dict(choices=["billing"], required=True),
        replicas=dict(type="int", required=True),
        wait_timeout=dict(type="int", required=True),
    )
)
wanted, running = (pathlib.Path({folder!r}, name) for name in ("wanted", "running"))
wanted.write_text("%d\\n" % module.params["replicas"])
while wanted.read_text() != running.read_text():
    time.sleep(0.05)
module.exit_json(changed=True)
"""
K8S = """\
import pathlib
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule(
    dict(
        api_version=dict(choices=["v1"], required=True),
        kind=dict(choices=["ConfigMap"], required=True),
        namespace=dict(required=True),
        name=dict(choices=["billing-kafka"], required=True),
        state=dict(choices=["patched"], required=True),
        definition=dict(type="dict", required=True),
    )
)
lines = ["%s=%s\\n" % its for its in module.params["definition"]["data"].items()]
pathlib.Path({folder!r}, "kafka.env").write_text("".join(lines))
module.exit_json(changed=True)
"""


class Application:
    """The group called like its topic: runs as long as it is wanted, and reads where its cluster is when it starts."""

    def __init__(self, folder, topic, *clusters):
        self.got: list[Got] = []
        self.topic = topic
        self._clusters = {",".join(each.bootstrap_servers): each for each in clusters}
        self._wanted, self._running, self.environment = (folder / name for name in ("wanted", "running", "kafka.env"))
        self.environment.write_text(f"BOOTSTRAP_SERVERS={next(iter(self._clusters))}\n")
        for file in (self._wanted, self._running):
            file.write_text("0\n")

    def cluster(self):
        return self._clusters[self.environment.read_text().strip().partition("=")[2]]

    def supervise(self, over: threading.Event):
        """Start and stop it, as it is wanted."""
        with contextlib.ExitStack() as process:
            while not over.wait(0.05):
                wanted, running = self._wanted.read_text(), self._running.read_text()
                if wanted and wanted != running:
                    process.close()
                    if int(wanted):
                        process.enter_context(consumer(self.cluster(), self.topic, [self.topic], self.got))
                    self._running.write_text(wanted)

    def start(self):
        self._wanted.write_text("1\n")

    def until(self, count):
        until(lambda: len(self.got) >= count, what=lambda: f"only {len(self.got)} of {count} records came")


@pytest.fixture(params=["systemd", "Kubernetes"])
def playbook(request, tmp_path, monkeypatch):
    """The play with this orchestrator, which looks for the application in the test's folder."""
    page = (ROOT / "docs/waves.md").read_text()
    (play,) = yaml.safe_load(re.search(r"```yaml\n(- name: Move billing\n.*?)```", page, re.DOTALL)[1])
    programs = tmp_path / "programs"
    programs.mkdir()
    if request.param == "systemd":
        (programs / "systemctl").write_text(SYSTEMCTL.format(folder=tmp_path))
        (programs / "systemctl").chmod(0o700)
        monkeypatch.setenv("PATH", str(programs), prepend=":")
    else:
        # Ansible looks for collections beside a playbook, too.
        modules = tmp_path / "collections/ansible_collections/kubernetes/core/plugins/modules"
        modules.mkdir(parents=True)
        for name, text in (("k8s_scale", K8S_SCALE), ("k8s", K8S)):
            (modules / f"{name}.py").write_text(text.format(folder=str(tmp_path)))
        others = yaml.safe_load(re.search(r"With Kubernetes,.*?```yaml\n(.*?)```", page, re.DOTALL)[1])
        by_name = {task["name"]: task for task in others}
        moved = play["tasks"][0]["block"][1:]
        play["tasks"][0]["block"], cut_over = moved, moved[0]
        for tasks in (moved, cut_over["block"], cut_over["rescue"]):
            tasks[:] = [by_name.get(task["name"], task) for task in tasks]
        names = {task["name"] for tasks in (moved, cut_over["block"]) for task in tasks}
        assert names >= by_name.keys(), "the page replaces tasks that the play does not have"
    file = tmp_path / "move.yml"
    file.write_text(yaml.safe_dump([play]))
    return file


def test_an_application_is_moved_or_goes_on_where_it_was(source, destination, topic, playbook, tmp_path):
    for cluster in (source, destination):
        create_topic(cluster, topic, 2, retention_ms=-1)
    commit(source, topic, {(topic, number): 0 for number in range(2)})
    controller = Controller(tmp_path, onprem=source, cloud=destination)
    inventory = json.loads(controller.inventory.read_text())
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory["billing"] = {"hosts": {"app1": local}}
    controller.inventory.write_text(json.dumps(inventory))
    application = Application(tmp_path, topic, source, destination)

    def write(first, count):
        numbers = range(first, first + count)
        produce(source, topic, [Message(b"%d" % n, b"key", (), NOW + 10 * n, n % 2) for n in numbers])

    def move():
        quick = {"groups": [topic], "idle_wait": 0, "write_report": False, "verify": "anchors", "stop_timeout": 5}
        its = {f"group_migration_{name}": value for name, value in quick.items()}
        its["billing_environment"] = str(application.environment)
        return controller.run(str(playbook), "-e", json.dumps(its))

    write(0, 100)
    with Background(application.supervise), LiveTool(source, destination, topic):
        application.start()
        application.until(100)
        # A consumer that nobody has stopped: the cut-over is refused, and the application goes on at the source.
        with member(source, topic, [topic], commits=False):
            assert "groups are in use" in failed(move())
        assert (application.cluster(), committed(destination, topic)) == (source, {})
        write(100, 100)
        application.until(200)
        assert f"Consumers may start at the destination: {topic}" in done(move()).output
        assert application.cluster() is destination
        write(200, 100)
        application.until(300)
    assert collections.Counter(each.value for each in application.got) == {b"%d" % number: 1 for number in range(300)}
