"""Rounds for a long time beside a company that works, then a cut-over: `make soak ROUNDS=200 SEED=1`.

A line for each round, and in the end a table: what each group has got at both clusters, and what was promised. The exit code
is 1 where a record was left out, or repeated beyond what the plan says, or where a round failed.
"""

import argparse
import collections
import contextlib
import json
import random
import signal
import statistics
import sys
import tempfile
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / ".ansible/collections"), str(ROOT / "roles/kafka_sandbox/files")]

from testbed.background import Got, consumer
from testbed.clients import Servers, committed, log_bounds, until
from testbed.sandbox import start, stop_all
from tests.faults.tally import Say, timed
from tests.soak.company import GROUPS, TOPICS, Company
from tests.support.consumers import member
from tests.support.playbooks import Controller

SECONDS = 120.0  # within which the groups get everything at the destination
_EVENTS = {"nothing": 70, "a restarted tool": 5, "a forgetful tool": 3, "a rewind": 10, "a mistaken consumer": 12}


class Soak:
    """All of it; violations are what must not be."""

    def __init__(self, source: Servers, destination: Servers, folder: Path, say: Say, verify: str = "records") -> None:
        self._source, self._destination = source, destination
        self._controller = Controller(folder, onprem=_connection(source), cloud=_connection(destination))
        self._plan = folder / "kafka-migrations/onprem-to-cloud/plan.json"
        self._say, self._verify = say, verify
        self.violations: list[str] = []
        self._verdicts: collections.Counter[str] = collections.Counter()

    def play(self, rounds: int, seed: int) -> None:
        """So many rounds with events between them, the cut-over, and what became of every record."""
        chance = random.Random(seed)
        # The replication tool is killed twice at least, and forgets something once.
        events = chance.choices(list(_EVENTS), list(_EVENTS.values()), k=rounds)
        for at, event in zip(
            chance.sample(range(rounds), 3), ("a restarted tool", "a forgetful tool", "a rewind"), strict=True
        ):
            events[at] = event
        seconds = []
        with Company(self._source, self._destination, chance) as company:
            for number, event in enumerate(events, 1):
                begin = time.monotonic()
                self._round(company, number, event)
                company.expire()
                seconds.append(time.monotonic() - begin)
            company.stop_consumers()
            begin = time.monotonic()
            self._cut_over()
            window = time.monotonic() - begin
            self._start_and_judge(company)
        self._say(
            f"{rounds} rounds, {statistics.median(seconds):.1f} s each (median), the window {window:.1f} s; "
            f"the tool was killed {len(company.restarts)} times, and copied {sum(company.restarts)} records again; verdicts: "
            + ", ".join(f"{number:,} {verdict}" for verdict, number in self._verdicts.most_common())
        )

    def _round(self, company: Company, number: int, event: str) -> None:
        with contextlib.ExitStack() as beside:
            if event == "a restarted tool":
                company.restart_tool(again=False)
            elif event == "a forgetful tool":
                company.restart_tool(again=True)
            elif event == "a rewind":
                company.rewind()
            elif event == "a mistaken consumer":
                beside.enter_context(member(self._destination, "mistaken", list(TOPICS), commits=False))
            played = self._controller.migrate_groups(groups=list(GROUPS), phase="sync", on_rewind="rewind")
        if played.code:
            self.violations.append(f"round {number} ({event}) has failed:\n{played.output}")
            self._say(f"round {number}, {event}: failed")
            return
        entries = json.loads(self._plan.read_text())["entries"]
        self._verdicts.update(f"{each['verdict']} {each['reason'] or ''}".rstrip() for each in entries)
        said = [line.strip(' ",') for line in played.output.splitlines() if "Round 1: " in line]
        self._say(f"round {number}, {event}: {said[0].removeprefix('Round 1: ')}")
        if event == "a mistaken consumer" and "mistaken" not in _left_out(played.output):
            self.violations.append(
                f"round {number}: a group in use at the destination was not left out:\n{played.output}"
            )

    def _cut_over(self) -> None:
        options: dict[str, t.Any] = {"idle_wait": 1, "stop_timeout": 60, "on_rewind": "rewind", "verify": self._verify}
        played = self._controller.migrate_groups(groups=list(GROUPS), phase="cut_over", **options)
        if played.code:
            self.violations.append(f"the cut-over has failed:\n{played.output}")

    def _start_and_judge(self, company: Company) -> None:
        """Start all groups at the destination, until they have everything, and compare with what they had consumed."""
        ends = {topic: log_bounds(self._source, topic) for topic in TOPICS}
        for group in GROUPS:
            self._start(company, group, ends)

    def _start(self, company: Company, group: str, ends: t.Mapping[str, dict[int, tuple[int, int]]]) -> None:
        got: list[Got] = []
        commits = committed(self._source, group)
        # Where it has committed nothing yet, its consumers begin at the beginning, on both clusters.
        stands = {
            (topic, partition): commits.get((topic, partition), (0, ""))[0]
            for topic, partitions in TOPICS.items()
            for partition in range(partitions)
        }
        wanted = {
            (topic, partition, number)
            for (topic, partition), offset in stands.items()
            for number in range(offset, ends[topic][partition][1])
        }
        with consumer(self._destination, group, list(TOPICS), got) as running:
            with contextlib.suppress(TimeoutError):  # what is lacking then is judged
                until(lambda: wanted <= _numbers(company, got), SECONDS, pause=0.2)
            running.end()
        self._judge(company, group, stands, got, len(wanted - _numbers(company, got)))

    def _judge(
        self, company: Company, group: str, stands: t.Mapping[tuple[str, int], int], got: list[Got], left: int
    ) -> None:
        entries = [entry for entry in json.loads(self._plan.read_text())["entries"] if entry["group"] == group]
        repeated = collections.Counter(
            (record.topic, record.partition)
            for record in got
            if 0 <= company.number(record) < stands[record.topic, record.partition]
        )
        for entry in entries:
            where = entry["topic"], entry["partition"]
            if repeated[where] > (entry["repeats"] or 0):
                self.violations.append(
                    f"{group} {where[0]}-{where[1]}: {repeated[where]} records repeated, promised {entry['verdict']} "
                    f"with {entry['repeats']}"
                )
        before = _numbers(company, company.got[group])
        missed = {
            (topic, partition, number)
            for (topic, partition), offset in stands.items()
            for number in range(offset if group == "idle" else 0, offset)
        } - before
        if left or missed:
            self.violations.append(f"{group}: {left} records left out at the destination, {len(missed)} at the source")
        verdicts = collections.Counter(entry["verdict"] for entry in entries)
        self._say(
            f"{group:<9} {len(before):>6,} records at the source, {len(got):>6,} at the destination; left out "
            f"{left + len(missed)}, repeated {repeated.total()}; "
            + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        )


def _connection(cluster: Servers) -> dict[str, t.Any]:
    return {"bootstrap_servers": list(cluster.bootstrap_servers)}


def _numbers(company: Company, got: t.Iterable[Got]) -> set[tuple[str, int, int]]:
    return {(record.topic, record.partition, company.number(record)) for record in tuple(got)}


def _left_out(output: str) -> str:
    """What a round says of groups that it has left out."""
    return "\n".join(line for line in output.splitlines() if "in use" in line)


def play(rounds: int, seed: int, verify: str, say: Say) -> list[str]:
    """On two clusters of its own, of which nothing is left. -> the violations."""
    with tempfile.TemporaryDirectory(prefix="streamshift-soak-") as name:
        folder = Path(name)
        try:
            source, destination = (start(each, folder / "clusters") for each in ("source", "destination"))
            soak = Soak(source, destination, folder / "controller", say, verify)
            soak.play(rounds, seed)
        finally:
            stop_all(folder / "clusters")
    return soak.violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="at least three")
    parser.add_argument("--seed", type=int, default=1, help="of the order of events")
    parser.add_argument("--verify", default="records", help="how the cut-over verifies: records, anchors or none")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say = timed(time.monotonic())
    violations = play(arguments.rounds, arguments.seed, arguments.verify, say)
    for violation in violations:
        say(f"VIOLATION: {violation}")
    say(f"SEED={arguments.seed}: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
