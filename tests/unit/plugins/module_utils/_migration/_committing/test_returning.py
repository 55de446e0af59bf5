"""The names of a return are those of the receipt, the other way round."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing.returning import return_names
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Prefixes, rules_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Origin, Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

AT = CommittedOffset(5)


def line(new, *olds, written=AT):
    """An entry of a receipt; `new` and `olds` are `group topic`."""

    def place(text):
        group, topic = text.split()
        return Origin(group, TopicPartition(topic, 0))

    return ReceiptEntry(*place(new), None, written, written, tuple(map(place, olds)))


def names(*entries, mapping=None, **selection):
    given = Selection(**({"group_patterns": (".*",)} | selection))
    return return_names(Receipt("D", entries), given, mapping or Mapping(), "cloud")


def test_equal_names_need_no_rules():
    found = names(line("billing orders", "billing orders"))
    assert found == (["billing"], [], None, [], [], [], None)


def test_other_names_are_turned_round_entry_by_entry():
    entries = (
        line("billing-new copy.orders", "billing orders"),
        line("billing-new copy.c.l", "billing c.l"),
        line("audit copy.orders", "audit orders"),
    )
    found = names(*entries, groups=("billing",), topics=("c.l",), mapping=Mapping(repartitioned=("c[.].",)))
    assert (found.groups, found.topics) == (["billing-new"], ["copy.c.l"])
    assert found.topic_map == [{"name": "copy.c.l", "to": "c.l"}]
    assert found.group_map == [{"name": "billing-new", "to": ["billing"]}]
    assert found.repartitioned == ["copy\\.c\\.l"]


@pytest.mark.parametrize("one_topic", [True, False])
def test_a_group_that_was_made_of_several_becomes_several_again(one_topic):
    topics = ("orders", "orders" if one_topic else "clicks")
    if one_topic:
        entries = [line("all orders", "a orders", "b orders")]
    else:
        entries = [line(f"all {topic}", f"{group} {topic}") for group, topic in zip("ab", topics, strict=True)]
    found = names(*entries)
    mapping = Mapping(group_rules=rules_from("group_map", found.group_map))
    assert [mapping.groups("all", topic) for topic in topics] == ([("a", "b")] * 2 if one_topic else [("a",), ("b",)])


def test_mirror_maker_in_both_directions_names_the_topics():
    mapping = Mapping(prefixes=Prefixes("old.", "new.", "."))
    entries = line("billing old.orders", "billing orders"), line("billing clicks", "billing new.clicks")
    found = names(*entries, mapping=mapping)
    assert found.topic_map == []
    assert found.replication_policy == {
        "name": "default",
        "separator": ".",
        "source_alias": "new",
        "target_alias": "old",
    }
    assert names(*entries, line("audit x", "audit y"), mapping=mapping).replication_policy is None
    one_way = names(entries[0], mapping=Mapping(prefixes=Prefixes("old.", "", ".")))
    assert (one_way.replication_policy, one_way.topic_map) == (None, [{"name": "old.orders", "to": "orders"}])


def test_identity_in_both_directions_names_the_topics_that_end_with_heartbeats():
    mapping = Mapping(prefixes=Prefixes("old.", "new.", ".", "heartbeats"))
    entries = line("a old.iot-heartbeats", "a iot-heartbeats"), line("a orders", "a orders")
    found = names(*entries, mapping=mapping).replication_policy
    assert found == {"name": "identity", "separator": ".", "source_alias": "new", "target_alias": "old"}


def test_excluded_topics_stay_excluded_by_their_new_names():
    entries = line("billing copy.a", "billing a"), line("billing copy.b", "billing b")
    assert names(*entries, exclude_topic_patterns=("b",)).exclude_topic_patterns == ["b", "copy\\.b"]
    assert names(*entries, exclude_topic_patterns=()).exclude_topic_patterns == []


def test_what_cannot_be_returned_is_refused():
    written = line("billing orders", "billing orders")
    with pytest.raises(NotFound, match="group other is not in the receipt"):
        names(written, groups=("other",))
    with pytest.raises(InvalidInput, match="no group is selected"):
        names(written, group_patterns=())
    with pytest.raises(NotFound, match="the migration of billing is rolled back"):
        names(written, line("billing clicks", "billing clicks", written=None))
    with pytest.raises(InvalidInput, match="the topic was made of a and b, and a return cannot take it apart"):
        names(line("billing all", "billing a", "billing b"))
    with pytest.raises(InvalidFile, match="does not say which group and topic"):
        names(line("billing orders"))
