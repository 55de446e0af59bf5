# SPDX-License-Identifier: GPL-3.0-or-later

"""Real Kafka clusters on 127.0.0.1 for tests and demonstrations: started in seconds, stopped without a trace.

    kafka_sandbox.py start NAME --work FOLDER [--version 4.3.0] [--nodes 3] [--secured] [--port N] [--set KEY=VALUE]
    kafka_sandbox.py describe [NAME] --work FOLDER
    kafka_sandbox.py stop [NAME] --work FOLDER
    kafka_sandbox.py apply started|stopped --work FOLDER [--check] < clusters.json

All print JSON. Without a name, describe and stop mean every cluster of the folder, and stop ends whatever else runs with
a configuration from there (MirrorMaker). apply reads a list of objects
that hold the arguments of start() and starts or stops those clusters together; with --check it only tells what it
would do. FOLDER/NAME/cluster.json tells all about a cluster, even its throw-away passwords, which are not printed.

Needs Python >= 3.11 alone, Java >= 17, Maven the first time a version is used, and openssl for secured clusters.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import fcntl
import json
import os
import sys
import typing as t
from pathlib import Path

import sandbox_launch
import sandbox_processes
from sandbox_cluster import STATE, Cluster, Wanted, read_cluster
from sandbox_java import DEFAULT_VERSION, VERSIONS, SandboxError

__all__ = ["Cluster", "SandboxError", "describe", "names", "start", "stop", "stop_all"]

Answer = t.TypeVar("Answer")


def start(
    name: str,
    work: str | Path,
    version: str = DEFAULT_VERSION,
    nodes: int = 1,
    secured: bool = False,
    ports: t.Sequence[int] | None = None,
    settings: t.Mapping[str, t.Any] | None = None,
    users: t.Mapping[str, str] | None = None,
    memory: str = Wanted.memory,
) -> Cluster:
    """Have a cluster run, and return when it answers.

    ports are the plaintext ports of the nodes, chosen if not given. settings are added to the brokers' own.
    A secured cluster has the users admin (may do everything) and migrator (may do nothing until an ACL says so),
    with passwords made up; users are further ones, or other passwords. memory is each broker's largest heap.

    One that runs already is left as it is; a broker of it that has died is started again with its data. Raises
    SandboxError when the cluster does not come up; then nothing of it is left running.
    """
    wanted = Wanted(name, version, nodes, secured, ports or (), settings or {}, users or {}, memory)
    folder = _folder(name, work)
    with _hold(folder):
        known = read_cluster(folder)
        if known is None or not known.cluster_id:
            sandbox_processes.end(sandbox_processes.configured_below(folder))
            return sandbox_launch.create(folder, wanted)
        _refuse_other(wanted, known)
        return sandbox_launch.launch(known, memory)


def stop(name: str, work: str | Path) -> bool:
    """Have no such cluster: its processes, its data and its folder are gone. Returns whether there was one."""
    folder = _folder(name, work)
    if not folder.is_dir():
        return False
    with _hold(folder):
        sandbox_processes.end(sandbox_processes.configured_below(folder))
        sandbox_launch.remove(folder)
        _lock_file(folder).unlink()
    return True


def stop_all(work: str | Path) -> dict[str, bool]:
    """Have no cluster of the folder, nor anything else that runs with a configuration from there, such as MirrorMaker."""
    stopped = {name: stop(name, work) for name in names(work)}
    sandbox_processes.end(sandbox_processes.configured_below(Path(work).expanduser().resolve()))
    return stopped


def describe(name: str, work: str | Path) -> Cluster | None:
    """The cluster, or None when there is none, or not all of it runs."""
    folder = _folder(name, work)
    with contextlib.suppress(SandboxError):  # of another release
        known = read_cluster(folder)
        return known if known and known.running else None
    return None


def names(work: str | Path) -> list[str]:
    """The clusters of a folder, running or not."""
    return sorted(file.parent.name for file in Path(work).expanduser().resolve().glob(f"*/{STATE}"))


def apply(clusters: list[dict[str, t.Any]], state: str, work: str | Path, check: bool) -> dict[str, t.Any]:
    """Start or stop many together; stopping an empty list means all of the folder. With check nothing is done.

    Returns changed, and running: by name, what Cluster.shown() tells of those of the clusters that run.
    """
    if state == "stopped":
        chosen = [each["name"] for each in clusters] or names(work)
        changed = any(_folder(name, work).is_dir() for name in chosen)
        if not check:
            _together(lambda name: stop(name, work), chosen)
        return _told([describe(name, work) for name in chosen], changed)
    if check:
        found = [_foretell(Wanted(**each), work) for each in clusters]
        return _told(found, None in found)
    started = _together(lambda each: start(work=work, **each), clusters)
    return _told(started, any(cluster.changed for cluster in started))


def _told(found: t.Iterable[Cluster | None], changed: bool) -> dict[str, t.Any]:
    return {"changed": changed, "running": {cluster.name: cluster.shown() for cluster in found if cluster}}


def _foretell(wanted: Wanted, work: str | Path) -> Cluster | None:
    """The cluster if it runs. Refuses what start() would refuse."""
    _refuse_other(wanted, read_cluster(_folder(wanted.name, work)))
    return describe(wanted.name, work)


def _refuse_other(wanted: Wanted, known: Cluster | None) -> None:
    if known and known.cluster_id and (other := wanted.differing(known)):
        raise SandboxError(f"{wanted.name} exists already, with other {', '.join(other)}. Stop it first")


def _together(do: t.Callable[[t.Any], Answer], each: t.Sequence[t.Any]) -> list[Answer]:
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(do, each))


def _folder(name: str, work: str | Path) -> Path:
    """Where a cluster is, or will be. Raises SandboxError for what is no cluster, because a start or a stop would remove it."""
    folder = Path(work).expanduser().resolve() / Wanted(name).name
    if folder.is_dir() and any(folder.iterdir()) and not (folder / STATE).exists():
        raise SandboxError(
            f"{folder} has files and no {STATE}, so it is no cluster of the sandbox. "
            "Choose another name or another directory, or remove it"
        )
    return folder


@contextlib.contextmanager
def _hold(folder: Path) -> t.Iterator[None]:
    """Let one at a time start or stop a cluster. The lock ends with the process that holds it."""
    file = _lock_file(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with file.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # stop() removes the file: who has waited for it meanwhile holds a lock that nobody else can see.
            if file.exists() and os.path.samestat(os.fstat(lock.fileno()), file.stat()):
                yield
                return


def _lock_file(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.lock"


def _arguments(words: t.Sequence[str] | None) -> argparse.Namespace:
    summary, _unused, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=summary, epilog=details, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["start", "stop", "describe", "apply"])
    parser.add_argument("name", nargs="?", help="of the cluster; for apply: started or stopped")
    parser.add_argument("--work", required=True, type=Path, help="the folder of the clusters")
    parser.add_argument("--version", default=DEFAULT_VERSION, choices=VERSIONS)
    parser.add_argument("--nodes", default=1, type=int, choices=[1, 3])
    parser.add_argument("--secured", action="store_true", help="with SASL_SSL and SSL listeners and an authorizer")
    parser.add_argument("--port", dest="ports", action="append", type=int, help="of a node, in order")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="for brokers")
    parser.add_argument("--memory", default=Wanted.memory, help="the largest heap of a broker (%(default)s)")
    parser.add_argument("--check", action="store_true", help="for apply: only tell what would be done")
    given = parser.parse_args(words)
    if given.command == "start" and not given.name:
        parser.error("start needs the name of a cluster")
    if given.command == "apply" and given.name not in ("started", "stopped"):
        parser.error("apply needs a state: started or stopped")
    return given


def _run(given: argparse.Namespace) -> t.Any:
    if given.command == "apply":
        return apply(json.load(sys.stdin), given.name, given.work, given.check)
    if given.command == "start":
        settings = dict(setting.partition("=")[::2] for setting in given.settings)
        options = (given.version, given.nodes, given.secured, given.ports, settings)
        cluster = start(given.name, given.work, *options, memory=given.memory)
        return cluster.shown() | {"changed": cluster.changed}
    if given.command == "stop":
        return {given.name: stop(given.name, given.work)} if given.name else stop_all(given.work)
    chosen = [given.name] if given.name else names(given.work)
    found = {name: describe(name, given.work) for name in chosen}
    return {name: cluster and cluster.shown() for name, cluster in found.items()}


def main(words: t.Sequence[str] | None = None) -> int:
    """Run a command; 0, or 1 with the reason on standard error."""
    given = _arguments(words)
    try:
        json.dump(_run(given), sys.stdout, indent=2)
    except (SandboxError, OSError) as failed:  # such as a folder that cannot be written
        print(failed, file=sys.stderr)
        return 1
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
