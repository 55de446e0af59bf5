"""A real MirrorMaker 2 runs beside the tests, and is known to have caught up when it has."""

from testbed.clients import Message, commit, create_topic, produce, produce_in_transactions, read
from testbed.mirror_maker import MirrorMaker


def test_it_copies_visible_records_and_commits_for_their_groups(own_cluster, tmp_path, topic):
    source, target = own_cluster("source"), own_cluster("target")
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=1) for number in range(1000)])
    one, other = [Message(b"kept")], [Message(b"aborted")]
    produce_in_transactions(source, topic, [(one, True), (other, False), (one, True)])
    commit(source, topic, {(topic, 1): (600, "metadata"), (topic, 0): 5})
    more = {"src.consumer.isolation.level": "read_committed"}  # or it copies what was aborted, too
    with MirrorMaker(tmp_path / "mirror-maker", source, target, topics=topic, more=more) as mirror_maker:
        mirror_maker.wait_until_caught_up([topic])
        synced = mirror_maker.wait_until_groups_stand([topic])
    visible = [(record.partition, record.value) for record in read(source, topic)]
    assert [(record.partition, record.value) for record in read(target, topic)] == visible
    offset, metadata = synced[topic][(topic, 1)]
    assert 0 < offset <= 600
    assert metadata == "metadata"
