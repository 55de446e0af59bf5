# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Work that is dealt out to Spark's tasks, each of which tells what it has done as lines of text."""

from __future__ import annotations

import heapq
import json
import typing as t

from .._model.errors import Locked, MigrationError, Refused
from .failures import WorkerFailed, packed_error, unpacked
from .shipping import apart

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame, SparkSession

_Share = t.TypeVar("_Share")
_Item = t.TypeVar("_Item")


def on_workers(
    spark: SparkSession, shares: t.Sequence[_Share], work: t.Callable[[_Share], t.Iterable[t.Any]]
) -> list[t.Any]:
    """Do each share of the work in a task of its own. -> what all tasks have said, see values_of().

    Spark tries a task that has failed again; open_session() gives errors their shape. What ends the whole run is no failure
    of the task, so that Spark does not try that again: Locked where another run has taken a copy over, Refused where
    something is not as it should be. work: gets a share, and travels to the workers with all that it holds.
    """
    sent = apart(spark, shares)

    def work_on(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[tuple[list[t.Any], str | None]]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _worked(work, sent.value[number])

    tasks = len(shares)
    worked = list(values_of(spark.range(0, tasks, 1, max(1, tasks)), work_on))
    errors = [unpacked(ended) for _said, ended in worked if ended is not None]
    if errors:
        raise next((each for each in errors if isinstance(each, Locked)), errors[0])
    return [value for said, _ended in worked for value in said]


def _worked(work: t.Callable[[_Share], t.Iterable[t.Any]], share: _Share) -> tuple[list[t.Any], str | None]:
    """What is said, and what has ended the run."""
    try:
        return list(work(share)), None
    except (Locked, Refused) as exc:
        return [], packed_error(exc)
    except MigrationError as exc:
        raise WorkerFailed(exc) from None


def dealt(items: t.Sequence[_Item], weight: t.Callable[[_Item], int], tasks: int) -> list[list[_Item]]:
    """The items of each task, of so many tasks at most: the heaviest first, each to the task with the least so far."""
    made: list[list[_Item]] = [[] for _unused in range(min(tasks, len(items)))]
    lightest = [(0, number) for number in range(len(made))]
    for item in sorted(items, key=weight, reverse=True):
        so_far, number = lightest[0]
        heapq.heapreplace(lightest, (so_far + weight(item), number))
        made[number].append(item)
    return made


def values_of(
    frame: DataFrame, say: t.Callable[[t.Iterator[pyarrow.RecordBatch]], t.Iterable[t.Any]]
) -> t.Iterator[t.Any]:
    """What the tasks of a frame have to say, each of its own batches: values as JSON has them, and gives them back."""

    def of_task(batches: t.Iterator[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        texts = [json.dumps(value) for value in say(batches)]
        yield pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], ["text"])

    for batch in frame.mapInArrow(of_task, "text string").toArrow().to_batches():
        yield from map(json.loads, batch.column(0).to_pylist())
