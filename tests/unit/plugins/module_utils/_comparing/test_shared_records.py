"""What a claim is told depends on its own extents, whatever was read for others."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Windows, aligned, window
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.offset_counts import Contents
from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.shared_records import SharedRecords
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Span
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

Logs = list[list[Record]]
END = 12
# Some contents are likely to occur once, others come again.
contents = st.sampled_from("aabbccdefghijklm")
headers = st.sampled_from(["", "", "", "h"])
times = st.sampled_from([-1, 1, 2, 3, 4, 4, 5, 6])
lines = st.lists(st.tuples(contents, headers, times, st.booleans()), max_size=END)
logs = st.lists(lines, min_size=1, max_size=2)
spans = st.tuples(st.integers(0, END), st.integers(0, END)).map(sorted).map(tuple)


def log_of(line: list[tuple[str, str, int, bool]], stamps: bool) -> list[Record]:
    return [
        Record(offset, time, 16 * (text + header)[-1:].encode() + text.encode(), 16 * text.encode(), stamps and stamped)
        for offset, (text, header, time, stamped) in enumerate(line)
    ]


def cut(its: Logs, extents: list[Span]) -> Logs:
    return [[each for each in log if low <= each.offset < high] for log, (low, high) in zip(its, extents, strict=True)]


def said(contents: Contents, offset: int, parts: int, others: int) -> object:
    around = (tuple(window(offset, 0, END, 3) for _place in range(number)) for number in (parts, others))
    windows = aligned(Windows(*around), contents.landmark_runs)
    told = contents.progress, contents.headers_changed, sorted(contents.landmarks)
    return (*told, windows, contents.counts(windows, contents.progress))


@settings(max_examples=300, deadline=None)
@given(
    logs,
    logs,
    st.lists(spans, min_size=2, max_size=2),
    st.lists(spans, min_size=2, max_size=2),
    st.booleans(),
    st.sampled_from([MatchOn(), MatchOn(("key", "value")), MatchOn(("key", "value", "headers", "timestamp"))]),
    st.booleans(),
)
def test_extents_are_counted_as_if_nothing_else_had_been_read(
    source: list[list[tuple[str, str, int, bool]]],
    copies: list[list[tuple[str, str, int, bool]]],
    of_source: list[Span],
    of_copies: list[Span],
    is_lossy: bool,
    how: MatchOn,
    stamps: bool,
) -> None:
    originals, copied = [log_of(its, False) for its in source], [log_of(its, stamps) for its in copies]
    extents = of_source[: len(originals)], of_copies[: len(copied)]
    shared = SharedRecords(originals, copied, how).contents(*extents, is_lossy=is_lossy)
    alone = SharedRecords(cut(originals, extents[0]), cut(copied, extents[1]), how).contents(
        *extents, is_lossy=is_lossy
    )
    for offset in range(END + 1):
        assert said(shared, offset, len(originals), len(copied)) == said(alone, offset, len(originals), len(copied))
