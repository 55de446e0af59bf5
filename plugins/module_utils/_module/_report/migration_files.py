# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The files of a migration as values, whether they belong together, and what a run selects of them. Pure: texts come in."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._migration._committing import rollback
from ..._model import plan, receipt, report, snapshot
from ..._model.cluster_identity import ClusterIdentity
from ..._model.errors import InvalidFile, MigrationError, OtherCluster, Refused
from ..._model.option_names import option_name
from ..._model.policies import OnMismatch
from ..._model.report import Finding
from ..._model.selection import Selection
from ..digests import digest

# In the order in which a migration makes them: each must belong to those before it.
NAMES = ("snapshot.json", "plan.json", "report.json", "receipt.json")
SelectionLists = t.Mapping[str, t.Sequence[str]]
_T = t.TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationFiles:
    """What a report is made of, None for a file that is missing or left out.

    digests: the SHA-256 digest of each file that is used, by its name. left_out: why others are not, a sentence each.
    """

    snapshot: snapshot.Snapshot | None = None
    plan: plan.Plan | None = None
    report: report.Report | None = None
    receipt: receipt.Receipt | None = None
    digests: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the verification has found of each group-partition."""
        return self.report.findings if self.report is not None else ()

    @property
    def source(self) -> ClusterIdentity | None:
        """The source cluster, None where no file knows it."""
        if self.plan is not None and self.plan.source_id:
            return self.plan.source_identity
        return self.snapshot.identity if self.snapshot is not None else None

    @property
    def destination(self) -> ClusterIdentity | None:
        """The destination cluster, None where no file knows it."""
        if self.plan is not None:
            return self.plan.destination_identity
        return self.receipt.identity if self.receipt is not None else None


def read_files(texts: t.Mapping[str, str], folder: str, on_mismatch: OnMismatch) -> MigrationFiles:
    """The files of a directory, by the texts of those that are there.

    Raises InvalidFile for a file that is damaged or of another version, and Refused for one of another migration than those
    before it. With LEAVE_OUT, such a file counts as missing, and left_out says why.
    """
    left_out: list[str] = []

    def read(name: str, from_json: t.Callable[[str, str], _T], check: t.Callable[[_T, str], None]) -> _T | None:
        if name not in texts:
            return None
        path = f"{folder}/{name}"
        try:
            value = from_json(texts[name], path)
            check(value, path)
        except (InvalidFile, Refused) as exc:
            if on_mismatch is OnMismatch.FAIL:
                raise
            left_out.append(str(exc))
            return None
        used[name] = digest(texts[name])
        return value

    used: dict[str, str] = {}
    taken = read("snapshot.json", snapshot.from_json, lambda _value, _path: None)
    planned = read("plan.json", plan.from_json, lambda value, path: _check_plan(value, taken, path))
    verified = read("report.json", report.from_json, lambda value, path: _check_report(value, planned, used, path))
    committed = read("receipt.json", receipt.from_json, lambda value, path: _check_receipt(value, planned, path))
    return MigrationFiles(taken, planned, verified, committed, used, tuple(left_out))


def _check_plan(made: plan.Plan, taken: snapshot.Snapshot | None, path: str) -> None:
    # A plan of checkpoints knows no source, and keeps no snapshot.
    if taken is None or not made.source_id:
        return
    difference = made.source_identity.difference(taken.identity)
    if difference is not None:
        raise _other_cluster(path, f"its source is another cluster than that of snapshot.json, which {difference}")
    if not taken.has_digest(made.snapshot):
        raise _other(path, "it was made from another snapshot than snapshot.json", "plan again")


def _check_report(verified: report.Report, made: plan.Plan | None, used: t.Mapping[str, str], path: str) -> None:
    if made is None:
        return
    if (verified.source_id, verified.destination_id) != (made.source_id, made.destination_id):
        why = f"it compares the clusters {verified.source_id} and {verified.destination_id}, and plan.json is about"
        raise _other_cluster(path, f"{why} {made.source_id} and {made.destination_id}")
    if verified.plan != used["plan.json"]:
        about = "no plan" if verified.plan is None else "another plan than plan.json"
        raise _other(path, f"it is about {about}", "verify the plan again")


def _check_receipt(written: receipt.Receipt, made: plan.Plan | None, path: str) -> None:
    difference = made and written.identity.difference(made.destination_identity)
    if difference is not None:
        raise _other_cluster(path, f"its cluster is another one than the destination of plan.json, which {difference}")


def _other_cluster(path: str, why: str) -> Refused:
    return _other(path, why, "name the directory of one migration", OtherCluster)


def _other(path: str, why: str, again: str, error: type[Refused] = Refused) -> Refused:
    return error(
        f"{path} does not belong to the files beside it",
        why=why,
        remedy=f"{again}, or set {option_name('on_mismatch')} to leave_out to make the report without this file",
    )


def has_groups(selection: SelectionLists) -> bool:
    """Whether groups were selected. A rollback without any takes everything that the receipt holds."""
    return bool(selection.get("groups") or selection.get("group_patterns"))


def selected_entries(
    written: receipt.Receipt | None, selection: SelectionLists, *, has_ended: bool
) -> tuple[receipt.ReceiptEntry, ...] | None:
    """The entries that a rollback with this selection takes, None where it is refused, as for a misspelt name.

    has_ended: the rollback has ended well, so that it has left out the names that the receipt does not have.
    """
    if written is None:
        return ()
    given: dict[str, t.Any] = {name: tuple(chosen) for name, chosen in selection.items()}
    chosen = Selection(**given) if has_groups(selection) else None
    if chosen is not None and has_ended:
        chosen, _note = rollback.without_left_out(
            written, chosen, lambda: (*given.get("groups", ()), *given.get("topics", ()))
        )
    try:
        return rollback.choose(written, chosen, "").entries
    except MigrationError:
        return None
