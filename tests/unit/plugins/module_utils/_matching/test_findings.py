"""The rule is right where an earlier version of it was not, in short logs, which it counts, and in long ones."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog, settle
from tests.support.findings import FINDINGS, Finding, world
from tests.support.listed_clusters import Cluster


def log(cluster: Cluster, before: int) -> FullLog:
    """With so many consumed records before everything else, which are not there where the log has lost records."""
    facts, records = cluster.facts, [*cluster.records, *cluster.hidden]
    earlier = [Record(at, at - 9 * before, b"earlier %d" % at, b"earlier %d" % at) for at in range(before)]
    moved = {name: getattr(facts, name) + before for name in ("end", "high_watermark")}
    start = facts.log_start + before if facts.log_start else 0
    later = [record._replace(offset=record.offset + before) for record in records]
    return FullLog(
        dataclasses.replace(facts, log_start=start, **moved),
        [each for each in [*earlier, *later] if each.offset >= start],
    )


@pytest.mark.parametrize("before", [0, 300], ids=["short logs", "long logs"])
@pytest.mark.parametrize("finding", FINDINGS, ids=str)
def test_the_rule_is_right_where_it_was_not(finding: Finding, before: int) -> None:
    clusters = world(finding.source, finding.copies, **finding.edges)
    decision = settle(
        finding.committed + before, log(clusters.source, before), log(clusters.destination, before)
    ).decision
    offset = None if decision.offset is None else decision.offset - before
    assert (decision.verdict, offset, decision.repeats, decision.reason) == finding.right
