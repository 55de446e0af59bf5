"""What becomes of each topic."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import BrokerCount
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.settings import kept_less
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.survey import Survey, TopicState
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.topic_decisions import (
    decide_topics,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    OnFewerPartitions,
    OnMissing,
    OnUnknownSetting,
    Settings,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import (
    EXCLUDED_SETTINGS,
    Override,
    PromotionOptions,
)

KNOWN = frozenset({"retention.ms", "segment.ms", "min.insync.replicas", "preallocate", "cleanup.policy"})


def topic(partitions=1, replicas=1, hidden=(), **own):
    settings = {name.replace("_", "."): value for name, value in own.items()}
    return TopicState(partitions, replicas, TopicConfigs(settings, settings, frozenset(hidden)))


def decided(source, destination, brokers=3, known=KNOWN, seen=None, up=None, **options):
    """Of topics by name, which keep their names."""
    names = {name: name for name in source}
    survey = Survey(
        "s",
        "d",
        names,
        tuple(source),
        tuple(destination),
        source,
        destination,
        known,
        BrokerCount(brokers, up or brokers),
        **seen or {},
    )
    return decide_topics(survey, Mapping(), PromotionOptions(**options), "destination")


def planned(source, destination=None, **how):
    """The change of one topic, and the notes."""
    made = decided({"orders": source}, {"orders": destination} if destination else {}, **how)
    return made.plan.topics[0], made.notes


def values(change):
    return {name: (each.before, each.after, each.origin) for name, each in change.settings.items()}


def test_a_missing_topic_is_made_like_the_source_s():
    change, notes = planned(topic(3, 2, retention_ms="5", min_insync_replicas="2"))
    assert (change.before, change.after, change.replication_factor) == (None, 3, 2)
    assert values(change) == {"retention.ms": (None, "5", "source")}
    assert notes == ()
    assert change.changes


def test_a_missing_topic_may_stay_missing():
    change, notes = planned(topic(3), on_missing=OnMissing.LEAVE)
    assert not change.changes
    said = "orders is missing at the destination, and on_missing leaves it so."
    assert notes == (Note(NoteKind.TOPIC_LEFT_MISSING, said),)


@pytest.mark.parametrize(("asked", "brokers", "made"), [(None, 2, 2), (None, 5, 3), (-1, 2, -1), (1, 2, 1)])
def test_the_replication_factor_is_the_source_s_the_brokers_or_a_number(asked, brokers, made):
    change, notes = planned(topic(1, 3), brokers=brokers, replication_factor=asked)
    assert change.replication_factor == made
    said = "orders gets 2 replicas instead of the source's 3, because the destination has 2 brokers."
    assert notes == ((Note(NoteKind.FEWER_REPLICAS, said),) if (asked, brokers) == (None, 2) else ())


def test_whether_there_are_brokers_for_so_many_replicas_is_left_to_the_brokers():
    """One may be down that they place replicas on nevertheless; see test_trial.py."""
    assert planned(topic(), brokers=2, replication_factor=3)[0].replication_factor == 3


def test_more_replicas_in_sync_than_replicas_are_refused():
    override = (Override((".*",), {"min.insync.replicas": "2"}),)
    for destination in (None, topic(1, 1)):
        with pytest.raises(
            Refused, match=r"topic orders: min\.insync\.replicas would be 2, and the topic has 1 replica"
        ):
            planned(topic(), destination, overrides=override)
    planned(topic(1, 2), overrides=override)
    down = "has 2 replicas, 1 of them on brokers that are up: .* Start the brokers that"
    with pytest.raises(Refused, match=down) as refused:
        planned(topic(1, 2), overrides=override, up=1)
    assert "replication_factor" not in str(refused.value)  # which is high enough
    assert refused.value.kind == "topic_unsuitable"
    planned(topic(), topic(1, 2), overrides=override, up=1)
    planned(topic(), topic(1, 2), overrides=override)
    planned(topic(), replication_factor=-1, overrides=override)  # the brokers say how many, see test_trial.py


def test_merge_deletes_nothing_and_exact_all_but_what_is_kept():
    source = topic(retention_ms="5", cleanup_policy="compact, delete")
    destination = topic(
        retention_ms="5", cleanup_policy="compact,delete", segment_ms="7", preallocate="true", min_insync_replicas="1"
    )
    assert values(planned(source, destination)[0]) == {}
    exact = planned(source, destination, settings=Settings.EXACT, keep_settings=("pre.*",))[0]
    assert values(exact) == {"segment.ms": ("7", None, "default")}
    everything = planned(source, destination, settings=Settings.EXACT, exclude_settings=())[0]
    assert everything.settings.keys() == {"segment.ms", "preallocate", "min.insync.replicas"}


def test_none_changes_no_setting():
    assert values(planned(topic(retention_ms="5"), topic(segment_ms="7"), settings=Settings.NONE)[0]) == {}
    assert values(planned(topic(retention_ms="5"), settings=Settings.NONE)[0]) == {}


def test_created_gives_settings_to_topics_that_are_made_and_to_no_other():
    assert values(planned(topic(retention_ms="5"), settings=Settings.CREATED)[0]) == {
        "retention.ms": (None, "5", "source")
    }
    change, notes = planned(
        topic(retention_ms="5"), topic(segment_ms="7", hidden=["retention.ms"]), settings=Settings.CREATED
    )
    assert values(change) == {}
    assert notes == ()


def test_the_first_override_that_fits_wins_setting_by_setting():
    overrides = (
        Override(("orders",), {"retention.ms": "1", "min.insync.replicas": "1"}),
        Override(("returns",), {"segment.ms": "9"}),
        Override((".*",), {"retention.ms": "2", "preallocate": "true"}),
    )
    source = dict.fromkeys(("orders", "returns"), topic(retention_ms="5"))
    orders, returns = decided(source, {}, overrides=overrides).plan.topics
    assert {name: each.after for name, each in orders.settings.items()} == {
        "retention.ms": "1",
        "min.insync.replicas": "1",
        "preallocate": "true",
    }
    assert {name: each.after for name, each in returns.settings.items()} == {
        "retention.ms": "2",
        "segment.ms": "9",
        "preallocate": "true",
    }


def test_an_override_may_give_a_setting_back_to_the_brokers():
    override = (Override((".*",), {"retention.ms": None}),)
    source = topic(retention_ms="5")
    assert values(planned(source, topic(retention_ms="6"), overrides=override)[0]) == {
        "retention.ms": ("6", None, "override")
    }
    assert values(planned(source, overrides=override)[0]) == {}


def test_an_override_for_no_topic_is_refused():
    misspelt = [Override((name,), {"retention.ms": "1"}) for name in ("order", "ordes")]
    with pytest.raises(InvalidInput, match=r"entry 1 \(order\) is about no selected topic .*entry 2 \(ordes\) is"):
        planned(topic(), overrides=tuple(misspelt))


def test_a_setting_that_the_brokers_do_not_know_is_refused_or_left_out():
    source = topic(retention_ms="5", message_format_version="2.8")
    with pytest.raises(Refused, match=r"do not know the setting message\.format\.version of orders"):
        planned(source)
    change, notes = planned(source, on_unknown_setting=OnUnknownSetting.LEAVE)
    assert change.settings.keys() == {"retention.ms"}
    said = "orders: the brokers do not know message.format.version, which is left out."
    assert notes == (Note(NoteKind.SETTING_LEFT_ALONE, said),)
    excluded = (*EXCLUDED_SETTINGS, "message.*")
    assert planned(source, exclude_settings=excluded)[0].settings.keys() == {"retention.ms"}
    assert planned(source, known=frozenset())[0].settings.keys() == {"retention.ms", "message.format.version"}


def test_settings_that_the_brokers_do_not_know_are_named_of_all_topics_at_once():
    source = {f"orders-{number}": topic(message_format_version="2.8") for number in range(7)}
    source |= {"orders-1": topic(x_y="1", segment_ms="5"), "orders-2": topic()}
    of = ", ".join(f"message.format.version of orders-{number}" for number in (3, 4, 5))
    said = f"message.format.version of orders-0, x.y of orders-1, {of} and 1 more"
    with pytest.raises(Refused, match=said.replace(".", r"\.")):
        decided(source, {})


def test_a_value_that_brokers_hide_is_named_and_left_alone():
    source, destination = topic(retention_ms="5"), topic(hidden=["retention.ms", "segment.ms"])
    change, notes = planned(source, destination, settings=Settings.EXACT)
    assert values(change) == {}
    said = "orders: the brokers hide the value of retention.ms, which is left alone."
    assert notes == (Note(NoteKind.SETTING_LEFT_ALONE, said),)
    _change, notes = planned(topic(hidden=["segment.ms"]))
    said = "orders: the source's brokers hide the value of segment.ms, which is left out."
    assert notes == (Note(NoteKind.SETTING_LEFT_ALONE, said),)


@pytest.mark.parametrize(
    ("at_source", "at_destination", "choice", "said"),
    [
        (
            2,
            3,
            "fail",
            "3 partitions, and orders has 2 at the source. It stays so, and records with a key may be in other",
        ),
        (3, 2, "leave", "2 partitions, and orders has 3 at the source. on_fewer_partitions leaves it so."),
        (
            3,
            2,
            "grow_empty_or_leave",
            "2 partitions and holds records, and orders has 3 at the source. on_fewer_partitions leaves it so.",
        ),
    ],
)
def test_another_number_of_partitions_that_stays_is_named(at_source, at_destination, choice, said):
    change, (note,) = planned(topic(at_source), topic(at_destination), on_fewer_partitions=OnFewerPartitions(choice))
    assert not change.changes
    assert note.kind is NoteKind.PARTITIONS_DIFFER and note.text.startswith(f"orders has {said}")


@pytest.mark.parametrize(
    ("choice", "is_empty", "after"),
    [
        ("fail", True, None),
        ("grow_empty", False, None),
        ("grow_empty", True, 3),
        ("grow", False, 3),
        ("leave", True, 2),
        ("grow_empty_or_leave", True, 3),
        ("grow_empty_or_leave", False, 2),
    ],
)
def test_fewer_partitions_grow_only_as_asked_for(choice, is_empty, after):
    seen = {"empty": frozenset({"orders"} if is_empty else ()), "readers": {"orders": ("billing",)}}
    how = {"seen": seen, "on_fewer_partitions": OnFewerPartitions(choice)}
    if after is None:
        with pytest.raises(Refused, match="destination, topic orders: the topic has 2 partitions"):
            planned(topic(3), topic(2), **how)
        return
    change, notes = planned(topic(3), topic(2), **how)
    assert change.after == after and change.grows == (after == 3)
    assert ("Groups that read it: billing." in notes[0].text) == (after == 3)
    assert notes[0].kind is (NoteKind.PARTITIONS_GROW if after == 3 else NoteKind.PARTITIONS_DIFFER)


def test_what_the_source_sets_but_hides_is_not_reset():
    destination = topic(segment_ms="7", retention_ms="5")
    change, notes = planned(topic(hidden=["segment.ms"]), destination, settings=Settings.EXACT)
    assert change.settings.keys() == {"retention.ms"}
    assert [note.kind for note in notes] == [NoteKind.SETTING_LEFT_ALONE]
    override = (Override((".*",), {"segment.ms": "9"}),)
    change, _notes = planned(topic(hidden=["segment.ms"]), destination, settings=Settings.EXACT, overrides=override)
    assert change.settings["segment.ms"].after == "9"


@pytest.mark.parametrize(
    ("before", "after", "less"),
    [
        ({"retention.ms": "-1"}, {"retention.ms": "5"}, ["retention.ms"]),
        ({"retention.ms": "5"}, {"retention.ms": "-1"}, []),
        ({"retention.ms": "5"}, {"retention.ms": None}, ["retention.ms"]),
        (
            {"retention.bytes": "9", "retention.ms": "9"},
            {"retention.bytes": "8", "retention.ms": "9"},
            ["retention.bytes"],
        ),
        ({"max.message.bytes": "9"}, {"max.message.bytes": "8"}, ["max.message.bytes"]),
        ({"cleanup.policy": "compact"}, {"cleanup.policy": "delete"}, ["cleanup.policy"]),
        ({"cleanup.policy": "delete"}, {"cleanup.policy": "compact,delete"}, ["cleanup.policy"]),
        ({"cleanup.policy": "compact,delete"}, {"cleanup.policy": "compact"}, []),
        ({"cleanup.policy": "compact"}, {"cleanup.policy": None}, ["cleanup.policy"]),
        ({"cleanup.policy": "compact", "retention.ms": "9"}, {"cleanup.policy": "compact", "retention.ms": "8"}, []),
        ({"retention.ms": "9"}, {}, []),
    ],
)
def test_settings_that_keep_or_take_fewer_records(before, after, less):
    policy = {"cleanup.policy": "delete"}
    assert kept_less(policy | before, policy | after) == less
    assert kept_less({}, after) == kept_less(before, {}) == []
    # A service may have a value that is no number.
    assert kept_less({"retention.ms": "a week"}, {"retention.ms": "1"}) == []
