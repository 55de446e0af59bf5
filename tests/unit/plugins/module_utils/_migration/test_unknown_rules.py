"""A misspelt entry of a map is told; one that fits a group of another wave is not."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import unknown_rules as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.unknown_rules import unknown_rules
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupListing
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, rules_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "source cluster")
ORDERS = TopicPartition("orders", 0)
SHIPPING = [Draft("shipping", ORDERS, "shipping", ORDERS, CommittedOffset(1))]


@pytest.fixture
def asked(monkeypatch):
    """What the source is asked for."""
    requests: list[str] = []
    group = GroupListing("billing", "Empty", "classic", "consumer")
    monkeypatch.setattr(use_case.groups, "list_groups", lambda *_a, **_k: requests.append("groups") or [group])
    monkeypatch.setattr(use_case.topics, "list_topics", lambda *_a: requests.append("topics") or ["parcels"])
    return requests


def told(group_map=(), topic_map=()):
    mapping = Mapping(rules_from("topic_map", topic_map), rules_from("group_map", group_map))
    notes = unknown_rules(SHIPPING, mapping, NOWHERE)
    assert {note.kind for note in notes} <= {NoteKind.RULE_UNUSED}
    return [note.text for note in notes]


def test_maps_that_fit_ask_nothing(asked):
    assert told([{"name": "shipping", "to": "x"}], [{"pattern": "ord.*", "to": "x"}]) == []
    assert not asked


def test_what_fits_another_wave_is_not_told(asked):
    assert told([{"pattern": "bill.*", "to": "x"}], [{"name": "parcels", "to": "x"}]) == []
    assert asked == ["groups", "topics"]


@pytest.mark.usefixtures("asked")
def test_what_fits_nothing_is_told_with_what_was_meant():
    lines = told(
        [{"name": "shippingg", "to": "x"}, {"name": "shipping", "to": "y"}], [{"pattern": "nothing", "to": "x"}]
    )
    kept = "that no entry fits keeps its name."
    assert lines == [
        (
            "group_map, entry 1 (name shippingg) fits no group that this user may describe at the source: "
            f"did you mean shipping? A group {kept}"
        ),
        f"topic_map, entry 1 (pattern nothing) fits no topic that this user may describe at the source. A topic {kept}",
    ]


@pytest.mark.usefixtures("asked")
def test_what_was_meant_is_looked_for_of_the_first_entries_alone():
    lines = told([{"name": "shippingg", "to": f"x{number}"} for number in range(30)])
    assert ["did you mean shipping?" in line for line in lines] == [True] * 20 + [False] * 10
