"""Play the collection's playbooks as users do: ansible-playbook, an inventory, extra variables.

A Controller runs what ansible-playbook runs, in a process that has Ansible loaded, and its modules in one that has loaded
what they import; who runs the program itself may give it loaded().
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

from tests.support.loaded_ansible import run_ansible_playbook
from tests.support.loaded_python import loaded_python

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent


# A cluster whose broker refuses each connection, for plays that ask none, or for which an answer is one too many.
NOWHERE = {"bootstrap_servers": ["127.0.0.1:1"], "request_timeout": 0.5}


def loaded() -> tuple[str, str]:
    """Words for ansible-playbook that have loaded_python() run the modules."""
    return "-e", json.dumps({"ansible_python_interpreter": loaded_python()})


class Played(t.NamedTuple):
    """code: the exit code. changed: how many tasks have changed something. output: all that was printed.

    ran: how many tasks have run, on all hosts; those that were skipped do not count.
    """

    code: int
    changed: int
    output: str
    ran: int


# Nobody has started consumers that use assign(), and few tests look at the report. Those that do ask for it.
QUICK = {"idle_wait": 0, "write_report": False}


class Controller:
    """A user's directory with an inventory of clusters; files of migrations land in it."""

    def __init__(self, directory: Path, **clusters: t.Any) -> None:
        self.directory = directory
        hosts = {
            name: {"kafka_cluster": cluster if isinstance(cluster, dict) else cluster.connection}
            for name, cluster in clusters.items()
        }
        local = {
            "ansible_connection": "local",
            "ansible_python_interpreter": self._python(),
            "ansible_pipelining": True,
        }
        inventory = {"kafka_clusters": {"vars": local, "hosts": hosts}}
        self.inventory = directory / "inventory.json"
        self._own_play = directory / "own-play.json"
        directory.mkdir(exist_ok=True)
        self.inventory.write_text(json.dumps(inventory))

    @contextlib.contextmanager
    def changed_clusters(self) -> t.Iterator[dict[str, t.Any]]:
        """The group kafka_clusters of the inventory, which is written anew when the block ends."""
        inventory = json.loads(self.inventory.read_text())
        yield inventory["kafka_clusters"]
        self.inventory.write_text(json.dumps(inventory))

    def migrate_groups(self, *words: str, **variables: t.Any) -> Played:
        """Play migrate_groups; variables are the role's, without its prefix."""
        return self.play("migrate_groups", *words, **variables)

    def rollback(self, *words: str, **variables: t.Any) -> Played:
        """Play rollback; variables are those of group_migration, without its prefix."""
        return self.play("rollback", *words, **variables)

    def clone_groups(self, *words: str, playbook: str = "clone_groups", **variables: t.Any) -> Played:
        """Play clone_groups, or rollback, on the cluster onprem; variables are the role's, without its prefix."""
        its = {"cluster": "onprem", **QUICK, **variables}
        return self._play(playbook, "group_clone", its, words, clusters=())

    def migrate_backlog(self, *words: str, **variables: t.Any) -> Played:
        """Play migrate_backlog; variables are the role's, without its prefix. Spark has one core, and so one worker."""
        its = {"spark": {"master": "local[1,4]"}, "verify": "records", **variables}
        return self.play("migrate_backlog", *words, prefix="backlog_migration", **its)

    def hand_over_replicator(self, *words: str, **variables: t.Any) -> Played:
        """Play hand_over_replicator; variables are the role's, without its prefix."""
        return self._play("hand_over_replicator", "replicator_handover", variables, words)

    def sync_mirror_maker_groups(self, *words: str, **variables: t.Any) -> Played:
        """Play sync_mirror_maker_groups; variables are the role's, without its prefix."""
        return self._play("sync_mirror_maker_groups", "mirror_maker_group_sync", {**QUICK, **variables}, words)

    def migration_status(self, *words: str, **variables: t.Any) -> Played:
        """Play migration_status; variables are the playbook's, without its prefix."""
        return self._play("migration_status", "migration_status", {"idle_wait": 0, **variables}, words)

    def list_groups(self, *words: str, **variables: t.Any) -> Played:
        """Play list_groups; variables are the playbook's, without its prefix."""
        return self._play("list_groups", "list_groups", variables, words, clusters=())

    def assess_migration(self, *words: str, **variables: t.Any) -> Played:
        """Play assess_migration; variables are the role's, without its prefix."""
        return self._play("assess_migration", "migration_assessment", variables, words)

    def promote_topics(self, *words: str, **variables: t.Any) -> Played:
        """Play promote_topics; variables are the role's, without its prefix."""
        return self._play("promote_topics", "topic_promotion", variables, words)

    def play(self, playbook: str, *words: str, prefix: str = "group_migration", **variables: t.Any) -> Played:
        """Play any playbook of the collection that migrates, without waiting for consumers that nobody has started.

        What is migrated is proved by its anchors, for that needs no Spark, which takes its time to start.
        """
        return self._play(playbook, prefix, {**QUICK, "verify": "anchors", **variables}, words)

    def _play(
        self,
        playbook: str,
        prefix: str,
        variables: dict[str, t.Any],
        words: t.Sequence[str],
        clusters: t.Iterable[tuple[str, str]] = (("source", "onprem"), ("destination", "cloud")),
    ) -> Played:
        its = {**dict(clusters), **variables}
        extra = json.dumps({f"{prefix}_{name}": value for name, value in its.items()})
        return self.run(f"streamshift.kafka.{playbook}", "-e", extra, *words)

    def run(self, playbook: str, *words: str) -> Played:
        """Play any playbook with this inventory."""
        environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"}
        code, output = self._run([playbook, "-i", str(self.inventory), *words], environment)
        changed, ran = (sum(map(int, re.findall(rf"\b{word}=(\d+)", output))) for word in ("changed", "ok"))
        return Played(code, changed, output, ran)

    def run_play(self, *words: str, **keywords: t.Any) -> Played:
        """Play a play of the user's own, with these keywords, on the cluster cloud if they do not say otherwise."""
        self._own_play.write_text(json.dumps([{"hosts": "cloud", "gather_facts": False, **keywords}]))
        return self.run(str(self._own_play), *words)

    def _python(self) -> str:
        return loaded_python()

    def _run(self, words: list[str], environment: dict[str, str]) -> tuple[int, str]:
        return run_ansible_playbook(words, environment, self._python())

    def files(self) -> dict[str, bytes]:
        """Everything below the directory but the inventory, a play of the user's own, and what a history has."""
        found = (
            file
            for file in sorted(self.directory.rglob("*"))
            if file not in (self.inventory, self._own_play) and "history" not in file.relative_to(self.directory).parts
        )
        return {str(file.relative_to(self.directory)): file.read_bytes() if file.is_file() else b"" for file in found}

    def history(self) -> list[Path]:
        """The folders of runs below the directory, the oldest one first."""
        return sorted(self.directory.glob("**/history/*"))

    def phases(self) -> list[str]:
        """The phases of the runs that have kept their files, the first one first."""
        return [folder.name.split("Z-")[1] for folder in self.history()]


class ProgramController(Controller):
    """One that starts the program itself, and modules by the plain interpreter, for who looks at their processes."""

    def _python(self) -> str:
        return sys.executable

    def _run(self, words: list[str], environment: dict[str, str]) -> tuple[int, str]:
        process = self._begun(words, environment)
        output = process.communicate()[0]
        return process.returncode, output

    def _begun(self, words: list[str], environment: dict[str, str], **how: t.Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(PROGRAMS / "ansible-playbook"), *words],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **how,
        )


def done(played: Played) -> Played:
    """A playbook that must have succeeded."""
    assert played.code == 0, played.output
    return played


def failed(played: Played) -> str:
    """What a playbook that must fail has printed."""
    assert played.code != 0, played.output
    return played.output
