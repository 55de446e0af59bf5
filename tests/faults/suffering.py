"""One step of a migration under faults: attempts, what holds after each, and the re-run that mends."""

import dataclasses
import random
import time
import typing as t
import uuid
from pathlib import Path

from tests.faults import kinds
from tests.faults.attempts import Attempt
from tests.faults.bed import Bed
from tests.faults.judge import Harm
from tests.faults.kinds import Scene
from tests.faults.shares import Share
from tests.faults.tally import Fault, Tally
from tests.support.modules import Result
from tests.support.processes import gone

# What a module may call that which a fault does to it. Anything else is a wrong diagnosis.
EXPECTED = ("broker_refused", "connection_failed", "spark_failed", "locked")
_TRIES = 4  # to be there before a quick step ends
_STRIKES_WITHIN = 120.0
_LONGEST = 1000  # characters of a message
_GONE_WITHIN = 60.0  # Java may write its archive of classes first

Call = t.Callable[[t.Callable[..., t.Any]], t.Any]


def _no_harm() -> Harm:
    return Harm()


@dataclasses.dataclass
class Step:
    """name: as in the table. call: runs the module by what it is given. seconds: about how long that takes.

    always: the harm that there is after an interruption. done: the harm, and what else is wrong, after success. faults: how
    many may hit one attempt. spark, copies: whether it uses Spark, and writes records.
    """

    name: str
    call: Call
    always: t.Callable[[], Harm] = _no_harm
    done: t.Callable[[Result], Harm] = lambda _result: Harm()
    faults: int = 1
    spark: bool = False
    copies: bool = False
    again: bool = True  # whether a second run must say changed=0


class Sufferer:
    """Runs steps and lets faults happen to them. story: the seed by which all of it is drawn."""

    def __init__(self, bed: Bed, tally: Tally, story: int, folder: Path, share: Share) -> None:
        self.bed, self.tally, self.story, self._share = bed, tally, story, share
        self.chance = random.Random(story)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._log = folder / "output.log"
        self._seconds: dict[str, float] = {}
        self._words: dict[str, list[Fault]] = {}  # by which processes are found, and the faults that happened to them

    def begin(self, step: Step) -> Attempt:
        """An attempt that has just begun."""
        word = uuid.uuid4().hex
        self._words[word] = []

        def via(module: str, **options: t.Any) -> Attempt:
            return Attempt(module, options, spark=step.spark, word=word, temporary=self.temporary, log=self._log)

        attempt: Attempt = step.call(via)
        return attempt

    def calmly(self, step: Step, faults: t.Sequence[Fault] = ()) -> Result | None:
        """Run a step to which nothing happens. It must succeed, and what it is to do must be done then."""
        attempt = self.begin(step)
        self._words[attempt.word] = list(faults)
        result = attempt.outcome()
        self._seconds[step.name] = time.monotonic() - attempt.began
        if result is None or result.get("failed"):
            said = "it died" if result is None else result["msg"]
            self._violated(faults, "other", f"a run that nothing happens to fails: {said}", step)
            return None
        self._harm(faults, step.done(result), step)
        return result

    def suffer(self, step: Step, faults: int) -> Result | None:
        """Let so many faults happen, judge each attempt, and mend; -> the result of the run that has mended it."""
        happened: list[Fault] = []
        for _number in range(_TRIES * faults):
            if len(happened) >= faults or self._share.is_over():
                break
            attempt = self.begin(step)
            new = self._strike(attempt, step, min(step.faults, faults - len(happened)))
            self._words[attempt.word] = new
            result = attempt.outcome()
            if not new:  # it had ended before: the next fault comes earlier
                self._seconds[step.name] = time.monotonic() - attempt.began
            self.bed.heal()
            happened += new
            if self._judge(step, result, new) and step.faults > 1:
                break
        result = self.calmly(step, happened)
        if result is not None and self._nothing_to_do(step, happened):
            self.tally.came(happened, "mended by re-run")
        return result

    def left(self) -> None:
        """Look for what runs, or lies, after all of it; what was killed may take its time to end."""
        for word, faults in self._words.items():
            try:
                gone(word, _GONE_WITHIN)
            except TimeoutError as left:
                self.tally.violated(faults, "leftovers", str(left), self.story, "end")
        for path in sorted(self.temporary.iterdir()):
            self.tally.violated(
                self._all_faults(), "leftovers", f"{path.name} in the temporary folder", self.story, "end"
            )

    def _all_faults(self) -> list[Fault]:
        return [fault for faults in self._words.values() for fault in faults][-1:]

    def _nothing_to_do(self, step: Step, faults: t.Sequence[Fault]) -> bool:
        if not step.again:
            return True
        result = self.calmly(step, faults)
        if result is not None and result["changed"]:
            self._violated(faults, "other", "a further run has found something to do", step)
        return result is not None and not result["changed"]

    def _strike(self, attempt: Attempt, step: Step, most: int) -> list[Fault]:
        """Do faults to an attempt, one after the other, for as long as it works."""
        faults: list[Fault] = []
        scene = Scene(self.bed, attempt, self.chance)
        while len(faults) < most and not self._share.is_over():
            kind = kinds.draw(self.chance, self._share.kinds, step.spark, step.copies)
            if kind is None:
                break
            length = self._seconds.get(step.name, 0.5)
            time.sleep(self.chance.uniform(0, min(length, 1.5) if faults else length))
            deadline = time.monotonic() + _STRIKES_WITHIN
            heal = None
            while attempt.running() and (heal := kind.strike(scene)) is None and time.monotonic() < deadline:
                time.sleep(0.05)  # until there are Spark's processes
            if heal is None:
                break
            fault = self.tally.fault(kind.name, step.name, self.story)
            faults.append(fault)
            seconds = self.chance.uniform(*kind.seconds)
            self.tally.say(
                f"{fault.number:4} {step.name}{' on Spark' if step.spark else ''}, "
                f"{time.monotonic() - attempt.began:.1f} s after its start: {kind.name}"
                + (f" for {seconds:.1f} s" if seconds else "")
            )
            time.sleep(seconds)
            heal()
            if kind.ends:
                break
        return faults

    def _judge(self, step: Step, result: Result | None, faults: t.Sequence[Fault]) -> bool:
        """What an attempt has come to; -> has it succeeded?"""
        self._harm(faults, step.always(), step)
        if result is None:
            if not any(fault.kind == kinds.MODULE_KILLED.name for fault in faults):
                self._violated(faults, "other", "the module has died", step)
            return False
        if not result.get("failed"):
            self.tally.came(faults, "ended by itself")
            self._harm(faults, step.done(result), step)
            return True
        self.tally.say(f"     {result['msg']}")
        if result.get("hangs"):
            self._violated(faults, "other", result["msg"], step)
        elif problem := unclear(result):
            self._violated(faults, "unclear messages", f"{problem}: {result['msg']}", step)
        else:
            self.tally.came(faults, "failed with a message")
        return False

    def _harm(self, faults: t.Sequence[Fault], harm: Harm, step: Step) -> None:
        for what in ("lost", "doubled", "misplaced", "other"):
            if count := getattr(harm, what):
                self.tally.violated(faults, what, f"{count}: {harm.example}", self.story, step.name, count)

    def _violated(self, faults: t.Sequence[Fault], what: str, text: str, step: Step) -> None:
        self.tally.violated(faults, what, text, self.story, step.name)


def unclear(result: Result) -> str | None:
    """What is wrong with the message of a run to which faults have happened; None where nothing is."""
    message, failure = str(result["msg"]), result.get("failure") or {}
    if "exception" in result or "Traceback" in message:
        return "a traceback"
    if "\n" in message or len(message) > _LONGEST:
        return "not one line"
    if not failure.get("cluster") or failure["cluster"] not in message:
        return "no cluster is named"
    if failure["kind"] not in EXPECTED or "another run copies" in message:
        return f"not what has happened ({failure['kind']})"
    return None
