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
    spark: SparkSession, shares: t.Sequence[_Share], work: t.Callable[[_Share], t.Iterable[str]]
) -> list[str]:
    """Do each share of the work in a task of its own. -> the lines of all tasks.

    Spark tries a task that has failed again; open_session() gives errors their shape. What ends the whole run is no failure
    of the task, so that Spark does not try that again: Locked where another run has taken a copy over, Refused where
    something is not as it should be. work: gets a share, and travels to the workers with all that it holds.
    """
    sent = apart(spark, shares)

    def work_on(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[str]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield json.dumps(_worked(work, sent.value[number]))

    tasks = len(shares)
    worked = [json.loads(text) for text in texts_of(spark.range(0, tasks, 1, max(1, tasks)), work_on)]
    errors = [unpacked(ended) for _lines, ended in worked if ended is not None]
    if errors:
        raise next((each for each in errors if isinstance(each, Locked)), errors[0])
    return [line for lines, _ended in worked for line in lines]


def _worked(work: t.Callable[[_Share], t.Iterable[str]], share: _Share) -> tuple[list[str], str | None]:
    """The lines, and what has ended the run."""
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


def texts_of(frame: DataFrame, say: t.Callable[[t.Iterator[pyarrow.RecordBatch]], t.Iterable[str]]) -> t.Iterator[str]:
    """What the tasks of a frame have to say, each of its own batches, as texts."""

    def of_task(batches: t.Iterator[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        yield pa.RecordBatch.from_arrays([pa.array(list(say(batches)), pa.string())], ["text"])

    for batch in frame.mapInArrow(of_task, "text string").toArrow().to_batches():
        yield from batch.column(0).to_pylist()
