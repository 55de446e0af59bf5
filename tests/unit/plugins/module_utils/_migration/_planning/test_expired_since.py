"""What has expired since the last plan, or since the logs were learned."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import expected
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import LogRange, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Origin, Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.record_sum import Bound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from tests.attack import driven
from tests.attack.case import Copy, Options, Original
from tests.attack.live import plan_noted
from tests.attack.manners import Manner
from tests.attack.moving import World
from tests.attack.requests import Requests
from tests.support.listed_clusters import DESTINATION

COMMITTED = 8


def still_world(others=0, **options):
    """A world in which nothing happens by itself: 20 records, of which the tool has copied 10.

    others: so many records have been written to the destination by somebody else, before the first unconsumed one.
    """
    world = World(Manner(size=2, contents="unlike"), "x 1")
    world.happen = lambda: None
    world.options = lambda: Options(now=world.now, **options)
    while world.sources[0].end < 20:
        world._produce()
    for record in world.sources[0].records[:10]:
        if record.offset == COMMITTED:
            for number in range(others):
                world.copies[0].add(Copy(0, record.time - 1, f"others {number}", None, "data", False))
        world._write(record, 0, 0)
    return world


def planned(world, previous=None, committed=COMMITTED):
    (entry,) = driven.plan(Requests(world), [[committed]], previous=previous).values()
    return entry


def noted_of(world, entry):
    return plan_noted(world, {entry.key: entry})


def planned_and_noted(world):
    first = planned(world)
    return first, noted_of(world, first)


# gone_on: the tool has copied so many since, such as just as many as it has missed.
@pytest.mark.parametrize("gone_on", [0, 4, 6])
@pytest.mark.parametrize("policy", ["count_back", "start", "first_visible"])
def test_an_offset_that_stays_says_what_neither_cluster_has_any_more(policy, gone_on):
    world = still_world(on_expired=policy)
    first, noted = planned_and_noted(world)
    expire_and_go_on(world, gone_on)
    second = planned(world, noted)
    assert (first.offset, second.offset) == (8, 8)
    assert (second.verdict, second.repeats) == ((Verdict.SAFE, None) if gone_on else (Verdict.EXACT, 0))
    assert (second.lost, second.lost_bound) == (4, Bound.AT_LEAST)
    assert "lost on both clusters: at least 4 records" in second.detail
    assert planned(world, noted_of(world, second)) == second


def expire_and_go_on(world, gone_on=6):
    """Four records that the tool has not copied expire; then it goes on."""
    world.sources[0].expire(14)
    for record in world.sources[0].records[14 : 14 + gone_on]:
        world._write(record, 0, 0)


@pytest.mark.parametrize(
    ("copied", "deleted", "marker", "lost"),
    [
        pytest.param(4, 0, False, 0, id="all of them were copied"),
        pytest.param(0, 0, False, None, id="consumed ones are counted back in place of those that were not"),
        pytest.param(0, 5, False, 1, id="the destination has fewer"),
        pytest.param(0, 5, True, None, id="the same, but one may have been a marker"),
    ],
)
def test_without_an_earlier_plan_consumed_records_are_not_taken_for_those_that_have_expired(
    copied, deleted, marker, lost
):
    world = still_world()
    for record in world.sources[0].records[10 : 10 + copied]:
        world._write(record, 0, 0)
    world.copies[0].expire(deleted)
    if marker:
        world.sources[0].records[17] = world.sources[0].records[17]._replace(kind="marker", text="")
    expire_and_go_on(world)
    entry = planned(world)
    assert (entry.reason, entry.lost, entry.lost_bound) == (Reason.EXPIRED, lost, Bound.ABOUT if lost else "")


def test_transaction_markers_are_not_taken_for_lost_records():
    world = still_world()
    noted = noted_of(world, planned(world))
    world.sources[0].records[17] = world.sources[0].records[17]._replace(kind="marker", text="")
    expire_and_go_on(world)
    second = planned(world, noted)
    assert (second.offset, second.lost) == (8, None)
    assert "lost on both clusters: at most 4 records, transaction markers" in second.detail


@pytest.mark.parametrize(("recopied", "start"), [([], 10), ([8], 10)])
def test_an_offset_that_stays_says_nothing_where_the_destination_has_all_that_has_expired(recopied, start):
    world = still_world(on_expired="fail")
    for offset in recopied:
        world._write(world.sources[0].records[offset], 0, 0)
    world._write(world.sources[0].records[10], 0, 0)
    first = planned(world)
    world.sources[0].expire(start)
    second = planned(world, noted_of(world, first))
    assert (second.offset, second.verdict, second.lost, second.detail) == (8, Verdict.EXACT, 0, "")


def otherwise(world, at):
    """Another record is at this offset of the destination."""
    world.copies[0].records[at] = world.copies[0].records[at]._replace(text="another")


@pytest.mark.parametrize(
    ("change", "committed"),
    [
        pytest.param(lambda world: otherwise(world, 7), COMMITTED, id="last consumed"),
        pytest.param(lambda world: otherwise(world, 13), COMMITTED, id="unconsumed"),
        pytest.param(lambda world: world.copies[0].expire(8), COMMITTED, id="expired at the destination"),
        pytest.param(lambda _world: None, COMMITTED + 1, id="consumed since"),
    ],
)
def test_nothing_that_may_be_another_log_s_is_kept_after_retention(change, committed):
    world = still_world(others=5)
    first, noted = planned_and_noted(world)
    world.sources[0].expire(14)
    change(world)
    assert planned(world, noted, committed) == planned(world, committed=committed) != first


def test_nothing_is_kept_after_retention_of_a_source_topic_without_an_id():
    world = still_world(others=5)
    noted = noted_of(world, planned(world))
    unknown = dataclasses.replace(noted, source_traits=noted.source_traits._replace(topic_ids={"orders": None}))
    world.sources[0].expire(14)
    assert planned(world, unknown) == planned(world) != planned(world, noted)


@pytest.mark.parametrize("gone_on", [0, 4, 6])
def test_fail_blocks_where_unconsumed_records_are_on_neither_cluster(gone_on):
    world = still_world(on_expired="fail")
    noted = noted_of(world, planned(world))
    expire_and_go_on(world, gone_on)
    second = planned(world, noted)
    assert (second.offset, second.reason) == (None, Reason.POLICY_FAIL)


@pytest.mark.parametrize("copied", [0, 3])
def test_an_offset_stays_before_what_others_have_written_once_the_last_consumed_record_has_expired(copied):
    world = still_world(others=5)
    first, noted = planned_and_noted(world)
    world.sources[0].expire(COMMITTED)
    for record in world.sources[0].records[10 : 10 + copied]:
        world._write(record, 0, 0)
    assert planned(world).offset == COMMITTED + 5, "nothing tells whether the group has consumed them"
    second = planned(world, noted)
    assert (first.offset, second.offset, second.verdict, second.repeats) == (8, 8, Verdict.EXACT, 0)
    assert second.evidence.before == first.evidence.before
    assert planned(world, noted_of(world, second)) == second


@pytest.mark.parametrize(("log_start", "was", "offset"), [(50, 50, 50), (51, 50, 80), (0, 0, 0)])
def test_an_offset_by_retention_stays_until_the_destination_s_log_starts_after_it(monkeypatch, log_start, was, offset):
    entry = by_option(planned(still_world()), 80)
    assert planned_after(monkeypatch, entry, previous=by_option(entry, was), log_start=log_start).offset == offset


def by_option(entry, offset, detail="by retention"):
    return dataclasses.replace(entry, verdict=Verdict.SAFE, reason=Reason.CAUGHT_UP, offset=offset, detail=detail)


def planned_after(monkeypatch, entry, committed=None, *, stood=COMMITTED, previous=None, joined=True, log_start=0):
    """What becomes of an entry after the previous plan's.

    committed: what the group has committed by now, if it was set to 50 before.
    """
    (at,) = entry.source
    traits = Traits((), {"orders": "id"}, {"orders": (LogRange(log_start, 100),)})
    receipt, readings = None, {}
    if committed is not None:
        set_to = CommittedOffset(50), CommittedOffset(50), (Origin(at.group, at.partition),)
        receipt = Receipt("d", (ReceiptEntry(*entry.key, None, *set_to, stood=(stood,)),))
        offsets = {entry.partition: CommittedOffset(committed)}
        protocol = "consumer" if joined else ""
        readings[entry.group] = GroupReading(entry.group, True, "Empty", "classic", protocol, offsets)
    monkeypatch.setattr(expected.groups, "read_groups", lambda *_given: readings)
    begun, earlier = (each and Plan("s", "d", "", (each,), destination_traits=traits) for each in (entry, previous))
    (made,) = expected.with_expected(begun, DESTINATION, earlier, receipt).entries
    return made


@pytest.mark.parametrize("policy", ["fail", "first_visible", "count_back"])
def test_an_offset_stays_whatever_is_copied_and_expires_before_the_group_goes_on(policy):
    world = World(Manner(size=2, contents="unlike"), "x 1")
    world.happen = lambda: None
    world.options = lambda: Options(now=world.now, on_expired=policy)
    entry = None
    for start, end in ((0, 8), (8, 8), (8, 11), (11, 11)):
        noted = plan_noted(world, {entry.key: entry} if entry else {})
        world.sources[0].expire(start)
        while world.sources[0].end < end:
            world._produce()
        for record in world.sources[0].records[end - 3 if entry else 0 : end]:
            if record.offset >= start:
                world._write(record, 0, 0)
        entry = planned(world, noted)
        assert (entry.offset, entry.verdict) == (COMMITTED, Verdict.EXACT), start


def test_such_an_offset_of_merged_groups_stays_as_well(monkeypatch):
    first, later = (
        dataclasses.replace(by_option(planned(still_world()), at), reason=Reason.GROUPS_MERGED, chosen=Reason.CAUGHT_UP)
        for at in (80, 90)
    )
    assert planned_after(monkeypatch, later, previous=first) == first


@pytest.mark.parametrize("offset", [70, 90])
def test_another_value_of_the_option_is_another_decision(monkeypatch, offset):
    first = by_option(planned(still_world()), 80)
    other = by_option(first, offset, "the end, as asked")
    assert planned_after(monkeypatch, other, previous=first) == other


@pytest.mark.parametrize(
    ("verdict", "more", "offset"),
    [
        (Verdict.SAFE, {}, 50),
        (Verdict.SAFE, {"joined": False}, 50),
        (Verdict.SAFE, {"log_start": 60}, 60),
        (Verdict.SAFE, {"stood": COMMITTED - 1}, 80),
        (Verdict.REQUESTED, {}, 50),
        (Verdict.REQUESTED, {"joined": False}, 50),  # of groups that are merged at their highest offset
        (Verdict.REQUESTED, {"stood": None}, 50),
        (Verdict.REQUESTED, {"stood": None, "joined": False}, 80),  # before a cut-over, the end moves on
    ],
)
def test_a_group_that_was_set_before_goes_no_further_by_an_option(monkeypatch, verdict, more, offset):
    entry = dataclasses.replace(by_option(planned(still_world()), 80), verdict=verdict, repeats=0, skipped=40)
    is_uncommitted = "stood" in more and more["stood"] is None
    if is_uncommitted:  # by on_uncommitted
        entry = dataclasses.replace(entry, source=(entry.source[0]._replace(offset=None),))
    made = planned_after(monkeypatch, entry, 50, **more)
    assert made.offset == offset and ("not after 50" in made.detail) is (offset < 80)
    assert made.repeats == (0 if is_uncommitted or offset == 80 else None)
    assert made.skipped == 40 - (80 - offset)


@pytest.mark.parametrize(("lacking", "offset"), [("before", 50), ("after", 80)])
def test_a_group_goes_no_further_by_the_first_unconsumed_record_alone(monkeypatch, lacking, offset):
    entry = planned(still_world())
    entry = dataclasses.replace(entry, offset=80, evidence=entry.evidence._replace(**{lacking: None}))
    made = planned_after(monkeypatch, entry, 50)
    assert made.offset == offset
    if offset == 50:  # the proof was of another offset
        assert (made.verdict, made.reason, made.repeats) == (Verdict.SAFE, Reason.EXPIRED, None)
        assert made.evidence.certificate is None and made.detail.startswith("not after 50")


@pytest.mark.parametrize(("committed", "joined"), [(50, False), (50, True), (60, True)])
def test_a_second_run_finds_the_plan_of_such_a_group_as_it_was(monkeypatch, committed, joined):
    first = dataclasses.replace(by_option(planned(still_world()), 50), repeats=50)
    later = dataclasses.replace(by_option(first, 80), repeats=20)
    assert planned_after(monkeypatch, later, committed, previous=first, joined=joined) == first


@pytest.mark.parametrize(("more", "offset"), [({}, 50), ({"joined": False}, 90), ({"offset": 40}, 40)])
def test_the_plan_of_a_group_that_has_consumed_stays_unless_what_was_set_was_wrong(monkeypatch, more, offset):
    first = dataclasses.replace(planned(still_world()), offset=50)
    later = dataclasses.replace(first, offset=more.pop("offset", 90))
    assert planned_after(monkeypatch, later, 60, previous=first, **more).offset == offset


def test_what_an_open_transaction_hid_may_end_and_expire_before_it_is_read():
    world = still_world()
    log = world.sources[0]
    for number in range(5):
        log.add(Original(0, world._tick(), f"hidden-{number}", "open"))
    requests = Requests(world)
    read, expired = requests.read_ranges, []

    def read_later(connection, wanted, **options):
        if connection is not DESTINATION and not expired:
            log.finish("data", world.now)
            log.expire(log.end - 2)
            expired.append(log.start)
        return read(connection, wanted, **options)

    requests.read_ranges = read_later
    (entry,) = driven.plan(requests, [[19]]).values()
    assert expired and entry.offset is not None
