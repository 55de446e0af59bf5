"""A plan with entries of most kinds, for what people see of one."""

from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict


def entry(group: str, number: int, verdict: Verdict, offset: int | None, source: int | None = 41, **more: object):
    partition = TopicPartition("orders", number)
    return PlanEntry(group, partition, offset, verdict, (SourcePosition(group, partition, source),), **more)  # type: ignore[arg-type]


LAG = {"reason": Reason.DESTINATION_LAGS, "detail": "wait", "lossless": 6}
PLAN = Plan(
    "onprem-id",
    "cloud-id",
    "digest",
    (
        entry("shipping", 0, Verdict.BLOCKED, None, **LAG),
        entry("billing", 2, Verdict.SAFE, 7, reason=Reason.TAIL_NOT_COUNTED, detail="not counted"),
        entry("billing", 0, Verdict.EXACT, 7, repeats=0, detail="nothing to say"),
        entry("billing", 1, Verdict.SAFE, 7, reason=Reason.EQUAL_RECORDS, repeats=2, detail="two are equal"),
        entry("audit", 0, Verdict.SAFE, 9, reason=Reason.EQUAL_RECORDS, repeats=2),
        entry("audit", 1, Verdict.SAFE, 9, reason=Reason.EQUAL_RECORDS, repeats=3),
        entry("audit", 2, Verdict.UNCOMMITTED, None, None),
    ),
)
