# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Groups whose commits expire by an old clock, and what is left to do of a renewal that was killed. Pure.

While a group of the classic protocol is empty, brokers count offsets.retention.minutes from when its last member has left,
and a commit does not change that. Only a group that never had members, or whose members have committed since, counts from
the commit: org.apache.kafka.coordinator.group.classic.ClassicGroup.offsetExpirationCondition().
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.group_state import CommittedOffset, GroupReading
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name, ways
from .._model.receipt import Key, Receipt
from .._model.snapshot import SnapshotEntry
from .._model.wording import first_names

Readings = t.Mapping[str, GroupReading]


def expiring(readings: Readings, names: t.Collection[str]) -> list[str]:
    """The groups that are empty and had members once; no broker tells since when they are empty."""
    return [name for name in sorted(names) if _expires(readings[name])]


def note(names: t.Sequence[str], retention: int | None) -> Note:
    """Of these groups. retention: offsets.retention.minutes, None where the user may not read it."""
    minutes = "offsets.retention.minutes" + (f" ({retention})" if retention is not None else "")
    return Note(
        NoteKind.OFFSETS_EXPIRE,
        f"Empty now, and had members: {first_names(names)}. The committed offsets of such a group expire {minutes} "
        "after its last member has left, and a commit does not change that. No request tells when that was. "
        + ways(("", "Start the consumers soon"), ("on_expiring", f"set {option_name('on_expiring')} to renew"))
        + ".",
    )


def missing_commits(receipt: Receipt, readings: Readings) -> dict[Key, CommittedOffset]:
    """What a renewal that was killed has not made again, of the groups that were read."""
    return {
        (entry.group, entry.partition): entry.committed
        for entry in receipt.renewing
        if entry.group in readings and entry.partition not in readings[entry.group].offsets
    }


def completed(readings: Readings, missing: t.Mapping[Key, CommittedOffset]) -> dict[str, GroupReading]:
    """The groups as they would be if the renewal had not been killed."""
    offsets = {name: dict(reading.offsets) for name, reading in readings.items()}
    for (group, partition), committed in missing.items():
        offsets[group][partition] = committed
    return {name: dataclasses.replace(reading, offsets=offsets[name]) for name, reading in readings.items()}


def begun(receipt: Receipt, readings: Readings, names: t.Collection[str]) -> Receipt:
    """The receipt before these groups are removed to be made again."""
    entries = (
        SnapshotEntry(name, partition, committed)
        for name in sorted(names)
        for partition, committed in sorted(readings[name].offsets.items())
    )
    kept = (entry for entry in receipt.renewing if entry.group not in names)
    return dataclasses.replace(receipt, renewing=(*kept, *entries))


def ended(receipt: Receipt, written: t.Collection[str]) -> Receipt:
    """The receipt after everything of these groups was written."""
    return dataclasses.replace(
        receipt, renewing=tuple(entry for entry in receipt.renewing if entry.group not in written)
    )


def _expires(reading: GroupReading) -> bool:
    had_members = reading.type in ("classic", "unknown") and reading.protocol_type == "consumer"
    return reading.exists and reading.state == "Empty" and had_members
