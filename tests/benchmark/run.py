# SPDX-License-Identifier: GPL-3.0-or-later

"""How fast is it? Starts two clusters, measures, prints tables, and stops all that it started.

    run.py [--short] [plan] [groups] [back] [commit] [length] [distance] [scan] [cold] [verify] [proof] [copy]
           [sync] [rounds] [window] [promotion] [assessment] [estate] [logs]

All of them by default but assessment, estate, whose size ESTATE_GROUPS and ESTATE_PARTITIONS say, and logs: LOG_RECORDS.
--short: copy and sync with a tenth of the records, and once instead of three times, which measures nothing. docs/speed.md
explains the figures.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = [str(ROOT), str(ROOT / ".ansible/collections"), str(ROOT / "roles/kafka_sandbox/files")]
sys.path[:0] = PLACES
os.environ["PYTHONPATH"] = os.pathsep.join(PLACES)  # for the modules' processes

importlib.import_module("conftest")  # makes this checkout the collection that it is

from tests.benchmark.bed import running
from tests.benchmark.questions import APART, QUESTIONS


def main(words: t.Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"what to measure: {', '.join(QUESTIONS)}")
    parser.add_argument("--short", action="store_true", help="copy and sync with a tenth of the records, once")
    asked = parser.parse_args(words)
    names = asked.names or [name for name in QUESTIONS if name not in APART]
    if unknown := set(names) - set(QUESTIONS):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(QUESTIONS)}")
    # Whoever ends it, by Ctrl-C or by kill: everything that runs is stopped on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    loads = list(dict.fromkeys(load for name in names for load in QUESTIONS[name][1]))
    print(
        f"{os.cpu_count()} cores, {os.getloadavg()[0]:.1f} wanted by other programs. Starting and filling two clusters ..."
    )
    try:
        with running(loads, asked.short) as bed:
            print(f"... ready after {time.monotonic() - begin:.0f} s", flush=True)
            for name in names:
                QUESTIONS[name][0](bed)
    except KeyboardInterrupt:
        print("stopped; nothing is left running", file=sys.stderr)
        return 130
    print(f"\n{time.monotonic() - begin:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
