# SPDX-License-Identifier: GPL-3.0-or-later

"""Bring the programs of a cluster up, and teach the Java machine to do it quickly."""

from __future__ import annotations

import dataclasses
import functools
import secrets
import shutil
import signal
import typing as t
from pathlib import Path

import sandbox_java
import sandbox_processes
import sandbox_settings
from sandbox_certificates import CLIENT_PRINCIPAL, KEY_PASSWORD, make_certificates
from sandbox_cluster import STATE, Cluster, Wanted
from sandbox_java import SandboxError
from sandbox_processes import Process
from sandbox_settings import Ports

Answer = t.TypeVar("Answer")

BROKER = "kafka.Kafka"
KEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
ZOOKEEPER = "zookeeper"  # the program's name among a cluster's pids

START_SECONDS = 60.0
ATTEMPTS = 3  # a port that was free may be taken before the broker opens it
PORT_TAKEN = "Address already in use"
USERS = ("admin", "migrator")


def create(folder: Path, wanted: Wanted) -> Cluster:
    """Start a cluster that does not exist yet. Raises SandboxError; then nothing runs, and its logs are left."""
    learn(wanted.version)
    for _unused in range(1, ATTEMPTS):
        try:
            return launch(_lay_out(folder, wanted), wanted.memory)
        except SandboxError as failed:
            if wanted.ports or PORT_TAKEN not in str(failed):
                raise
    return launch(_lay_out(folder, wanted), wanted.memory)


def launch(cluster: Cluster, memory: str, learn_into: Path | None = None) -> Cluster:
    """Start every program of the cluster that does not run, and wait until all brokers know each other."""
    started: list[Process] = []

    def begin(program: str, main: str, heap: str) -> None:
        nonlocal cluster
        if sandbox_processes.alive(cluster.process(program)):
            return
        configuration = cluster.configuration(program)
        command = sandbox_java.command(cluster.version, main, str(configuration), memory=heap, learn_into=learn_into)
        # What it unpacks goes with the folder, because it may be killed.
        command.insert(1, f"-Djava.io.tmpdir={cluster.folder}")
        process = sandbox_processes.spawn(command, str(configuration), cluster.log(program))
        started.append(process)
        cluster = dataclasses.replace(cluster, pids=cluster.pids | {program: process.pid}, changed=True)
        cluster.save()

    try:
        if cluster.configuration(ZOOKEEPER).exists():
            begin(ZOOKEEPER, KEEPER, "256m")
            port = sandbox_settings.zookeeper_port(cluster.configuration(ZOOKEEPER))
            _wait(cluster, ZOOKEEPER, lambda: sandbox_processes.listens(port) or None)
        for node in range(1, cluster.nodes + 1):
            begin(f"broker-{node}", BROKER, memory)
        for node, address in enumerate(cluster.bootstrap_servers, 1):
            port = int(address.rpartition(":")[2])
            cluster_id = _wait(
                cluster, f"broker-{node}", functools.partial(_joined, Path(cluster.folder), port, cluster.nodes)
            )
    except BaseException:  # also Ctrl-C: no process may stay
        sandbox_processes.end(started)
        raise
    cluster = dataclasses.replace(cluster, cluster_id=cluster_id)
    if cluster.changed:
        cluster.save()
    return cluster


def remove(folder: Path) -> None:
    """Have no such folder. What says that it is a cluster's goes last, because whoever removes it may be killed."""
    if not folder.is_dir():
        return
    for file in folder.iterdir():
        if file.is_dir():
            shutil.rmtree(file, ignore_errors=True)
        elif file.name != STATE:
            file.unlink(missing_ok=True)
    if {file.name for file in folder.iterdir()} <= {STATE}:
        shutil.rmtree(folder, ignore_errors=True)


def learn(version: str) -> None:
    """Have the jars of a version, and class archives: made by one start of a plain cluster, the first time."""
    with sandbox_java.locked(version):
        if sandbox_java.archive(version, BROKER).exists():
            return
        scratch, wanted = sandbox_java.cache_folder() / f"{version}-learning", Wanted("learn", version)
        sandbox_processes.end(sandbox_processes.configured_below(scratch))  # of one that was killed
        try:
            cluster = launch(_lay_out(scratch / wanted.name, wanted, scratch), wanted.memory, scratch)
            # Asked politely: a Java machine writes its archive on its way out.
            sandbox_processes.end(cluster.processes(), signal.SIGTERM)
            sandbox_java.keep_archives(version, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _lay_out(folder: Path, wanted: Wanted, learn_into: Path | None = None) -> Cluster:
    """Write all files of a new cluster into an empty folder."""
    remove(folder)
    folder.mkdir(parents=True)
    (folder / STATE).touch()  # from now on, the folder is the sandbox's
    secured, ports = wanted.secured, _choose_ports(wanted)
    cluster = Cluster(
        name=wanted.name,
        version=wanted.version,
        nodes=wanted.nodes,
        secured=secured,
        settings=wanted.settings,
        folder=str(folder),
        bootstrap_servers=[f"127.0.0.1:{node.plaintext}" for node in ports],
        sasl_ssl_bootstrap_servers=[f"127.0.0.1:{node.sasl_ssl}" for node in ports if secured],
        ssl_bootstrap_servers=[f"127.0.0.1:{node.ssl}" for node in ports if secured],
        ssl_principal=CLIENT_PRINCIPAL if secured else "",
        ssl_key_password=KEY_PASSWORD if secured else "",
        paths=make_certificates(folder / "tls") if secured else {},
        users={name: secrets.token_hex(12) for name in USERS} | dict(wanted.users) if secured else {},
    )
    make = sandbox_settings.with_zookeeper if wanted.has_zookeeper else sandbox_settings.kraft
    more = (sandbox_settings.security(cluster.paths, cluster.users) if secured else {}) | dict(wanted.settings)
    for node in range(1, wanted.nodes + 1):
        sandbox_settings.write(cluster.configuration(f"broker-{node}"), make(folder, node, ports) | more)
    if wanted.has_zookeeper:
        sandbox_settings.write(cluster.configuration(ZOOKEEPER), sandbox_settings.zookeeper(folder, ports))
    else:
        first = cluster.configuration("broker-1")
        sandbox_settings.format_storage(first, wanted.version, wanted.nodes, cluster.users, learn_into)
    return cluster


def _choose_ports(wanted: Wanted) -> list[Ports]:
    each = 4 if wanted.secured else 2
    free = sandbox_processes.free_ports(wanted.nodes * each)
    chosen = [Ports(*free[at : at + each]) for at in range(0, len(free), each)]
    if wanted.ports:
        return [node._replace(plaintext=port) for node, port in zip(chosen, wanted.ports, strict=True)]
    return chosen


def _joined(folder: Path, port: int, nodes: int) -> str | None:
    """The cluster's id as soon as the broker knows that all nodes are there."""
    answer = sandbox_processes.ask_metadata(port)
    # Whoever answers may be a stranger that took the port first: its cluster has another id. Brokers before 2.4 store none.
    ours = answer and sandbox_settings.stored_cluster_id(folder) in (answer.cluster_id, "")
    return answer.cluster_id if answer and ours and answer.brokers == nodes else None


def _wait(cluster: Cluster, program: str, ready: t.Callable[[], Answer | None]) -> Answer:
    what = f"{cluster.name}: {program} of Kafka {cluster.version}"
    return sandbox_processes.wait_for(ready, cluster.process(program), cluster.log(program), what, START_SECONDS)
