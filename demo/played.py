"""What the playbooks of the demo print: all of it goes to files, and what people look for to the terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from demo.terminal import title

ROOT = Path(__file__).parents[1]

# A line of a task's message, as Ansible shows it; and a line of progress.
_MESSAGE = re.compile(r'^ {4,8}(?:"msg": )?(".*"),?$')
_PROGRESS = re.compile(r"\[cloud[^]]*\] ")
# Of the messages, what everybody looks for; the tables of groups and partitions are in the file.
_TOTALS = re.compile(
    r"Total:|It took:|Dry run:|Rollback of|Consumers may start|Round \d+:|\S+: (ready|not ready)"
    r"|[\d,]+ (verified|committed offsets)"
)
_PARTITION = re.compile(r"  \S")
_PARTITIONS = 4  # so many that are not exact tell what such a line has
_SILENCE = 8.0  # seconds between two lines of progress, at least
_LAST_LINES = 60  # of what a playbook that fails has printed


class PlaybookFailed(Exception):
    """A playbook has ended with an error."""


class Player:
    """Plays one playbook after the other, each with a file for what it prints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0

    def play(self, what: str, playbook: str, *options: str, whole_plan: bool = False) -> str:
        """Run a playbook, show its totals, and return the last line about cloud. whole_plan: show the plan's table, too."""
        self._number += 1
        command = ["ansible-playbook", playbook, *options]
        title(f"{what}: {shlex.join(command)}")
        file = self.folder / f"{self._number}-{re.sub(r'[^a-z]+', '-', what.lower())}.txt"
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {"ANSIBLE_DISPLAY_SKIPPED_HOSTS": "0", "ANSIBLE_NOCOLOR": "1"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        screen = _Screen(whole_plan)
        with (
            file.open("w") as out,
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | settings | {"PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as running,
        ):
            for line in running.stdout or ():
                out.write(line)
                screen.show(line)
        said = file.read_text().splitlines()
        if running.returncode:
            print(*said[-_LAST_LINES:], sep="\n")
            raise PlaybookFailed(f"{playbook} has ended with status {running.returncode}: {file}")
        print(f"Everything that it printed: {_short(file)}", flush=True)
        return next(line for line in reversed(said) if "cloud" in line and "changed=" in line)


class _Screen:
    """Shows the totals of a playbook. plan: its first table, too, which is that of the plan."""

    def __init__(self, plan: bool) -> None:
        self._plan = plan
        self._partitions = 0
        self._shown = 0.0

    def show(self, line: str) -> None:
        """Print a line that Ansible has printed, if it is one to look for."""
        if _PROGRESS.match(line):
            if time.monotonic() > self._shown + _SILENCE:
                self._say(line.rstrip("\n"))
            return
        message = _MESSAGE.match(line.rstrip("\n"))
        if message is None:
            return
        text = str(json.loads(message[1]))
        if self._plan and _PARTITION.match(text):
            self._partitions += 1
            if self._partitions <= _PARTITIONS:
                self._say(text)
        elif self._plan or _TOTALS.match(text):
            if text.startswith("Total:"):
                if self._partitions > _PARTITIONS:
                    self._say(f"  ... and {self._partitions - _PARTITIONS} more lines, one for each partition")
                self._plan, self._partitions = False, 0
            self._say(text)

    def _say(self, text: str) -> None:
        print(text, flush=True)
        self._shown = time.monotonic()


def _short(file: Path) -> str:
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
