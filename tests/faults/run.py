"""Faults at random times during migrations, on real brokers: `make faults COUNT=200 SEED=1 VERSION=4.3.0`.

A line for each fault as it goes, and a table in the end. The exit code is 1 where anything was lost, doubled, misplaced, not
removed, not mended by a re-run, or told without a clear message; the line of it names the SEED that shows it again, which with
COUNT=1 plays that migration alone. SIGUSR1 prints the table as it is.
"""

import argparse
import math
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / ".ansible/collections")]

from tests.faults.attempts import prepare
from tests.faults.bed import Bed
from tests.faults.kinds import named
from tests.faults.shares import Share
from tests.faults.story import Story, filled
from tests.faults.tally import Tally, timed
from tests.faults.trip import Trip

SPARK_EVERY = 4  # migrations


def play(version: str, seed: int, count: int, tally: Tally, share: Share, spark_every: int = SPARK_EVERY) -> None:
    """Let at least so many faults happen, in whole migrations, each with the next seed, until the share's time is over."""
    say = tally.say
    with tempfile.TemporaryDirectory(prefix="streamshift-faults-") as folder:
        prepare()
        bed = Bed(Path(folder), version)
        seconds: dict[str, float] = {}
        try:
            say(f"a source of one broker, and a destination of three with Kafka {version}, are there")
            source = filled(bed)
            while tally.faults < count and not share.is_over():
                spark = seed % spark_every == 0
                say(f"SEED={seed}{', on Spark' if spark else ''}")
                try:
                    Story(bed, source, tally, seed, Path(folder) / str(seed), spark, share).play()
                    for number in range(share.trips):
                        Trip(bed, tally, 100 * seed + number, Path(folder) / f"trip-{seed}-{number}", seconds).play()
                except Exception:  # noqa: BLE001  the next migration may show more
                    tally.violated([], "other", traceback.format_exc(), seed, "a migration")
                    bed.heal()
                seed += 1
        finally:
            bed.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="go on until there were so many faults")
    parser.add_argument("--seed", type=int, default=1, help="of the first migration; the next one has the next number")
    parser.add_argument("--version", default="4.3.0", help="of the destination's brokers")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no further fault begins")
    parser.add_argument("--kind", action="append", default=[], help="a word of the kinds of fault to draw; repeatable")
    parser.add_argument("--spark", action="store_true", help="let Spark copy in every migration, not in one of four")
    parser.add_argument("--situations", action="store_true", help="play the ordered situations alone")
    parser.add_argument("--trips", action="store_true", help="play fences, cut-overs and returns alone")
    arguments = parser.parse_args()
    # So that nothing is left running; a SystemExit would be taken for the end of the module that works just then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begun = time.monotonic()
    say = timed(begun)
    tally = Tally(say)
    signal.signal(signal.SIGUSR1, lambda *_unused: print(tally.table(), flush=True))
    try:
        share = Share(kinds=named(arguments.kind), ends=begun + 60 * arguments.minutes)
        if arguments.situations:
            share = share._replace(copy=0, situations=1, trips=0)
        if arguments.trips:
            share = share._replace(copy=0, situations=0)
        play(
            arguments.version, arguments.seed, arguments.count, tally, share, 1 if arguments.spark else SPARK_EVERY
        )  # fmt: skip
    finally:
        print(tally.table())
        print(*tally.violations, sep="\n")
        seconds = time.monotonic() - begun
        print(f"{tally.faults} faults in {seconds:.0f} s, {len(tally.violations)} violations", flush=True)
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
