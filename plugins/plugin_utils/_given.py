# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a role or a playbook was given: its variables, and the hosts that they name. Knows nothing of templates."""

from __future__ import annotations

import dataclasses
import math
import os
import typing as t
from types import MappingProxyType

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.parsing.splitter import split_args

from ..module_utils._module.options import POLICY, RENAMING, RULES, SPARK

_ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
# A role says what these are, and leaves what is in them to the modules.
SUBOPTIONS = {name: spec["options"] for name, spec in {**RENAMING, **POLICY, **SPARK, "principal_map": RULES}.items()}


def role_options(role: str) -> dict[str, dict[str, t.Any]]:
    """The variables of a role of this collection, with what its argument specification says of each. None for a playbook."""
    try:
        with open(os.path.join(_ROOT, "roles", role, "meta", "argument_specs.yml"), encoding="utf-8") as file:
            options: dict[str, dict[str, t.Any]] = yaml_load(file)["argument_specs"]["main"]["options"]
    except FileNotFoundError:
        return {}
    for name, inside in SUBOPTIONS.items():
        if f"{role}_{name}" in options:
            options[f"{role}_{name}"]["options"] = inside
    return options


def playbooks() -> list[str]:
    """The names of this collection's playbooks."""
    return sorted(
        name.removesuffix(".yml") for name in os.listdir(os.path.join(_ROOT, "playbooks")) if name.endswith(".yml")
    )


def roles() -> list[str]:
    """The names of this collection's roles."""
    return sorted(os.listdir(os.path.join(_ROOT, "roles")))


def cut_at_blanks(extra_vars: t.Iterable[str]) -> dict[str, list[str]]:
    """{variable: words} of those that Ansible ends at a blank, of which it takes the first word alone.

    extra_vars: the arguments of -e. Words before any variable are of "".
    """
    words: dict[str, list[str]] = {}
    for text in extra_vars:
        name = ""
        for word in [] if text.startswith(("@", "[", "{")) else split_args(text):
            if "=" in word[1:]:
                name, value = word.split("=", 1)
                words[name] = [value]
            else:
                words.setdefault(name, []).append(word)
    return {name: parts for name, parts in words.items() if not name or len(parts) > 1}


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """The variables of a role or playbook, whose names begin with its own.

    name: of the role or playbook. kind: which of them it is. options: all variables that it knows, by their full names, with
    what their specification says. variables: all that this host has, the collection's or not; a value may be worked out
    whenever it is read. cut: what cut_at_blanks() says. extra: the names of all variables that -e gives.
    """

    name: str
    kind: t.Literal["role", "playbook"]
    options: t.Mapping[str, t.Mapping[str, t.Any]]
    variables: t.Mapping[str, t.Any]
    cut: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    extra: t.Collection[str] = ()

    def get(self, option: str, default: t.Any = None) -> t.Any:
        """The value of a variable by its name without the role's; the default where it is not set."""
        return self.variables.get(f"{self.name}_{option}", default)

    def flag(self, option: str) -> bool:
        """The value of such a variable that is true or false."""
        return bool(boolean(self.get(option, False), strict=False))

    def number(self, option: str) -> float:
        """The value of such a variable that is a number, maybe as a text; 0 for what is none, or too large."""
        try:
            number = float(self.get(option))
        except (TypeError, ValueError, OverflowError):
            return 0
        return number if math.isfinite(number) else 0

    def changed(self) -> dict[str, t.Any]:
        """{variable: value} of those that have another value than their default, sorted."""
        values = {}
        for name in sorted(self.options):
            default = self.options[name].get("default", "")
            value = self.variables.get(name, default)
            if value != default and converted(self.options[name], value) != converted(self.options[name], default):
                values[name] = value
        return values


def converted(option: t.Mapping[str, t.Any], value: t.Any) -> t.Any:
    """A value of the right type, as Ansible gives it to a module. One of another type stays as it is."""
    return ArgumentSpecValidator({"it": dict(option)}).validate({"it": value}).validated_parameters.get("it")


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
