"""While Spark works on something long, it is said how far it is."""

import threading
import time

from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.workers import watched_jobs


def slowly(batches):
    for batch in batches:
        time.sleep(0.5)
        yield batch


def test_the_part_that_is_done_is_said_while_a_job_runs(spark):
    said = []
    with watched_jobs(spark.sparkContext.statusTracker(), said.append, every=0.1):
        spark.range(0, 4, 1, 4).mapInArrow(slowly, "id bigint").collect()
    assert "Spark has done 50 % of this step" in said
    assert len(said) == len(set(said))
    spark.range(0, 4, 1, 4).mapInArrow(slowly, "id bigint").collect()
    assert all(line.endswith("% of this step") for line in said) and len(said) <= 5  # nobody is told of the second job


class Gone:
    """The tracker of a Java process that has ended."""

    def __init__(self):
        self.asked = 0

    def getActiveJobsIds(self):  # noqa: N802
        self.asked += 1
        raise ConnectionRefusedError


def test_a_spark_that_has_ended_is_left_to_who_waits_for_it(recwarn):
    said, gone = [], Gone()
    with watched_jobs(gone, said.append, every=0.01):
        while not gone.asked:
            time.sleep(0.01)
        time.sleep(0.1)  # it would be asked ten times
    assert gone.asked == 1 and not said and not recwarn.list


def test_nobody_watches_what_nobody_wants_to_know():
    before = threading.active_count()
    with watched_jobs(Gone(), silent, every=0.01):
        assert threading.active_count() == before
