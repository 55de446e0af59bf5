"""One log and one that holds its copies: what the rule says of them, and what the definition says of any offset."""

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.content import Content, tallies
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.counting import Logs, LogSet
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import Answer, GroupCount
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.lost import Sighting, copies_of_lost
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record


class Judgement(t.NamedTuple):
    """What an offset does to a group: records that it misses, that it reads again at most, and that no copy is there of."""

    skipped: int
    repeated: int
    absent: int


class OneLog:
    """Both logs, read whole. name: a record's content. start, end: of the log of the copies."""

    def __init__(
        self,
        source: t.Sequence[Record],
        copies: t.Sequence[Record],
        name: t.Callable[[Record], t.Any] = lambda record: record.fingerprint,
        *,
        end: int,
        start: int = 0,
        timestamps: bool = True,
        **more: t.Any,
    ) -> None:
        self.start, self.end = start, end
        source_end = max((record.offset + 1 for record in source), default=0)
        family = more.pop("otherwise", name)

        def named(records: t.Iterable[Record]) -> list[Record]:
            return [record._replace(fingerprint=name(record), bare=family(record)) for record in records]

        logs = LogSet([named(source)], (0,), (source_end,)), LogSet([named(copies)], (start,), (end,))
        self._logs = Logs(*logs, timestamps=timestamps, aborted=named(more.pop("aborted", ())), **more)
        if timestamps and more.get("lossy"):
            times = [None if copy.log_append_time else copy.timestamp for copy in copies]
            lost = copies_of_lost(
                [Sighting(name(record), record.timestamp, 0, record.offset) for record in source],
                [Sighting(name(copy), time, 0, copy.offset) for copy, time in zip(copies, times, strict=True)],
            )
            copies = [copy for copy in copies if (0, copy.offset) not in lost]
        contents: dict[t.Hashable, tuple[list[t.Any], list[t.Any]]] = collections.defaultdict(lambda: ([], []))
        for record in source:
            contents[name(record)][0].append((record.offset, record.timestamp))
        for copy in copies:
            own = timestamps and not copy.log_append_time
            contents[name(copy)][1].append((copy.offset, copy.timestamp if own else None))
        self._contents = [Content(*both) for both in contents.values()]

    def count(self, committed: int) -> GroupCount:
        return self._logs.count([(committed,)])[0]

    def answer(self, committed: int) -> Answer:
        return self.count(committed).answers[0]

    def judge(self, committed: int, offset: int) -> Judgement:
        """Content by content, without any of what makes counting quick."""
        sums = collections.Counter[str]()
        for source, copies in self._contents:
            consumed = collections.Counter(time for place, time in source if place < committed)
            unconsumed = collections.Counter(time for place, time in source if place >= committed)
            for count in tallies(consumed, unconsumed, copies):
                sums["skipped"] += count.skipped(offset)
                sums["repeated"] += count.repeated(offset)
                sums["absent"] += count.absent
        return Judgement(sums["skipped"], sums["repeated"], sums["absent"])
