# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which libraries are needed, which are missing, and what stands for their names, so that a module can start and say so."""

from __future__ import annotations

import importlib.metadata
import re
import typing as t

# Distribution, lowest version, first version that is too new.
Requirement: t.TypeAlias = "tuple[str, tuple[int, ...], tuple[int, ...] | None]"
# requirements.txt says the same. Of kafka-python, the control plane has private parts that _control works around.
CONTROL: tuple[Requirement, ...] = (("kafka-python", (3, 0, 12), (3, 1)),)
RECORDS: tuple[Requirement, ...] = (("confluent-kafka", (2, 10), None), ("xxhash", (3, 0), None))
# requirements-spark.txt says the same.
SPARK: tuple[Requirement, ...] = (("pyspark", (4, 0), (5,)), ("pyarrow", (18,), None), ("pandas", (2, 2), (4,)))


class _StandIn(type):
    """A class for a missing name: its attributes and subclasses are missing, too, and a call tells why."""

    reason: ImportError

    def __getattr__(cls, name: str) -> _StandIn:
        if name.startswith("__"):  # what Python itself asks a class or a module for
            raise AttributeError(name)
        return _StandIn(name, (), {"reason": cls.reason})

    def __call__(cls, *_arguments: t.Any, **_options: t.Any) -> t.NoReturn:
        raise cls.reason


def stand_ins(reason: ImportError) -> t.Callable[[str], t.Any]:
    """A module's __getattr__ (PEP 562) for the names that an import has not brought; `reason` is why."""
    return _StandIn("", (), {"reason": reason}).__getattr__


def unmet(requirements: t.Iterable[Requirement]) -> list[str]:
    """One clause for each library that is missing, too old or too new."""
    problems = []
    for name, lowest, too_new in requirements:
        wanted = f"{name} >= {version_text(lowest)}" + (f", < {version_text(too_new)}" if too_new else "")
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{wanted} is missing")
            continue
        version = tuple(int(part) for part in re.findall(r"\d+", installed)[:3])
        if version < lowest or (too_new and version >= too_new):
            problems.append(f"{wanted} is needed, and {installed} is installed")
    return problems


def version_text(version: tuple[int, ...]) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))
