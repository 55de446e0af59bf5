# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a role or a playbook was given: its variables, and the hosts that they name. Knows nothing of templates."""

from __future__ import annotations

import dataclasses
import os
import typing as t
from types import MappingProxyType

from ansible.module_utils.common.yaml import yaml_load
from ansible.module_utils.parsing.convert_bool import boolean

_ROOT = os.path.join(os.path.dirname(__file__), "..", "..")


def role_options(role: str) -> dict[str, dict[str, t.Any]]:
    """The variables of a role of this collection, with what its argument specification says of each. None for a playbook."""
    try:
        with open(os.path.join(_ROOT, "roles", role, "meta", "argument_specs.yml"), encoding="utf-8") as file:
            options: dict[str, dict[str, t.Any]] = yaml_load(file)["argument_specs"]["main"]["options"]
    except FileNotFoundError:
        return {}
    return options


def playbooks() -> list[str]:
    """The names of this collection's playbooks."""
    return sorted(
        name.removesuffix(".yml") for name in os.listdir(os.path.join(_ROOT, "playbooks")) if name.endswith(".yml")
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """The variables of a role or playbook, whose names begin with its own.

    name: of the role or playbook. kind: which of them it is. options: all variables that it knows, by their full names, with
    what their specification says. variables: all that this host has, the collection's or not; a value may be worked out
    whenever it is read.
    """

    name: str
    kind: t.Literal["role", "playbook"]
    options: t.Mapping[str, t.Mapping[str, t.Any]]
    variables: t.Mapping[str, t.Any]

    def get(self, option: str, default: t.Any = None) -> t.Any:
        """The value of a variable by its name without the role's; the default where it is not set."""
        return self.variables.get(f"{self.name}_{option}", default)

    def flag(self, option: str) -> bool:
        """The value of such a variable that is true or false."""
        return bool(boolean(self.get(option, False), strict=False))

    def number(self, option: str) -> float:
        """The value of such a variable that is a number, 0 where it is none."""
        return number(self.get(option))

    def changed(self) -> dict[str, t.Any]:
        """{variable: value} of those that have another value than their default, sorted."""
        values = {}
        for name in sorted(self.options):
            default = self.options[name].get("default", "")
            value = self.variables.get(name, default)
            if value != default:
                values[name] = value
        return values


def number(value: t.Any) -> float:
    """A number as a user gives it, maybe as a text; 0 for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0


class HostCluster(t.NamedTuple):
    """The variable kafka_cluster of a host.

    keys: None where it is no dictionary. undefined: why a value is not known, by its place, such as kafka_cluster.ssl_cafile.
    values: of the keys that a cluster may have and that hold no secret, None where it is not known.
    """

    keys: tuple[str, ...] | None = ()
    has_brokers: bool = True
    undefined: t.Mapping[str, str] = MappingProxyType({})
    values: t.Mapping[str, t.Any] = MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """The hosts of a run.

    groups: {name: hosts}. cluster_of: what kafka_cluster of a host is, None where the host does not have it. value_of: a host's
    value of a variable, None where it has none.
    """

    groups: t.Mapping[str, t.Collection[str]]
    cluster_of: t.Callable[[str], HostCluster | None]
    value_of: t.Callable[[str, str], t.Any]
