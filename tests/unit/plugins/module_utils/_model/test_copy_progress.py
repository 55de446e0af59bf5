"""What the commits of a copy hold comes back, and always fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    BOUNDARIES,
    TRANSACTIONAL_IDS,
    Progress,
    Run,
    host_name,
    progress_from_commits,
    progress_groups,
    progress_metadata,
    progress_of,
    transactional_id,
    transactional_number,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

MOST = 2**63 - 1
FITS = 4095  # bytes that confluent-kafka leaves of offset.metadata.max.bytes
offsets = st.integers(0, MOST) | st.integers(MOST - 1000, MOST)
runs = st.builds(Run, st.uuids().map(lambda id_: id_.hex[:12]), st.text().map(host_name), offsets, offsets)
LONGEST = Run("f" * 12, host_name("h" * 100), 4_194_304, 99_999_999_999)


def commits(progress: Progress, boundaries: list[int], nul: str = "") -> list[CommittedOffset | None]:
    """What every group commits for the range."""
    where = TopicPartition("orders", 0)
    groups = progress_groups("copy", [BacklogRange(where, 0, MOST, where, 0, tuple(boundaries))])
    texts = progress_metadata(progress, boundaries)
    assert len(texts) == len(groups)
    return [None if text is None else CommittedOffset(progress.position, text + nul) for text in texts]


@given(
    st.lists(offsets, max_size=3 * BOUNDARIES, unique=True).map(sorted),
    st.builds(
        Progress,
        offsets,
        offsets,
        offsets,
        st.none() | offsets,
        offsets,
        offsets,
        end=offsets,
        run=st.none() | runs,
        throttled=st.integers(0, 100_000),
    ),
    st.data(),
)
def test_progress_comes_back(boundaries, progress, data):
    reached = data.draw(st.integers(0, len(boundaries)))
    progress.places = {offset: data.draw(offsets) for offset in boundaries[:reached]}
    for nul in ("", "\0"):  # with which confluent-kafka ends metadata
        assert progress_from_commits(0, commits(progress, boundaries, nul)) == progress


@pytest.mark.parametrize("count", [0, 1, BOUNDARIES, BOUNDARIES + 1, 3 * BOUNDARIES])
def test_the_largest_numbers_fit(count):
    boundaries = list(range(MOST - count, MOST))
    progress = Progress(MOST, MOST, MOST, MOST, MOST, MOST, dict.fromkeys(boundaries, MOST), MOST, LONGEST, 100_000)
    found = commits(progress, boundaries)
    assert len(found) == max(1, -(-count // BOUNDARIES))
    assert all(each is not None and len(each.metadata.encode()) <= FITS for each in found)
    assert progress_from_commits(0, found) == progress


@pytest.mark.parametrize("reached", [BOUNDARIES + 1, 3 * BOUNDARIES])
def test_progress_of_which_a_further_group_was_removed_is_lost(reached):
    boundaries = list(range(3 * BOUNDARIES))
    where = TopicPartition("orders", 0)
    each = BacklogRange(where, 0, 1000, where, 0, tuple(boundaries))
    progress = Progress(reached, next=7, places={offset: offset + 7 for offset in boundaries[:reached]})
    found = commits(progress, boundaries)
    assert progress_of(each, found) == progress
    assert progress_of(each, [found[0], None, *found[2:]]) is None
    assert progress_of(each, [None, *found[1:]]) is None
    first = progress_of(each, found[:1])  # whoever asks for no more needs no places
    assert first is not None and first.position == reached


def test_a_range_without_commits_is_at_its_start():
    assert progress_from_commits(7, [None, None]) == Progress(7)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "|",
        "1 2 3|",
        "1 2 - 0 0|5",
        "1 2 - 0 0|5:6",
        "1 2 - 0 0 9 id x 1 host 0|",
        "1 2 - 0 0 9 id 1 1 host|",
        "a b c d e|",
    ],
)
def test_what_no_copy_has_committed_is_refused(text):
    with pytest.raises(ValueError):
        progress_from_commits(0, [CommittedOffset(5, text)])
    where = TopicPartition("orders", 0)
    assert progress_of(BacklogRange(where, 0, 9, where, 0), [CommittedOffset(5, text)]) is None


def test_one_prefix_covers_every_name():
    where = TopicPartition("orders", 0)
    names = progress_groups("streamshift-copy-1", [BacklogRange(where, 0, 9, where, 0)])
    assert all(name.startswith("streamshift-") for name in [*names, transactional_id("streamshift-copy-1", 3)])


def test_partitions_of_a_topic_are_spread_over_the_transactional_ids():
    for partitions in (1, 4, TRANSACTIONAL_IDS):
        numbers = {transactional_number(TopicPartition("orders", at)) for at in range(partitions)}
        assert len(numbers) == partitions and numbers <= set(range(TRANSACTIONAL_IDS))


def test_the_transactional_id_of_a_partition_never_changes():
    """Another release, too, must meet in the same one: these are written down, not computed."""
    numbers = [transactional_number(TopicPartition(topic, 7)) for topic in ("orders", "payments", "\N{SNOWMAN}")]
    assert numbers == [5, 9, 11]
