"""What the tests of modules hand to them: two clusters that nobody asks, and small files as the use cases make them."""

import json
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt, snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import PARTS
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Verdict

SOURCE = {"bootstrap_servers": ["127.0.0.1:1"]}
DESTINATION = {"bootstrap_servers": ["127.0.0.1:2"]}
ORDERS = TopicPartition("orders", 0)

SNAPSHOT = snapshot.Snapshot(
    "S",
    (snapshot.SnapshotGroup("billing", "classic"),),
    (snapshot.SnapshotEntry("billing", ORDERS, CommittedOffset(7)),),
)


def entry(offset: int = 5, **more: object) -> plan.PlanEntry:
    """An exact entry: billing's offset 7 at the source is this one at the destination."""
    evidence = plan.Evidence(matched_by=PARTS, certificate=CertificateName.WHOLE_LOGS)
    given = {"repeats": 0, "evidence": evidence} | more
    position = plan.SourcePosition("billing", ORDERS, 7)
    return plan.PlanEntry("billing", ORDERS, offset, Verdict.EXACT, (position,), **given)  # type: ignore[arg-type]


def plan_of(*entries: plan.PlanEntry) -> plan.Plan:
    """A plan between clusters S and D."""
    return plan.Plan("S", "D", SNAPSHOT.digest(), entries)


def written(before: int | None = None, offset: int = 5) -> receipt.Receipt:
    """The receipt of a commit that was read back."""
    commits = (None if before is None else CommittedOffset(before), CommittedOffset(offset), CommittedOffset(offset))
    return receipt.Receipt("D", (receipt.ReceiptEntry("billing", ORDERS, *commits),))


def warned(result: dict[str, t.Any]) -> str:
    """The warnings of a result, as text."""
    return json.dumps(result["warnings"])


def saved(path: Path, text: str) -> str:
    """The path of a file with this text."""
    path.write_text(text, encoding="utf-8")
    return str(path)
