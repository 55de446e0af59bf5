"""What happens around groups that are reset inside staging.

NAME-report is to read NAME-orders again, one partition from its beginning, the other from record 40, and to skip all that is
left of NAME-clicks. NAME-audit does not exist yet, and is to begin as NAME-report.

reset.py SANDBOX NAME fill       the topics, and where NAME-report has stopped
reset.py SANDBOX NAME untouched  fail unless the groups stand as they stood before
reset.py SANDBOX NAME proof      fail unless each group gets exactly the records from where it was reset to; it commits them
"""

from __future__ import annotations

import time

from stage import play

from kafka_sandbox import Cluster
from testbed.background import Got, consumer
from testbed.clients import Message, commit, committed, create_topic, list_groups, produce

RECORDS = 100  # of each partition


def stands(name: str) -> dict[tuple[str, int], tuple[int, str]]:
    """Where NAME-report stands before it is reset."""
    orders, clicks = f"{name}-orders", f"{name}-clicks"
    return {(orders, 0): (60, "día 3"), (orders, 1): (80, ""), (clicks, 0): (10, ""), (clicks, 1): (0, "")}


def expected(name: str) -> dict[tuple[str, int], int]:
    """Where inventory.yml resets both groups to."""
    orders, clicks = f"{name}-orders", f"{name}-clicks"
    return {(orders, 0): 0, (orders, 1): 40, (clicks, 0): RECORDS, (clicks, 1): RECORDS}


def fill(staging: Cluster, name: str) -> None:
    for topic in (f"{name}-orders", f"{name}-clicks"):
        create_topic(staging, topic, 2, retention_ms=-1)
        produce(staging, topic, [Message(b"%d" % (n // 2), partition=n % 2) for n in range(2 * RECORDS)])
    commit(staging, f"{name}-report", stands(name))


def untouched(staging: Cluster, name: str) -> None:
    assert committed(staging, f"{name}-report") == stands(name)
    assert f"{name}-audit" not in list_groups(staging)


def proof(staging: Cluster, name: str) -> None:
    wanted = sorted((*where, number) for where, start in expected(name).items() for number in range(start, RECORDS))
    for group in (f"{name}-report", f"{name}-audit"):
        assert committed(staging, group) == {where: (offset, "") for where, offset in expected(name).items()}
        got: list[Got] = []
        with consumer(staging, group, [f"{name}-orders", f"{name}-clicks"], got) as running:
            deadline = time.monotonic() + 60
            while len(got) < len(wanted) and time.monotonic() < deadline:
                time.sleep(0.2)
            time.sleep(1)  # for what it should not get
            running.end()
        assert sorted((record.topic, record.partition, int(record.value)) for record in got) == wanted, group


if __name__ == "__main__":
    play((fill, untouched, proof), ("staging",))
