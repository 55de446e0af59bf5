# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What stands for the names of a library that is not installed, so that a module can start and say so."""

from __future__ import annotations

import typing as t


class _StandIn(type):
    """A class for a missing name: its attributes and subclasses are missing, too, and a call tells why."""

    reason: ImportError

    def __getattr__(cls, name: str) -> _StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(name, (), {"reason": cls.reason})

    def __call__(cls, *_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
        raise cls.reason


def stand_ins(reason: ImportError) -> t.Callable[[str], t.Any]:
    """A module's __getattr__ (PEP 562) for the names that an import has not brought; `reason` is why."""

    def get(name: str) -> _StandIn:
        if name.startswith("__"):  # what Python itself asks a module for
            raise AttributeError(name)
        return _StandIn(name, (), {"reason": reason})

    return get
