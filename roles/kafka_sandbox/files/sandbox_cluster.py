# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wanted of a sandbox, what it then is, and the file that tells it: <work>/<name>/cluster.json."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import typing as t
from pathlib import Path

from sandbox_java import DEFAULT_VERSION, VERSIONS, SandboxError
from sandbox_processes import Process, alive
from sandbox_settings import write_private

STATE = "cluster.json"
_TRUE = ("true", "yes", "on", "y", "t", "1")  # as Ansible reads them


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A cluster as it is asked for. Raises SandboxError when it cannot be meant. kafka_sandbox.start() explains it."""

    name: str
    version: str = DEFAULT_VERSION
    nodes: int = 1
    secured: bool = False
    ports: t.Sequence[int] = ()
    settings: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    users: t.Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    memory: str = "512m"

    def __post_init__(self) -> None:
        # Texts, as properties files and cluster.json have them; YAML reads some of them as numbers.
        object.__setattr__(self, "name", str(self.name))
        for each in ("settings", "users"):
            given = getattr(self, each) or {}
            texts = {str(key): "" if value is None else str(value) for key, value in given.items()}
            object.__setattr__(self, each, texts)
        # An argument spec of a role accepts texts in place of these, and leaves them as they are.
        object.__setattr__(self, "secured", str(self.secured).lower() in _TRUE)
        object.__setattr__(self, "nodes", {"1": 1, "3": 3}.get(str(self.nodes), self.nodes))
        for wrong in self._mistakes():
            raise SandboxError(f"{self.name}: {wrong}")

    def _mistakes(self) -> t.Iterator[str]:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            yield "the name of a cluster holds letters, digits, dashes and underscores only"
        if self.version not in VERSIONS:
            yield f"Kafka {self.version} is not supported. Choose one of {', '.join(VERSIONS)}"
        if self.nodes not in (1, 3):
            yield f"a cluster has one node or three, not {self.nodes}"
        if self.secured and self.has_zookeeper:
            yield f"a secured cluster needs Kafka 3.9.1 or newer, not {self.version}"
        if self.ports and len(self.ports) != self.nodes:
            yield f"give one port for each of the nodes: {self.nodes}, not {len(self.ports)}"
        if self.users and not self.secured:
            yield "only a secured cluster has users"
        if not all(re.fullmatch(r"\w+", user) for user in self.users):
            yield "the name of a user holds letters, digits and underscores only"
        if not all(re.fullmatch(r"[\w.~-]+", password) for password in self.users.values()):
            yield "the password of a user is not empty, and holds letters, digits and . _ ~ - only"

    @property
    def has_zookeeper(self) -> bool:
        """Whether the brokers keep their state in ZooKeeper."""
        return not self.version.startswith(("3.", "4."))

    def differing(self, cluster: Cluster) -> list[str]:
        """The arguments that an existing cluster was not made with."""
        other = [
            key for key in ("version", "nodes", "secured", "settings") if getattr(self, key) != getattr(cluster, key)
        ]
        if self.ports and [f"127.0.0.1:{port}" for port in self.ports] != cluster.bootstrap_servers:
            other.append("ports")
        if not self.users.items() <= cluster.users.items():
            other.append("users")
        return other


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cluster:
    """One sandbox. Addresses are host:port, in the order of the nodes.

    pids are those of the programs: broker-1, broker-2, ..., and zookeeper where there is one. A secured cluster has
    sasl_ssl and ssl addresses, users with their passwords, paths (sandbox_certificates.make_certificates tells
    which), ssl_key_password for the encrypted key, and ssl_principal: whom the client certificate stands for.
    changed tells whether the start that answers had anything to do; it is not kept.
    """

    name: str
    version: str
    nodes: int
    secured: bool
    settings: t.Mapping[str, str]
    folder: str
    bootstrap_servers: list[str]
    sasl_ssl_bootstrap_servers: list[str]
    ssl_bootstrap_servers: list[str]
    ssl_principal: str
    ssl_key_password: str = dataclasses.field(repr=False)
    paths: dict[str, str]
    users: dict[str, str] = dataclasses.field(repr=False)
    cluster_id: str = ""  # empty until it has come up
    pids: dict[str, int] = dataclasses.field(default_factory=dict)
    changed: bool = dataclasses.field(default=False, compare=False)

    def process(self, program: str) -> Process:
        """A program is known by its pid and by its configuration, which its command line names."""
        return Process(self.pids.get(program, 0), str(self.configuration(program)))

    def configuration(self, program: str) -> Path:
        """Where the settings of a program are."""
        return Path(self.folder) / f"{program}.properties"

    def log(self, program: str) -> Path:
        """What a program says."""
        return Path(self.folder) / f"{program}.log"

    def processes(self) -> list[Process]:
        """Everything that was started, brokers first."""
        return [self.process(program) for program in sorted(self.pids)]

    @property
    def running(self) -> bool:
        """Whether it has come up and nothing of it has died since."""
        return bool(self.cluster_id) and all(map(alive, self.processes()))

    def shown(self) -> dict[str, t.Any]:
        """What may be printed: all but the passwords."""
        public = dataclasses.asdict(self) | {"users": sorted(self.users)}
        del public["ssl_key_password"], public["changed"]
        return public

    def save(self) -> None:
        """Write the file, so that whatever runs can be found and stopped."""
        fields = dataclasses.asdict(self)
        del fields["changed"]
        scratch = Path(self.folder) / f".{STATE}"
        write_private(scratch, json.dumps(fields, indent=2) + "\n")
        os.replace(scratch, Path(self.folder) / STATE)


def read_cluster(folder: Path) -> Cluster | None:
    """The cluster of a folder; None where there is none, or a start was killed. Raises SandboxError for another release's."""
    try:
        return Cluster(**json.loads((folder / STATE).read_text()))
    except (FileNotFoundError, ValueError):
        return None
    except TypeError as exc:
        raise SandboxError(f"{folder} is of another release of the collection. Stop this cluster first") from exc
