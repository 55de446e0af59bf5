# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about groups whose records MirrorMaker 2 copies: how exactly does who put them where, and at what cost?"""

from __future__ import annotations

import itertools
import statistics
import typing as t

from testbed.clients import change_topic, committed, delete_records
from testbed.mirror_maker import ALIAS, TARGET_ALIAS
from tests.benchmark.bed import Bed, filled, stand
from tests.benchmark.loads import Commits, Load, create
from tests.benchmark.measure import Run, record_numbers
from tests.benchmark.migration import Migration
from tests.benchmark.mirroring import LEFT_AT_DESTINATION, LEFT_AT_SOURCE, Cluster, Rival, remove
from tests.benchmark.tables import median, row, title

REPEATS = 3
EXPIRED = 3  # records that the source had before MirrorMaker 2 came, so that offsets differ
POLICY = {"name": "default", "source_alias": ALIAS}
SEARCH_LIMIT = 100_000  # records that are read without Spark, by default
WITH_SYNCS, WITHOUT = "with offset-syncs", "without"
STRATEGIES: dict[str, dict[str, t.Any]] = {
    WITH_SYNCS: {"strategy": "mirror_maker", "replication_policy": {**POLICY, "target_alias": TARGET_ALIAS}},
    WITHOUT: {"strategy": "records", "replication_policy": POLICY},
}
# The timestamps of the destination's topics: the records' own, and the destination's.
STAMPS = ("CreateTime", "LogAppendTime")

_number = itertools.count()


def sync(bed: Bed) -> None:
    """Where do groups stand after MirrorMaker 2's own sync, and where after ours? What does a round cost with no news?"""
    loads = mirrored, synced = filled(bed, "mirrored", EXPIRED), filled(bed, "synced", EXPIRED)
    copies = [load._replace(name=f"{ALIAS}.{load.name}") for load in loads]
    source, destination = Cluster([bed.source.near]), Cluster([bed.destination.near])
    for load, copy in zip(loads, copies, strict=True):
        for topic in load.topic_names:
            delete_records(source, topic, dict.fromkeys(range(load.partitions), EXPIRED))
        stand(bed.source, _commits(load))
        create(bed.destination.near, copy)
    change_topic(destination, copies[0].topic_names[1], message_timestamp_type=STAMPS[1])
    try:
        _exactness(bed, mirrored, _mirrored(bed, source, destination, mirrored, synced))
        _rounds(bed, synced)
    finally:
        remove(bed.source.near, (*mirrored.topic_names, *synced.topic_names, *LEFT_AT_SOURCE))
        remove(bed.destination.near, [name for load in copies for name in load.topic_names])
        remove(bed.destination.near, LEFT_AT_DESTINATION)


def _commits(load: Load) -> Commits:
    """What the groups have committed at the source."""
    return {group: {where: offset + EXPIRED for where, offset in its.items()} for group, its in load.commits().items()}


def _mirrored(bed: Bed, source: Cluster, destination: Cluster, mirrored: Load, synced: Load) -> dict[str, int | None]:
    """Let MirrorMaker 2 copy all topics and commit for the groups of the first ones. -> what it has committed for each."""
    groups = list(mirrored.commits())
    with Rival(
        bed.folder / "mirror-maker",
        source,
        destination,
        topics=f"{mirrored.name}-.*,{synced.name}-.*",
        groups=f"{mirrored.name}-.*",
        identity=False,
        more={"tasks.max": 2},
    ) as mirror_maker:
        mirror_maker.wait_until_caught_up([*mirrored.topic_names, *synced.topic_names])
        mirror_maker.wait_until_groups_stand(groups[:6])  # it commits for all of them in the same turn
    stands = {group: committed(destination, group) for group in groups}
    return {group: min((offset for offset, _metadata in its.values()), default=None) for group, its in stands.items()}


def _exactness(bed: Bed, load: Load, own: t.Mapping[str, int | None]) -> None:
    """Compare where MirrorMaker 2 and we send groups, by the numbers that plain consumers read there."""
    repeated: dict[str, list[int]] = {}
    runs: dict[str, list[Run]] = {}
    for stamps, topic in zip(STAMPS, load.topic_names, strict=True):
        wanted = {group: at[topic, 0] for group, at in _commits(load).items() if (topic, 0) in at}
        its = _migration(bed, {group: {(topic, 0): offset} for group, offset in wanted.items()})
        its.snapshot()
        offsets = {group: offset for group in wanted if (offset := own[group]) is not None}
        if without := wanted.keys() - offsets.keys():
            print(f"  MirrorMaker 2 has committed nothing for {len(without)} of {len(wanted)} groups", flush=True)
        repeated[f"{stamps}, MirrorMaker 2's own sync"] = _repeated(bed, topic, wanted, offsets)
        for _again in range(1 if bed.short else REPEATS):
            for name, options in STRATEGIES.items():
                its.forget("plan")
                run = its.translate(with_children=True, **options)
                runs.setdefault(f"{stamps}, {name}", []).append(run)
                ours = {entry["group"]: entry["offset"] for entry in run.result["entries"]}
                repeated.setdefault(f"{stamps}, {name}", []).extend(_repeated(bed, topic, wanted, ours))
    count = load.groups // load.topics
    print(f"\nsync: {count} groups, each anywhere in a topic of {load.records:,} records that MirrorMaker 2 has copied")
    print(f"  {'records repeated':<44}{'mean':>9}{'most':>11}{'exact':>11}")
    for name, each in repeated.items():
        exact = f"{each.count(0) / len(each):.0%}"
        print(f"  {name:<44}{statistics.mean(each):>9,.0f}{max(each):>11,}{exact:>11}")
    title(f"sync: the plan for {count} groups (kafka_offset_translate)")
    for name, taken in runs.items():
        read = f"{taken[0].result['records_read'] / count:,.0f} records read for a group"
        if name == f"{STAMPS[1]}, {WITHOUT}" and load.records > SEARCH_LIMIT:
            read = f"{2 * load.records:,} records read by Spark"
        row(name, taken, read)


def _repeated(bed: Bed, topic: str, wanted: t.Mapping[str, int], offsets: t.Mapping[str, int]) -> list[int]:
    """How many records each group would get again. Raises RuntimeError where one would be skipped."""
    its = sorted(offsets)
    next_ones = record_numbers(bed.source.near, [(topic, 0, wanted[group]) for group in its])
    given = record_numbers(bed.destination.near, [(f"{ALIAS}.{topic}", 0, offsets[group]) for group in its])
    found = [number - first for number, first in zip(next_ones, given, strict=True)]
    if min(found, default=0) < 0:
        raise RuntimeError(f"{-min(found)} records of {topic} would be skipped")
    return found


def _rounds(bed: Bed, load: Load) -> None:
    """One round for all groups, and one more after which nothing has changed, in turns."""
    partitions = load.groups * load.partitions
    title(f"sync: a round for {load.groups} groups on {load.partitions} partitions, and one with no news, in turns")
    rounds: dict[str, dict[str, list[Run]]] = {"the first": {}, "with no news": {}}
    for _again in range(1 if bed.short else REPEATS):
        its = _migration(bed, load.commits())
        for which, steps in rounds.items():
            for step, run in _round(its).items():
                steps.setdefault(step, []).append(run)
            written = steps["commit"][-1].result["written"]
            if written != (partitions if which == "the first" else 0):
                raise RuntimeError(f"{written} of {partitions} offsets were written in {which} round")
        its.roll_back()
    for which, steps in rounds.items():
        for step, runs in steps.items():
            row(f"{step}, {which}", runs)
    seconds = [sum(map(median, steps.values())) for steps in rounds.values()]
    plan = rounds["with no news"]["plan"][0].result
    print(f"  all together: {seconds[0]:.2f} s the first round, {seconds[1]:.2f} s with no news")
    print(
        f"  of {partitions:,} entries {plan['kept']:,} were taken from the plan, {plan['records_read']:,} records read"
    )


def _round(its: Migration) -> dict[str, Run]:
    """Snapshot, plan and commit with the same files. The plan's offsets are compared with the right ones."""
    taken, plan = its.snapshot(), its.translate("receipt", **STRATEGIES[WITH_SYNCS])
    # A copy's offset is the record's number.
    its.check(
        {
            group: {(f"{ALIAS}.{topic}", number): offset for (topic, number), offset in at.items()}
            for group, at in its.commits.items()
        }
    )
    return {"snapshot": taken, "plan": plan, "commit": its.commit()}


def _migration(bed: Bed, commits: Commits) -> Migration:
    return Migration(bed.folder / f"sync-{next(_number)}", bed.source.near, bed.destination.near, commits)
