# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Values by what they have in common, in the order in which they come. Pure."""

from __future__ import annotations

import typing as t

_T = t.TypeVar("_T")
_Key = t.TypeVar("_Key", bound=t.Hashable)
_Inner = t.TypeVar("_Inner", bound=t.Hashable)
_Value = t.TypeVar("_Value")


def values_by_key(pairs: t.Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """All values of each key."""
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def nested(rows: t.Iterable[tuple[tuple[_Key, _Inner], _Value]]) -> dict[_Key, dict[_Inner, _Value]]:
    """What is known of (group, partition), as the partitions of each group."""
    groups: dict[_Key, dict[_Inner, _Value]] = {}
    for (key, inner), value in rows:
        groups.setdefault(key, {})[inner] = value
    return groups


def chunks(values: t.Sequence[_T], size: int) -> t.Iterator[t.Sequence[_T]]:
    """The values in parts of this size; the last one may be smaller. None of no values."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
