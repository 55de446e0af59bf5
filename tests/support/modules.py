"""Run the collection's modules: in this process for speed, or in one of their own to be killed.

As a program: ``python -m tests.support.modules NAME < options.json`` prints the result.
"""

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import time
import types
import typing as t
from pathlib import Path
from unittest import mock

import pytest
from ansible.module_utils import _internal
from ansible.module_utils.common import warnings
from ansible.module_utils.testing import patch_module_args

from testbed.clients import committed

ROOT = Path(__file__).parents[2]
MODULES = "ansible_collections.streamshift.kafka.plugins.modules"
REFUSED_WITHIN = 15.0  # seconds

Result = dict[str, t.Any]


def run(module: str | types.ModuleType, *, check: bool = False, diff: bool = False, **options: t.Any) -> Result:
    """What the module says, of a failure too. module: its name, or itself once it is imported."""
    arguments = {
        "_ansible_check_mode": check,
        "_ansible_diff": diff,
        "_ansible_remote_tmp": "/tmp",
        "_ansible_keep_remote_files": False,
        **options,
    }
    said = io.StringIO()
    with (
        # Ansible collects warnings per process, and a module is meant to have one for itself.
        mock.patch.object(warnings, "_global_warnings", {}),
        mock.patch.object(warnings, "_global_deprecations", {}),
        # Where a test before has loaded Ansible's own part, warnings would go to its display.
        mock.patch.object(_internal, "is_controller", False),
        patch_module_args(arguments),
        contextlib.redirect_stdout(said),
        pytest.raises(SystemExit) as stop,
    ):
        (importlib.import_module(f"{MODULES}.{module}") if isinstance(module, str) else module).main()
    result: Result = json.loads(said.getvalue())
    assert bool(stop.value.code) == bool(result.get("failed"))
    result["warnings"] = [each["event"]["msg"] for each in result.get("warnings", [])]
    return result


def succeeds(module: str, **options: t.Any) -> Result:
    """The result of a module that must not fail."""
    result = run(module, **options)
    assert not result.get("failed"), result["msg"]
    return result


def refuses(module: str, **options: t.Any) -> str:
    """The message of a module that must fail, soon and with one line."""
    begin = time.monotonic()
    message = refuses_at_last(module, **options)
    seconds = time.monotonic() - begin
    assert seconds < REFUSED_WITHIN, f"{seconds:.1f} s for: {message}"
    return message


def refuses_at_last(module: str, **options: t.Any) -> str:
    """As refuses(), for what takes its time, as Spark does to start."""
    result = run(module, **options)
    assert result.get("failed"), result
    assert "exception" not in result, result["exception"]
    assert "\n" not in result["msg"]
    return str(result["msg"])


class Process(t.Protocol):
    """What subprocess.Popen and tests.support.forks.Forked have."""

    @property
    def pid(self) -> int: ...
    @property
    def stdout(self) -> t.IO[str] | None: ...
    def poll(self) -> int | None: ...
    def wait(self) -> int: ...
    def kill(self) -> None: ...


def spawn(module: str, *, check: bool = False, **options: t.Any) -> subprocess.Popen[str]:
    """The module in a process of its own, which has just begun its work; outcome() waits for its result."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.modules", module],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / '.ansible/collections'}:{ROOT}", "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    assert process.stdout.readline() == "ready\n"
    process.stdin.write(json.dumps({"check": check, **options}))
    process.stdin.close()
    return process


def outcome(process: Process) -> Result:
    """What a spawned module says in the end."""
    assert process.stdout
    with process.stdout:
        said = process.stdout.read()
    code = process.wait()
    assert said, f"the module has ended without a result, with exit code {code}"
    result: Result = json.loads(said)
    return result


def kill(process: Process) -> bool:
    """Kill a spawned module; False when it has ended before."""
    assert process.stdout
    process.kill()
    with process.stdout:
        return process.wait() < 0


class Migration:
    """One migration between two clusters: its files, and the modules that make and use them.

    on_absent: what commits and verifications do about records that the replication tool has left out.
    """

    on_absent = "fail"

    def __init__(self, directory: Path, source: t.Any, destination: t.Any) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.source = _connection(source)
        self.destination = _connection(destination)
        self.servers = destination
        self.snapshot_file = directory / "snapshot.json"
        self.copy_file = directory / "copy.json"
        self.plan_file = directory / "plan.json"
        self.receipt_file = directory / "receipt.json"

    def look(self, *groups: str, **options: t.Any) -> Result:
        """kafka_migration_info of these groups."""
        its = {"source": self.source, "destination": self.destination, "groups": list(groups)}
        return succeeds("kafka_migration_info", **its | options)

    def problems(self, *groups: str, **options: t.Any) -> list[str]:
        """What stands in the way of these groups."""
        return [each["message"] for each in self.look(*groups, **options)["problems"]]

    def snapshot(self, *groups: str, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """kafka_group_offsets of these groups."""
        its = {"cluster": self.source, "snapshot": str(self.snapshot_file), "groups": list(groups)}
        return via("kafka_group_offsets", **its | options)

    def translate(self, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """kafka_offset_translate of what the snapshot holds."""
        its = {"source": self.source, "destination": self.destination, **self._files("snapshot", "plan", "receipt")}
        return via("kafka_offset_translate", **its | options)

    def backlog(self, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """kafka_backlog_copy of what the snapshot's groups have not consumed, from topics that nobody writes."""
        its = {"source": self.source, "destination": self.destination, "idle_wait": 0.1}
        its |= self._files("snapshot", "copy", "plan", "receipt") | {"spark": {"master": "local[2,4]"}}
        return via("kafka_backlog_copy", **its | options)

    def commit(self, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """kafka_offset_commit of the plan, without waiting for consumers that nobody has started."""
        its = {
            "cluster": self.destination,
            "idle_wait": 0,
            **self._files("plan", "receipt"),
            "on_absent": self.on_absent,
        }
        return via("kafka_offset_commit", **its | options)

    def roll_back(self, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """kafka_offset_commit of what stood there before, for everything in the receipt unless groups are selected."""
        its = {"cluster": self.destination, "idle_wait": 0, "state": "rolled_back", **self._files("receipt")}
        its |= {} if options.keys() & {"groups", "group_patterns"} else {"everything": True}
        return via("kafka_offset_commit", **its | options)

    def verify(self, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """kafka_offset_verify of what the receipt says was written, by method anchors, which needs no Spark."""
        its = {"source": self.source, "destination": self.destination, "method": "anchors", "on_absent": self.on_absent}
        its |= self._files("plan", "receipt")
        return via("kafka_offset_verify", **its | options)

    def plan(self, *groups: str, **options: t.Any) -> dict[tuple[str, str, int], Result]:
        """Snapshot and translate; the plan's entries by group, topic and partition."""
        self.snapshot(*groups)
        entries = self.translate(**options)["entries"]
        return {(entry["group"], entry["topic"], entry["partition"]): entry for entry in entries}

    def carried_out(self, group: str, to: str | None = None, **options: t.Any) -> dict[tuple[str, int], Result]:
        """Migrate a group and prove it, each step as a careful user takes it; options are those of translate.

        First in check mode, which must leave files and clusters alone and say what the run then says, and a second time
        in the end, when there must be nothing to do. to: what the group is called at the destination. Returns the
        plan's entries by topic and partition.
        """
        self.carefully(to or group, lambda **how: self.snapshot(group, **how))
        planned = self.carefully(to or group, lambda **how: self.translate(**how, **options))
        self.carefully(to or group, self.commit)
        self.verify()
        return {(entry["topic"], entry["partition"]): entry for entry in planned["entries"]}

    def carefully(self, group: str, step: t.Callable[..., Result]) -> Result:
        """The result of a step that is taken in check mode, for real, and a second time."""
        before = self.state(group)
        predicted = step(check=True, diff=True)
        assert self.state(group) == before, "check mode has changed something"
        done = step(diff=True)
        assert done == predicted, "check mode has predicted something else"
        assert {file.stat().st_mode & 0o777 for file in self.directory.iterdir()} == {0o600}
        after = self.state(group)
        again = step()
        assert again["changed"] is False, "a second run has found something to do"
        assert self.state(group) == after
        return done

    def state(self, *groups: str) -> tuple[t.Any, ...]:
        """Everything that the modules could change: the files, and the commits of groups at the destination."""
        return self.files(), [committed(self.servers, group) for group in groups]

    def files(self) -> dict[str, bytes]:
        """Everything that is in the directory."""
        return {file.name: file.read_bytes() for file in sorted(self.directory.iterdir())}

    def _files(self, *names: str) -> dict[str, str]:
        return {name: str(self.directory / f"{name}.json") for name in names}


def _connection(cluster: t.Any) -> dict[str, t.Any]:
    return dict(cluster if isinstance(cluster, dict) else cluster.connection)


if __name__ == "__main__":
    importlib.import_module(f"{MODULES}.{sys.argv[1]}")  # the slow part of a start
    print("ready", flush=True)
    print(json.dumps(run(sys.argv[1], **json.load(sys.stdin))))
