"""A real worker of Kafka Connect with its REST interface, and MirrorMaker 2's connector in it."""

import contextlib
import json
import signal
import typing as t
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from testbed.clients import Servers, until
from testbed.mirror_maker import ALIAS, IDENTITY, TARGET_ALIAS
from testbed.sandbox import alive, end, free_ports, java_command, last_words, spawn

MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
SECONDS = 120.0
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


class Worker:
    """A worker on the given cluster for as long as the with block lasts. Its group and its topics begin with its name."""

    def __init__(self, folder: Path, cluster: Servers, name: str, version: str = "4.3.0") -> None:
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self.group, self.offsets_topic = f"{name}-connect", f"{name}-offsets"
        self._log, self._file, self._version = folder / "connect.log", folder / "connect.properties", version
        (port,) = free_ports(1)  # none that the system may give to a client before the worker has it
        self.url = f"http://127.0.0.1:{port}"
        settings = {
            "bootstrap.servers": ",".join(cluster.bootstrap_servers),
            "group.id": self.group,
            "key.converter": _JSON,
            "value.converter": _JSON,
            "listeners": self.url,
            "offset.flush.interval.ms": 1000,
            "plugin.discovery": "service_load",
            "scheduled.rebalance.max.delay.ms": 0,
            **{f"{kind}.storage.topic": f"{name}-{kind}s" for kind in ("offset", "config")},
            "status.storage.topic": f"{name}-status",
            **{f"{kind}.storage.replication.factor": 1 for kind in ("offset", "config", "status")},
        }
        self._file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))

    def __enter__(self) -> t.Self:
        command = java_command(self._version, MAIN, str(self._file), memory="512m")
        self._process = spawn(command, str(self._file), self._log)
        self._until(lambda: self.ask("GET", "/connectors") == [])
        return self

    def __exit__(self, *_raised: object) -> None:
        end([self._process], signal.SIGTERM, seconds=40)

    def ask(self, method: str, path: str, body: t.Any = None) -> t.Any:
        """What the worker answers; HTTPError for a refusal."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def mirror(self, name: str, source: Servers, target: Servers, topics: str, state: str = "STOPPED") -> None:
        """Create a MirrorSourceConnector that keeps topics' names, in the given state."""
        config = {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "source.cluster.alias": ALIAS,
            "target.cluster.alias": TARGET_ALIAS,
            "source.cluster.bootstrap.servers": ",".join(source.bootstrap_servers),
            "target.cluster.bootstrap.servers": ",".join(target.bootstrap_servers),
            "source.consumer.isolation.level": "read_committed",
            "topics": topics,
            "replication.policy.class": IDENTITY,
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "refresh.topics.interval.seconds": "2",
            "sync.topic.acls.enabled": "false",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
            "header.converter": _BYTES,
        }
        self.ask("POST", "/connectors", {"name": name, "initial_state": state, "config": config})
        self._until(lambda: self.state(name) == state)

    def state(self, name: str) -> str:
        """RUNNING, STOPPED, ..."""
        return str(self.ask("GET", f"/connectors/{urllib.parse.quote(name)}/status")["connector"]["state"])

    def resume(self, name: str) -> None:
        """Let it run."""
        self.ask("PUT", f"/connectors/{urllib.parse.quote(name)}/resume")
        self._until(lambda: self.state(name) == "RUNNING")

    def _until(self, reached: t.Callable[[], bool]) -> None:
        def is_ready() -> bool:
            assert alive(self._process), last_words(self._log)
            with contextlib.suppress(urllib.error.URLError, ConnectionError):  # 404 and 409 pass, too
                return reached()
            return False

        until(is_ready, SECONDS, lambda: f"the worker is not ready: {last_words(self._log)}", 0.3)
