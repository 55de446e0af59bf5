"""What stands at the destination, as plain consumers see it, against what must stand there."""

import bisect
import collections
import itertools
import time
import typing as t

from testbed.clients import Commits, Headers, Message, Servers, Stored, committed, read

Wanted = dict[int, list[Stored]]  # by partition, in order
_SIZE = 100  # bytes of a value
_MONTH = 30 * 86_400_000  # milliseconds


class Harm(t.NamedTuple):
    """How many records, offsets of groups (misplaced) or other things are not as they must be. example: one of them."""

    lost: int = 0
    doubled: int = 0
    misplaced: int = 0
    other: int = 0
    example: str = ""

    def __bool__(self) -> bool:
        return any(self[:4])


def numbered(partition: int, count: int) -> t.Iterator[Message]:
    """Records that each have a number of their own; keys and headers of every kind."""
    old = int(time.time() * 1000) - _MONTH
    headers: tuple[Headers, ...] = ((), (("a", b"1"), ("a", b"2"), ("n", None), ("e", b"")))
    for number in range(count):
        key = None if number % 5 == 0 else b"" if number % 11 == 0 else b"k%d" % number
        yield Message((b"%d-%d-" % (partition, number)).ljust(_SIZE, b"."), key, headers[number % 2], old, partition)


def records(cluster: Servers, topic: str, wanted: Wanted, *, complete: bool) -> Harm:
    """A copy that is, or is not, complete: what is there of a partition must be what comes first of what is wanted."""
    found: dict[int, list[Stored]] = {partition: [] for partition in wanted}
    for record in read(cluster, topic):
        found[record.partition].append(record)
    harms = [_of_partition(its, found[partition], complete) for partition, its in wanted.items()]
    example = next((harm.example for harm in harms if harm), "")
    return Harm(
        sum(harm.lost for harm in harms),
        sum(harm.doubled for harm in harms),
        sum(harm.misplaced for harm in harms),
        example=example,
    )


def _of_partition(wanted: list[Stored], found: list[Stored], complete: bool) -> Harm:
    places = {record[2:]: at for at, record in enumerate(wanted)}
    seen = [places.get(record[2:]) for record in found]
    known = [at for at in seen if at is not None]
    doubled = len(known) - len(set(known))
    first = list(dict.fromkeys(known))
    misplaced = len(seen) - len(known) + sum(before > after for before, after in itertools.pairwise(first))
    due = len(wanted) if complete else max(known, default=-1) + 1
    missing = sorted(set(range(due)) - set(known))
    example = ""
    if missing:
        example = f"source offset {wanted[missing[0]].offset} of partition {wanted[0].partition} is not there"
    elif doubled:
        twice = collections.Counter(known).most_common(1)[0][0]
        example = f"source offset {wanted[twice].offset} of partition {wanted[0].partition} is there twice"
    elif misplaced:
        example = f"partition {found[0].partition} has a record that is not wanted there, or not in this place"
    return Harm(len(missing), doubled, misplaced, example=example)


def places(cluster: Servers, topic: str, wanted: Wanted, offsets: t.Mapping[int, int]) -> dict[int, int]:
    """Where a group that stands at these offsets of the source must stand in the copy, by partition."""
    found = {}
    for partition, its in wanted.items():
        copies = [record.offset for record in read(cluster, topic, [partition])]
        rank = bisect.bisect_left([record.offset for record in its], offsets[partition])
        found[partition] = [*copies, copies[-1] + 1 if copies else 0][rank]
    return found


def standing(
    cluster: Servers, topic: str, group: str, allowed: t.Sequence[t.Mapping[int, int]], *, mixed: bool
) -> Harm:
    """Where a group stands: as one of the allowed states says; mixed: each partition as any of them."""
    offsets = of_topic(committed(cluster, group), topic)
    if any(offsets == dict(state) for state in allowed):
        return Harm()
    wrong = [
        at
        for at in sorted({*offsets, *(each for state in allowed for each in state)})
        if not any(offsets.get(at) == state.get(at) for state in allowed)
    ]
    if mixed and not wrong:
        return Harm()
    return Harm(misplaced=max(1, len(wrong)), example=f"group {group} stands at {offsets}, and may at {list(allowed)}")


def of_topic(commits: Commits, topic: str) -> dict[int, int]:
    """Only the offsets, by partition."""
    return {partition: offset for (name, partition), (offset, _unused) in commits.items() if name == topic}
