# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of brokers, and their log folders. Pure text but for format_storage()."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import sandbox_java
from sandbox_java import SandboxError
from sandbox_processes import cause

Settings = dict[str, str]


class Ports(t.NamedTuple):
    """The ports of one node. Those that a cluster of its kind does not have are 0."""

    plaintext: int
    controller: int
    sasl_ssl: int = 0
    ssl: int = 0


# What a test waits for (rebalances, retention, compaction) happens within seconds, and a broker stays small.
QUICK: Settings = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.retention.check.interval.ms": "2000",
    "log.initial.task.delay.ms": "1000",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.min.isr": "1",
}

SECURE: Settings = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Whoever comes without a name comes by the plaintext listener: tests and the brokers themselves.
    "super.users": "User:ANONYMOUS;User:admin",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256,PLAIN,OAUTHBEARER",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    # With the listener's prefix: the plain ssl.client.auth is ignored on SASL_SSL.
    "listener.name.sasl_ssl.ssl.client.auth": "required",
    "listener.name.ssl.ssl.client.auth": "required",
}
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
# Takes tokens that nobody has signed, and what they say of their holder and their end.
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def kraft(folder: Path, node: int, nodes: list[Ports]) -> Settings:
    """One node that is broker and controller."""
    ports = nodes[node - 1]
    listeners = {"PLAINTEXT": ports.plaintext, "SASL_SSL": ports.sasl_ssl, "SSL": ports.ssl}
    listeners = {name: port for name, port in listeners.items() if port}
    advertised = ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())
    protocols = ["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in listeners)]
    return _broker(len(nodes)) | {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{each.controller}" for n, each in enumerate(nodes, 1)),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(log_folder(folder, node)),
        "listeners": f"{advertised},CONTROLLER://127.0.0.1:{ports.controller}",
        "advertised.listeners": advertised,
        "listener.security.protocol.map": ",".join(protocols),
    }


def security(certificates: dict[str, str], users: dict[str, str]) -> Settings:
    """What a secured node has besides. The same users with the same passwords exist for every mechanism."""
    plain_users = "".join(f' user_{name}="{password}"' for name, password in users.items())
    return SECURE | {
        "ssl.keystore.location": certificates["broker"],
        "ssl.truststore.location": certificates["ca"],
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": SCRAM,
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": SCRAM,
        "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": OAUTH,
        # A session ends with its token, as at services; without this it would go on.
        "listener.name.sasl_ssl.oauthbearer.connections.max.reauth.ms": "3600000",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{PLAIN}{plain_users};",
    }


def with_zookeeper(folder: Path, node: int, nodes: list[Ports]) -> Settings:
    """One broker of a cluster that keeps its state in ZooKeeper, which listens on the first node's controller port."""
    return _broker(len(nodes)) | {
        "broker.id": str(node),
        "delete.topic.enable": "true",  # the default since 1.0
        "zookeeper.connect": f"127.0.0.1:{nodes[0].controller}",
        "log.dirs": str(log_folder(folder, node)),
        "listeners": f"PLAINTEXT://127.0.0.1:{nodes[node - 1].plaintext}",
    }


def zookeeper(folder: Path, nodes: list[Ports]) -> Settings:
    """The one ZooKeeper server of a cluster."""
    return {
        "dataDir": str(folder / "zookeeper"),
        "clientPort": str(nodes[0].controller),
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
    }


def log_folder(folder: Path, node: int) -> Path:
    """Where a node keeps its records."""
    return folder / f"data-{node}"


def zookeeper_port(configuration: Path) -> int:
    """The port in a file that write() made of zookeeper()."""
    return int(_read(configuration)["clientPort"])


def stored_cluster_id(folder: Path) -> str | None:
    """The id that the first broker has in its log folder, "" if it stores none; None before it has written anything."""
    file = log_folder(folder, 1) / "meta.properties"
    return _read(file).get("cluster.id", "") if file.exists() else None


def _read(file: Path) -> Settings:
    return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)


def write(file: Path, settings: Settings) -> None:
    """Write a properties file."""
    write_private(file, "".join(f"{key}={value}\n" for key, value in settings.items()))


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, for it may hold passwords."""
    with open(file, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write(text)


def format_storage(
    configuration: Path, version: str, nodes: int, users: dict[str, str], learn_into: Path | None = None
) -> None:
    """Give every node of a KRaft cluster its first log folder, with the users' SCRAM credentials in it.

    configuration is that of the first node. Raises SandboxError with what Kafka's tool says.
    """
    folder, cluster_id = configuration.parent, _new_id()
    words = ["format", "-t", cluster_id, "-c", str(configuration)]
    for mechanism in ("SCRAM-SHA-512", "SCRAM-SHA-256"):
        for name, password in users.items():
            words += ["--add-scram", f"{mechanism}=[name={name},password={password}]"]
    # The tool reads its words from a file, so that no password shows in the list of processes.
    arguments = folder / "format.arguments"
    write_private(arguments, "".join(f"{word}\n" for word in words))
    tool = "kafka.tools.StorageTool"
    command = sandbox_java.command(version, tool, f"@{arguments}", memory="128m", learn_into=learn_into)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    arguments.unlink()
    if done.returncode:
        raise SandboxError(f"Kafka {version} could not format the storage: {cause(done.stdout)}")
    for node in range(2, nodes + 1):  # copying takes less time than formatting
        copy = log_folder(folder, node)
        shutil.copytree(log_folder(folder, 1), copy)
        own = {"version": "1", "cluster.id": cluster_id, "node.id": str(node), "directory.id": _new_id()}
        write(copy / "meta.properties", own)


def _broker(nodes: int) -> Settings:
    replicas = str(min(nodes, 3))
    topics = ("default", "offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    return QUICK | {f"{topic}.replication.factor": replicas for topic in topics}


def _new_id() -> str:
    """An id as Kafka makes them: 16 bytes in URL-safe base 64. It must not start with a dash."""
    return base64.urlsafe_b64encode(b"\0" + os.urandom(15))[:22].decode()
