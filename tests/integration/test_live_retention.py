"""The usual live migration: few contents that recur, retention at the source, a producer and MirrorMaker 2 that go on."""

import threading
import time

from testbed.background import Background
from testbed.clients import Message, commit, committed, create_topic, delete_records, produce, read
from testbed.mirror_maker import MirrorMaker
from tests.support.modules import Migration

HISTORY, EXPIRED = 20_000, 10_000
BEGIN = int(time.time() * 1000) - 86_400_000
CONSUMED = (10_001, 15_000, 19_995, 20_000)


def status(number: int) -> Message:
    return Message(b"status %d" % (number % 5), b"machine", (), BEGIN + 10 * number)


def test_statuses_that_recur_go_on_exactly_while_everything_goes_on(own_cluster, tmp_path, topic):
    source, destination = own_cluster("source"), own_cluster("target")
    create_topic(source, topic, retention_ms=-1)
    produce(source, topic, map(status, range(HISTORY)))
    groups = {f"{topic}-{offset}": offset for offset in CONSUMED}
    for group, offset in groups.items():
        commit(source, group, {(topic, 0): offset})

    def go_on(over: threading.Event) -> None:
        number = HISTORY
        while not over.wait(0.02):
            produce(source, topic, [status(number)])
            number += 1

    migration = Migration(tmp_path / "migration", source, destination)
    with MirrorMaker(tmp_path / "mirror-maker", source, destination, topics=topic) as mirror_maker:
        mirror_maker.wait_until_caught_up([topic])
        delete_records(source, topic, {0: EXPIRED})
        with Background(go_on):
            entries = migration.plan(*groups)
            migration.commit()
            verified = migration.verify(method="records")
        mirror_maker.wait_until_caught_up([topic])
    assert {(entry["verdict"], entry["repeats"]) for entry in entries.values()} == {("exact", 0)}
    assert verified["findings"] == []
    originals = {record.offset: record for record in read(source, topic)}
    copies = read(destination, topic)
    for group, offset in groups.items():
        ((start, _metadata),) = committed(destination, group).values()
        rest = [(record.timestamp, record.value) for record in copies if record.offset >= start]
        assert rest == [(its.timestamp, its.value) for its in originals.values() if its.offset >= offset]
