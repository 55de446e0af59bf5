"""The versions that work together, tried out: `make matrix`, `make matrix COLUMNS="lowest newest"`.

Each column (columns.py) gets an environment below .cache/matrix, the package and the packages that it requires, and two
clusters, and does what a user does (story.py). What has run is written to tested.json, and the table in README.md from it.
"""

import argparse
import contextlib
import shutil
import signal
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / ".ansible/collections"), str(ROOT / "roles/kafka_sandbox/files")]

from testbed.sandbox import Cluster, SandboxError, start, stop_all
from tests.matrix import environment, story, tested
from tests.matrix.columns import COLUMNS, IMPOSSIBLE, Column

FOLDER = ROOT / ".cache/matrix"
INTERRUPTED = 130  # as a shell says of a program that Ctrl-C has ended


def main() -> int:
    """Run the columns that are asked for; 0 when every one for which there is an interpreter has succeeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("columns", nargs="*", metavar="COLUMN", help=", ".join(each.name for each in COLUMNS))
    wanted = parser.parse_args().columns
    if unknown := set(wanted) - {each.name for each in COLUMNS}:
        parser.error(f"there is no column {', '.join(sorted(unknown))}")
    for reason in (signal.SIGTERM, signal.SIGHUP):  # then, too, the clusters have to be stopped
        signal.signal(reason, signal.default_int_handler)
    columns = [each for each in COLUMNS if not wanted or each.name in wanted]
    try:
        return run_columns(columns)
    except environment.NotPrepared as fault:
        print(f"no column has run, because {fault}", flush=True)
        return 1
    except KeyboardInterrupt:
        print("interrupted: the rows of columns that have not ended stay in README.md as they were", flush=True)
        return INTERRUPTED


def run_columns(columns: t.Iterable[Column]) -> int:
    """Run one after the other, whatever becomes of those before it; 0 when none has failed that must not."""
    package = environment.build_package(FOLDER / "package", Path(sys.executable).with_name("ansible-galaxy"))
    failed = 0
    for column in columns:
        python = environment.interpreter(column.python)
        if python is None:
            print(f"{column.name}: left out, because there is no Python {column.python} on this machine", flush=True)
            continue
        begin = time.monotonic()
        results = tested.load()
        try:
            versions, seen = run(column, python, package)
        except (environment.NotPrepared, SandboxError) as fault:
            # Nothing is known of these versions: what has last succeeded stays.
            failed += not column.may_fail
            print(f"{column.name}: has not run, because {fault}{_allowed(column)}", flush=True)
        except environment.StepFailed as fault:
            failed += not column.may_fail
            results.pop(column.name, None)
            tested.save(results)
            print(
                f"{column.name}: failed after {time.monotonic() - begin:.0f} s\n{fault}{_allowed(column)}", flush=True
            )
        else:
            results[column.name] = versions
            tested.save(results)
            shown = ", ".join(f"{name} {version}" for name, version in versions.items())
            print(f"{column.name}: {'; '.join(seen)} in {time.monotonic() - begin:.0f} s with {shown}", flush=True)
    for combination, why in IMPOSSIBLE.items():
        print(f"left out: {combination}, because {why}")
    return bool(failed)


def _allowed(column: Column) -> str:
    return "\nThis column may fail: it tells early what a coming release changes." if column.may_fail else ""


def run(column: Column, python: Path, package: Path) -> tuple[dict[str, str], list[str]]:
    """Which versions the column has had, and what has been seen."""
    its = environment.environment_for(column, python, FOLDER / column.name)
    environment.install_packages(its, column)
    environment.install_package(its, package)
    with clusters(column) as (source, destination):
        headers = not column.source.startswith("0.10")
        seen = story.tell(its, source, destination, spark=column.spark, headers=headers)
    return its.versions() | {"source": column.source, "destination": column.destination}, seen


@contextlib.contextmanager
def clusters(column: Column) -> t.Iterator[tuple[Cluster, Cluster]]:
    """The column's source and destination, stopped afterwards, whatever happens."""
    folder = FOLDER / column.name / "clusters"
    try:
        yield (
            start("source", folder, version=column.source),
            start("destination", folder, version=column.destination),
        )
    finally:
        stop_all(folder)
        shutil.rmtree(FOLDER / column.name / "user", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
