"""Where windows are cut, held against its definition, which looks at every pair of records."""

import collections

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import (
    SingleContent,
    Windows,
    aligned,
    pair_runs,
    window,
)

ENDS = st.integers(0, 40)


@st.composite
def windows(draw):
    """One or two partitions on each side, with windows of any reach."""

    def side():
        return tuple(
            window(draw(ENDS), draw(st.integers(0, 3)), draw(ENDS), draw(st.sampled_from([None, 1, 5, 20])))
            for _partition in range(draw(st.integers(1, 2)))
        )

    return Windows(side(), side())


def pairs_of(its, shifts):
    """A single content for each offset of each source partition, copied in order, but for those that are shifted."""
    pairs, taken = [], set()
    for number, shift in enumerate(shifts):
        source_place, source = number % len(its.source), number // len(its.source)
        place, offset = number % len(its.destination), source + shift
        if offset >= 0 and (place, offset) not in taken:
            taken.add((place, offset))
            pairs.append(SingleContent(source_place, source, place, offset))
    return pairs


def outermost(offsets, partition, default):
    """Of what stands after a partition's offset, by the partition of the other side, all but one in 16."""
    found = [sorted(its)[len(its) - 1 - len(its) // 16] for (at, _other), its in offsets.items() if at == partition]
    return min(found, default=default)


def cut(its, pairs):
    """The definition of aligned(): each pair that stands in both windows is looked at."""
    if its.is_complete:
        return its
    source_windows, destination_windows = its.source, its.destination
    source_nears, destination_nears, destination_lows = (collections.defaultdict(list) for _kind in range(3))
    seen = collections.defaultdict(list)
    for source_place, source_offset, place, offset in pairs:
        source_window, destination_window = source_windows[source_place], destination_windows[place]
        if not (
            source_window.low <= source_offset < source_window.high
            and destination_window.low <= offset < destination_window.high
        ):
            continue
        seen[source_place].append(source_offset)
        if source_offset >= source_window.at:
            source_nears[source_place, place].append(source_offset)
        if offset >= destination_window.at:
            destination_nears[place, source_place].append(offset)
        else:
            destination_lows[place, source_place].append(-offset)
    if any(each.cut_below for each in its.destination):
        source_windows = tuple(
            each._replace(seen=min(seen[at]) if len(seen[at]) >= 4 else each.high)  # fewer may be there by chance
            for at, each in enumerate(source_windows)
        )
    if any(each.cut_above for each in its.destination):
        source_windows = tuple(
            each._replace(near=min(each.near, outermost(source_nears, at, each.at - 1) + 1))
            for at, each in enumerate(source_windows)
        )
    if any(each.cut_above for each in its.source):
        destination_windows = tuple(
            each._replace(near=outermost(destination_nears, at, each.at - 1) + 1)
            for at, each in enumerate(destination_windows)
        )
    if any(each.cut_below for each in its.source):
        destination_windows = tuple(
            each._replace(low=-outermost(destination_lows, at, -each.at)) for at, each in enumerate(destination_windows)
        )
    return Windows(source_windows, destination_windows)


@given(windows(), st.lists(st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, -1, 9]), max_size=80))
def test_windows_are_cut_where_the_definition_cuts_them(its, shifts):
    pairs = pairs_of(its, shifts)
    assert aligned(its, pair_runs(pairs)) == cut(its, pairs)


def test_a_faithful_copy_is_one_run():
    pairs = [SingleContent(0, offset, 0, offset + 3) for offset in range(1000)]
    (run,) = pair_runs(reversed(pairs))
    assert (run.sources[0], run.offsets[-1], len(run.sources)) == (0, 1002, 1000)
