"""The file that makes removed groups again."""

import json

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import NO_TRAITS
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, from_json, to_json

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def group(name: str, **offsets: int) -> GroupReading:
    commits = {P0._replace(partition=int(number[1:])): CommittedOffset(at, "m", 3) for number, at in offsets.items()}
    return GroupReading(name, True, "Empty", "classic", "", commits)


def test_the_file_knows_what_is_gone_and_what_was_made_again():
    removed = Removed("id").with_removed([group("billing", p0=5, p1=7), group("shipping", p0=1)], NO_TRAITS)
    assert removed.readings() == {"billing": group("billing", p0=5, p1=7), "shipping": group("shipping", p0=1)}
    back = removed.with_restored(["billing"])
    assert set(back.gone()) == {"shipping"}
    again = back.with_removed(
        [group("billing", p1=9)], NO_TRAITS
    )  # it was removed once more, and has had another life in between
    assert again.gone()["billing"] == {P1: CommittedOffset(9, "m", 3)}
    assert from_json(to_json(again), "x") == from_json(to_json(from_json(to_json(again), "x")), "x")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda it: it["groups"].clear(), "group billing has an entry and is not among the groups"),
        (lambda it: it["groups"].append(it["groups"][0]), "group billing is named twice"),
        (lambda it: it["entries"].append(it["entries"][0]), "two entries for orders-0"),
        (lambda it: it["entries"][0].update(offset="5"), '"5" is not an offset'),
        (lambda it: it["groups"][0].update(restored="no"), '"no" is not true or false'),
        (lambda it: it.update(version=2), "this release reads version 1"),
    ],
)
def test_a_damaged_file_is_refused(change, told):
    document = json.loads(to_json(Removed("id").with_removed([group("billing", p0=5)], NO_TRAITS)))
    change(document)
    with pytest.raises(InvalidFile, match=told):
        from_json(json.dumps(document), "removed.json")
