# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a cluster's workers are asked for before work is given to them."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

from .._model.errors import SparkFailed
from .._model.failure_kinds import FailureKind
from .._model.missing import RECORDS, unmet
from .._model.option_names import option_name
from .failures import known_failure
from .on_workers import values_of
from .surroundings import deadline, end_of

if t.TYPE_CHECKING:
    from .spark_library import SparkSession

# Here pandas brings numpy along; there, nothing does.
_REQUIREMENTS = (*RECORDS, ("numpy", (1, 26), None))
APPEAR_WITHIN = 180.0  # seconds; a busy cluster lets an application wait


def cores(spark: SparkSession, name: str, log: Path) -> int:
    """How many tasks run at a time, once a worker has shown that it has what reading takes.

    name: what the session calls itself. log: what the session has written. Raises SparkFailed where the worker lacks
    something, or where none appears: Spark itself would wait for ever.
    """
    with deadline(APPEAR_WITHIN, spark.interruptAll, lambda: no_worker(name, log)):
        lacking = list(values_of(spark.range(0, 1, 1, 1), _lacking))
        parallel = spark.range(10_000).selectExpr("spark_partition_id()").distinct().count()
    if lacking:
        raise SparkFailed(
            f"Spark workers lack required packages: {', '.join(lacking)}",
            cluster=name,
            remedy=f"install it there, or send an environment with archives in {option_name('spark')}",
            kind=FailureKind.REQUIREMENT_MISSING,
        )
    return parallel


def no_worker(name: str, log: Path) -> SparkFailed:
    """No worker has appeared. A cluster manager that gives none for a reason has told it to the log."""
    return known_failure(end_of(log), name) or SparkFailed(
        f"the cluster has given no workers within {APPEAR_WITHIN:.0f} s",
        cluster=name,
        remedy="see whether it has free cores and memory, and whether its machines reach this one",
    )


def _lacking(_batches: object) -> list[str]:
    return [f"{clause} for {sys.executable}" for clause in unmet(_REQUIREMENTS)]
