"""Which entries of a receipt go back, and what a rollback does with them, policy by policy and situation by situation."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import rollback, rollback_checks
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Origin, Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.removed import Removed, RemovedGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def at(offset: int | None) -> CommittedOffset | None:
    return None if offset is None else CommittedOffset(offset)


def entry(
    partition: TopicPartition = P0,
    before: int | None = 10,
    written: int | None = 50,
    group: str = "billing",
    source: tuple[tuple[str, str, int], ...] = (),
) -> ReceiptEntry:
    origins = tuple(Origin(name, TopicPartition(topic, number)) for name, topic, number in source)
    return ReceiptEntry(group, partition, at(before), at(written), at(written), origins)


def reading(**offsets: int) -> dict[str, GroupReading]:
    """Billing, which has committed these offsets: p0, p1."""
    commits = {TopicPartition("orders", int(name[1:])): CommittedOffset(offset) for name, offset in offsets.items()}
    return {"billing": GroupReading("billing", True, "Empty", "classic", "consumer", commits)}


def decided(entries, found, on_rewind="fail", on_advance="advance"):
    """What is written, by partition number, and the lines of what is kept."""
    current = {(name, where): at for name, each in found.items() for where, at in each.offsets.items()}
    moving, kept = rollback.without_kept(entries, current, on_rewind, on_advance, "cloud")
    wanted = rollback.targets(moving, current)
    return {where.partition: target and target.offset for (_group, where), target in wanted.items()}, kept


@pytest.mark.parametrize(
    ("before", "written", "found", "on_rewind", "on_advance", "expected"),
    [
        pytest.param(10, 50, 50, "fail", "fail", "back", id="as it was written"),
        pytest.param(None, 50, 50, "fail", "fail", "back", id="as it was written, and had no commit"),
        pytest.param(10, 50, 10, "fail", "fail", "nothing", id="back already"),
        pytest.param(10, None, 77, "fail", "fail", "nothing", id="rolled back earlier"),
        pytest.param(10, 50, 60, "fail", "advance", "refused", id="has consumed since"),
        pytest.param(10, 50, 60, "keep", "advance", "kept", id="has consumed since, and may stay"),
        pytest.param(10, 50, 60, "rewind", "fail", "back", id="has consumed since, and must go back"),
        pytest.param(None, 50, 60, "fail", "advance", "refused", id="has consumed since, and had no commit"),
        pytest.param(None, 50, 60, "rewind", "advance", "back", id="has consumed since, and must lose its commit"),
        pytest.param(90, 50, 60, "fail", "advance", "back", id="had been further"),
        pytest.param(90, 50, 60, "fail", "keep", "kept", id="had been further, and may stay"),
        pytest.param(90, 50, 60, "rewind", "fail", "refused", id="had been further, and must not skip"),
        pytest.param(10, 50, None, "fail", "advance", "refused", id="its commit is gone"),
        pytest.param(10, 50, None, "keep", "advance", "kept", id="its commit is gone, and may stay so"),
        pytest.param(10, 50, None, "rewind", "fail", "back", id="its commit is gone, and must come back"),
        pytest.param(
            40, 50, 30, "fail", "advance", "refused", id="somebody has moved it back: 30 to 39 may be skipped"
        ),
        pytest.param(40, 50, 30, "keep", "advance", "kept", id="somebody has moved it back, and it may stay"),
        pytest.param(40, 50, 30, "rewind", "advance", "back", id="somebody has moved it back, and it must go on"),
        pytest.param(40, 50, 30, "rewind", "fail", "refused", id="somebody has moved it back, and it must not skip"),
    ],
)
def test_what_happens_to_an_entry(before, written, found, on_rewind, on_advance, expected):
    its = reading(p1=1) | (reading(p0=found, p1=1) if found is not None else {})
    try:
        wanted, kept = decided([entry(P0, before, written)], its, on_rewind, on_advance)
    except Refused as exc:
        assert expected == "refused"
        assert (exc.cluster, exc.group, exc.topic, exc.partition) == ("cloud", "billing", "orders", 0)
        assert "to leave such groups alone" in str(exc)
    else:
        assert wanted == ({0: before} if expected == "back" else {})
        assert bool(kept) == (expected == "kept")


def test_what_was_never_there_is_not_there():
    assert decided([entry(P0, None)], reading(p1=1)) == ({}, [])


@pytest.mark.parametrize(("before", "policies"), [(None, {"on_rewind": "keep"}), (90, {"on_advance": "keep"})])
def test_keep_keeps_all_partitions_of_a_group_and_no_other_group(before, policies):
    others = [entry(P0, None, group="shipping"), entry(P1, 10, group="shipping")]
    found = reading(p0=60, p1=50)
    found["shipping"] = reading(p0=50, p1=50)["billing"]
    wanted, kept = decided([entry(P0, before), entry(P1, None), *others], found, **policies)
    assert wanted == {0: None, 1: 10}  # shipping's
    assert [line.split(":")[0] for line in kept] == ["billing orders-0", "billing"]


ORDERS = entry(P0, group="new-billing", source=(("billing", "shop.orders", 0),))
CLICKS = entry(TopicPartition("clicks", 0), group="new-billing", source=(("billing", "shop.clicks", 0),))
SHIPPING = entry(P0, group="new-shipping", source=(("shipping", "shop.orders", 0),))
MERGED = entry(TopicPartition("all", 1), group="both", source=(("both", "visits-eu", 0), ("both", "visits-us", 0)))
OLDER = entry(P0, group="older")
RECEIPT = Receipt("cloud-id", (ORDERS, CLICKS, SHIPPING, MERGED, OLDER))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param({"groups": ("billing",)}, (ORDERS, CLICKS), id="a name at the source"),
        pytest.param({"group_patterns": (".*ing",)}, (ORDERS, CLICKS, SHIPPING), id="a pattern"),
        pytest.param(
            {"group_patterns": (".*",), "exclude_group_patterns": ("b.*",)}, (SHIPPING, OLDER), id="all but some"
        ),
        pytest.param({"groups": ("billing",), "topics": ("shop.clicks",)}, (CLICKS,), id="a topic at the source"),
        pytest.param(
            {"groups": ("billing", "shipping"), "topic_patterns": (".*orders",)}, (ORDERS, SHIPPING), id="topics"
        ),
        pytest.param({"groups": ("both",)}, (MERGED,), id="a merge, by its group"),
        pytest.param({"groups": ("both",), "topic_patterns": ("visits-.*",)}, (MERGED,), id="a merge, by its topics"),
        pytest.param({"groups": ("older",), "topics": ("orders",)}, (OLDER,), id="no source: by its own names"),
    ],
)
def test_what_is_selected(selection, expected):
    assert rollback.choose(RECEIPT, Selection(**selection), "cloud")[0] == expected
    assert rollback.choose(RECEIPT, None, "cloud")[0] == RECEIPT.entries


@pytest.mark.parametrize(
    ("selection", "error", "said"),
    [
        (
            {"groups": ("new-billing",)}, NotFound,
            r"group new-billing is not in the receipt: there are only billing, both,.* \(billing became new-billing\)",
        ),
        ({"groups": ("biling",)}, NotFound, r"Correct groups \(did you mean billing\?\); the names are those at the source"),
        ({"groups": ("bill.*",)}, NotFound, r"Correct groups \(patterns belong in group_patterns\); the names"),
        (
            {"groups": ("billing",), "topics": ("orders",)}, NotFound,
            r"topic orders is not among those of the selected groups in the receipt: .* shop.orders. Correct topics \(did",
        ),
        (
            {"groups": ("biling", "both"), "topics": ("shop.order",)}, NotFound,
            r"group biling is not in the receipt: .*; topic shop.order is not in the receipt: .*mean shop.orders\?",
        ),
        (
            {"group_patterns": ("both", "bil"), "topic_patterns": ("shop.*",)}, InvalidInput,
            r"no topic among those of the selected groups .*: No group in the receipt is matched by bil. Correct",
        ),
        ({"group_patterns": ("x.*",)}, InvalidInput, r"no group in the receipt is matched by group_patterns \['x"),
        (
            {"groups": ("billing",), "topic_patterns": ("x.*",)}, InvalidInput,
            "no topic among those of the selected groups in the receipt is matched by topic_patterns",
        ),
        (
            {"groups": ("both",), "topics": ("visits-eu",)}, InvalidInput,
            "group both, topic all, partition 1: .*not all of them are selected: both visits-us-0 is not. Select all",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(selection, error, said):
    with pytest.raises(error, match=f"^cloud, .*{said}|^cloud: .*{said}"):
        rollback.choose(RECEIPT, Selection(**selection), "cloud")


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"groups": ("x",)}, "Correct group_migration_groups; the names are"),
        ({"group_patterns": ("x.*",)}, "is matched by group_migration_group_patterns ['x.*']"),
        ({"group_patterns": ("x.*",)}, "name the groups in group_migration_groups; the names are those at the source"),
    ],
)
def test_a_name_or_pattern_that_fits_nothing_is_told_in_the_words_of_the_role(variables, selection, said):
    variables({name: f"group_migration_{name}" for name in ("groups", "group_patterns")})
    with pytest.raises((NotFound, InvalidInput)) as refused:
        rollback.choose(RECEIPT, Selection(**selection), "cloud")
    assert said in str(refused.value)


TAKEN = Snapshot(
    "id",
    tuple(SnapshotGroup(name, "classic") for name in ("billing", "blocked")),
    (SnapshotEntry("blocked", TopicPartition("payments", 0), CommittedOffset(7)),),
    left_out_names=("audit",),
)


@pytest.mark.parametrize(
    ("given", "left", "told"),
    [
        ({"groups": ("billing", "blocked", "audit")}, {"groups": ("billing",)}, "blocked, audit"),
        ({"groups": ("blocked", "biling")}, {"groups": ("biling",)}, "blocked"),
        (
            {"groups": ("billing",), "topics": ("shop.orders", "payments")},
            {"groups": ("billing",), "topics": ("shop.orders",)}, "payments",
        ),
        ({"groups": ("billing",), "topics": ("payments",)}, {}, "payments"),
        ({"groups": ("blocked",)}, {}, "blocked"),
        (
            {"groups": ("billing", "blocked"), "topics": ("shop.orders", "visits-eu", "payments")},
            {"groups": ("billing",), "topics": ("shop.orders",)}, "blocked, payments",
        ),
        ({"groups": ("billing", "blocked"), "topics": ("visits-eu",)}, {}, "blocked"),
        ({"groups": ("billing", "biling")}, None, None),
        ({"groups": ("billing", "aud")}, None, None),
        ({"groups": ("billing",)}, None, None),
    ],
)  # fmt: skip
def test_the_selection_of_a_run_undoes_it_though_it_names_what_the_run_has_left_out(given, left, told):
    selection = Selection(**given)
    found, notes = rollback.without_left_out(RECEIPT, selection, TAKEN.names)
    assert found == (selection if left is None else Selection(**left))
    assert [note.kind for note in notes] == ([] if told is None else [NoteKind.WITHOUT_OFFSETS])
    assert told is None or f"wrote nothing for {told}. So this one leaves " in notes[0].text
    assert rollback.without_left_out(RECEIPT, selection, list) == (selection, [])
    if left == {}:
        assert rollback.choose(RECEIPT, found, "cloud") == ((), ())


def test_a_topic_that_only_another_group_was_removed_with_is_left_out_too():
    gone = Removed("id", (RemovedGroup("blocked", "classic", restored=False),), TAKEN.entries)
    selection = Selection(groups=("billing",), topics=("shop.orders", "payments"))
    found, (note,) = rollback.without_left_out(RECEIPT, selection, TAKEN.names, gone)
    assert found == Selection(groups=("billing",), topics=("shop.orders",)) and "nothing for payments." in note.text
    assert rollback.choose(RECEIPT, found, "cloud", gone).entries == rollback.choose(RECEIPT, found, "cloud").entries
    both = Selection(groups=("billing", "blocked"), topics=selection.topics)
    assert rollback.without_left_out(RECEIPT, both, TAKEN.names, gone) == (both, [])


def test_an_empty_receipt_says_so():
    with pytest.raises(NotFound, match="there are no groups"):
        rollback.choose(Receipt("cloud-id"), Selection(groups=("billing",)), "cloud")


def test_what_the_default_excludes_take_away_is_said():
    heartbeats = entry(TopicPartition("heartbeats", 0), group="new-billing", source=(("billing", "heartbeats", 0),))
    receipt = Receipt("id", (ORDERS, heartbeats))
    assert rollback.choose(receipt, Selection(groups=("billing",)), "cloud") == ((ORDERS, heartbeats), ())
    chosen = rollback.choose(receipt, Selection(group_patterns=("bil.*",)), "cloud")
    said = "Left out by exclude_topic_patterns: heartbeats (called like MirrorMaker 2's). To take them, name them in topics."
    assert chosen == ((ORDERS,), (Note(NoteKind.EXCLUDED, said),))


def test_a_pattern_that_matches_nothing_of_the_receipt_is_told_and_no_pattern_that_excluded_before():
    selection = Selection(
        group_patterns=("bil.*", "shp.*"), exclude_group_patterns=("x",), topic_patterns=("shop.*", "y")
    )
    notes = rollback.choose(Receipt("id", (ORDERS,)), selection, "cloud")[1]
    assert [note.text for note in notes] == [
        "No group in the receipt is matched by shp.*. Correct group_patterns, or remove from it what is not needed.",
        "No topic in the receipt is matched by y. Correct topic_patterns, or remove from it what is not needed.",
    ]


def test_a_group_is_put_back_before_the_start_of_a_log_but_not_after_its_end():
    bounds = {P0: Bounds(20, 99, 99)}
    wanted = {("billing", P0): CommittedOffset(12), ("billing", P1): None}
    (note,) = rollback_checks.check_bounds(wanted, bounds, "cloud")
    assert note.kind is NoteKind.BEFORE_LOG_START
    assert note.text.startswith("billing orders-0: offset 12 is before the log's start 20")
    for offset, notes in ((20, []), (99, [])):
        assert rollback_checks.check_bounds({("billing", P0): CommittedOffset(offset)}, bounds, "cloud") == notes
    with pytest.raises(Refused, match="cloud, group billing, topic orders, partition 0: offset 100"):
        rollback_checks.check_bounds({("billing", P0): CommittedOffset(100)}, bounds, "cloud")
    with pytest.raises(Refused, match="which removed.json says .* Restore removed.json from history/"):
        rollback_checks.check_bounds({("billing", P0): CommittedOffset(100)}, bounds, "cloud", "removed.json")


def test_why_nothing_of_a_group_goes_back_is_said():
    never = entry(P0, written=None, group="new-billing")
    assert rollback.unmoved_lines([never], {}, set()) == [
        "new-billing: no run has written offsets, or they are rolled back already"
    ]
    (gone,) = rollback.unmoved_lines([ORDERS], {}, set())
    assert "nothing was committed before, and nothing is now" in gone
    (back,) = rollback.unmoved_lines([ORDERS], {ORDERS.key: CommittedOffset(3)}, set())
    assert back == "new-billing: what was committed before is committed now"
    assert rollback.unmoved_lines([ORDERS], {}, {"new-billing"}) == []
    many = [entry(P0, written=None, group=f"g{number}") for number in range(25)]
    (alike,) = rollback.unmoved_lines(many, {}, set())
    assert alike.startswith("g0, g1, g10") and "and 5 more: no run has written offsets" in alike


def test_what_becomes_of_groups_that_are_kept_is_said(variables):
    assert rollback.kept_lines([], "keep", "keep") == []
    (line,) = rollback.kept_lines(["billing"], "keep", "advance")
    assert line.startswith("billing: left alone") and line.endswith("stop their consumers, and set on_rewind to rewind")
    assert "Let their consumers go on at the destination" in line
    variables({"cluster": "group_clone_cluster"})
    (line,) = rollback.kept_lines(["billing"], "keep", "keep")
    assert "the source" not in line and line.endswith("set on_rewind to rewind and on_advance to advance")


@pytest.mark.parametrize(
    ("found", "repeated", "source"),
    [
        pytest.param(40, None, (), id="a group that has not come to where it was"),
        pytest.param(140, 40, (), id="a group that has gone on after where it was"),
        pytest.param(140, 140, (("old", "orders", 0),), id="a clone, whose old group has consumed nothing of it"),
    ],
)
def test_inside_one_cluster_a_rollback_speaks_of_no_source(found, repeated, source):
    moved = entry(before=100, written=0, source=source)
    assert rollback.repeats([moved], {moved.key: at(found)}, one_cluster=True, are_named=True) == (
        repeated
        and f"the group has consumed up to {repeated} records since the run that is rolled back; after the rollback, the "
        "consumers consume them again"
    )


def test_commits_on_a_topic_whose_lines_were_removed_from_the_receipt_are_said_to_stay():
    key = "billing", P0
    others = [("billing", TopicPartition(topic, 0)) for topic in ("clicks", "audit")]  # no run has written audit
    current = dict.fromkeys((key, *others), CommittedOffset(7))
    receipt = Receipt("D", (entry(),), traits=Traits(topic_ids={"orders": "o", "clicks": "c"}))
    (note,) = rollback.staying(receipt, [key], current)
    assert "stay at the destination: billing clicks-0 (7)." in note.text
    assert rollback.staying(Receipt("D", (entry(),), traits=Traits(topic_ids={"orders": "o"})), [key], current) == []
