"""What was done and what came of it: a line for each fault as it goes, and a table in the end."""

import collections
import dataclasses
import time
import typing as t

COLUMNS = (
    "runs", "ended by itself", "failed with a message", "mended by re-run",
    "lost", "doubled", "misplaced", "unclear messages", "leftovers", "other",
)  # fmt: skip
VIOLATIONS = COLUMNS[4:]
Say = t.Callable[[str], None]
STEPS = ("snapshot", "plan", "copy", "verification", "commit", "rollback", "settings back")
TRIP_STEPS = ("fence", "cut_over", "return", "lift")


def timed(begun: float) -> Say:
    """Prints lines with the seconds since then."""
    return lambda line: print(f"{time.monotonic() - begun:6.0f} s {line}", flush=True)


@dataclasses.dataclass(frozen=True)
class Fault:
    """One that was done: a number, its kind, and the step during which it happened."""

    number: int
    kind: str
    step: str
    story: int  # the seed that shows it again


@dataclasses.dataclass
class Tally:
    """All counts. say: prints a line."""

    say: Say
    counts: collections.Counter[tuple[str, str, str]] = dataclasses.field(default_factory=collections.Counter)
    violations: list[str] = dataclasses.field(default_factory=list)
    faults: int = 0

    def fault(self, kind: str, step: str, story: int) -> Fault:
        """Another fault was done."""
        self.faults += 1
        self.counts[kind, step, "runs"] += 1
        return Fault(self.faults, kind, step, story)

    def came(self, faults: t.Iterable[Fault], what: str) -> None:
        """One of the harmless columns, for each of the faults of a run."""
        for fault in faults:
            self.counts[fault.kind, fault.step, what] += 1

    def violated(self, faults: t.Sequence[Fault], what: str, text: str, story: int, step: str, count: int = 1) -> None:
        """What must never be. It is counted for the last fault of the run."""
        kind, where = (faults[-1].kind, faults[-1].step) if faults else ("none", step)
        self.counts[kind, where, what] += count
        numbers = ", ".join(f"{fault.number} ({fault.kind})" for fault in faults) or "none"
        line = f"VIOLATION: {what}, during {step}, after faults {numbers}; SEED={story}: {text}"
        self.violations.append(line)
        self.say(line)

    def table(self) -> str:
        """As Markdown: a line for each kind and step, and one for all together."""
        kinds = list(dict.fromkeys(kind for kind, _step, _what in self.counts))
        lines = [f"| fault | step | {' | '.join(COLUMNS)} |", f"| --- | --- |{' ---: |' * len(COLUMNS)}"]
        for kind in kinds:
            for step in (*STEPS, *TRIP_STEPS, "all"):
                its = [self.counts[kind, step, what] for what in COLUMNS]
                if any(its):
                    lines.append(f"| {kind} | {step} | {' | '.join(map(str, its))} |")
        sums = [sum(n for (_k, _s, column), n in self.counts.items() if column == what) for what in COLUMNS]
        return "\n".join([*lines, f"| **all** | | {' | '.join(map(str, sums))} |"])
