# SPDX-License-Identifier: GPL-3.0-or-later

"""Rivals that are processes of their own, and take turns: each is given work line by line, and says how long it took."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

from tests.benchmark.measure import session_cpu
from tests.support.processes import let_end

HERE = Path(__file__).parent


class Program:
    """One that does a line of work at a time. began: what it said of its start."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.began: list[float] = self._said()

    def work(self, asked: dict[str, t.Any], records: int) -> float:
        """Seconds for it; it must have seen so many records."""
        self.ask(asked)
        return self.answer(records)

    def ask(self, asked: dict[str, t.Any]) -> None:
        """Let it begin. What it says is for answer()."""
        assert self.process.stdin
        print(json.dumps(asked), file=self.process.stdin, flush=True)

    def answer(self, records: int) -> float:
        """Seconds for what it was asked last; it must have seen so many records."""
        seconds, seen = self._said()
        if seen != records:
            raise RuntimeError(f"{seen} records were found instead of {records}")
        return float(seconds)

    def cpu(self) -> float:
        """Seconds of CPU that it and the processes it has begun have used so far."""
        return session_cpu(self.process.pid)

    def _said(self) -> list[t.Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} has failed")
        said: list[t.Any] = json.loads(line)
        return said


@contextlib.contextmanager
def started(*words: str, file: str = "spark_program.py", **variables: str) -> t.Iterator[Program]:
    """A program of this folder, in a session of its own; words are its arguments."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / file), *words],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the benchmark alone
    )
    try:
        yield Program(process)
    finally:
        let_end(process, 30)
