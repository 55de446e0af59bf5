# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: given
short_description: Check what a role of this collection was given
version_added: 0.3.0
description:
  - Private to this collection. Do not use this look-up yourself, because it may change in any release.
  - Reads the variables of a role or playbook of this collection, and asks no cluster.
author: The streamshift.kafka authors (@streamshift)
options:
  _terms:
    description:
      - What to return, and the name of the role or playbook.
      - V(problems) returns a line for each problem of the variables and the clusters.
      - V(preflight) does the same, and checks everything else that a role can know before it asks a cluster.
      - V(clusters) does so for the variables that name the clusters, and for choices, before a play on one of them begins.
      - V(changed) returns the variables that have another value than their default.
      - V(names) returns a text of the names of groups, at most twenty, that are given in place of the role.
      - V(beside) returns the paths that are given in place of the role. A relative one means beside the inventory.
    type: list
    elements: raw
    required: true
  known:
    description:
      - The variables of a playbook, without its name, with their types. A role has its own in its argument specification.
    type: dict
  facts: {description: Variables with the name of the role that it sets itself., type: list, elements: str, default: []}
  sides:
    description: With V(clusters), the variables that name them, without the name of the role.
    type: list
    elements: str
    default: []
  hosts: {description: "The clusters, as hosts of the inventory.", type: list, elements: str, default: []}
  places: {description: "Paths that may be relative to the inventory, by their variable.", type: dict, default: {}}
  waves:
    description: The files of waves, or patterns of them, of which V(problems) returns what is wrong with them, too.
    type: list
    elements: str
    default: []
  metrics: {description: "With V(preflight), the path of the metrics, empty for none.", type: str, default: ""}
  plan: {description: "With V(preflight), the path of the plan that must be there, empty for none.", type: str, default: ""}
  looked:
    description: With V(preflight), the results of C(ansible.builtin.stat) for the directory of the metrics and for the plan.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Check the variables and the clusters
  ansible.builtin.fail:
    msg: "{{ problems | join('\n') }}"
  when: problems | length > 0
  vars:
    problems: "{{ query('streamshift.kafka.given', 'problems', 'list_groups', known={'groups': 'list', 'hosts': 'raw'},
      hosts=[inventory_hostname]) }}"
"""

RETURN = r"""
_raw:
  description: The problems, one dictionary of variables, one text, or paths.
  type: list
  elements: raw
"""

import functools
import typing as t

from ansible import context
from ansible.errors import AnsibleUndefinedVariable
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.lookup import LookupBase
from ansible.template import Templar
from ansible.utils.vars import load_extra_vars
from jinja2 import Undefined, UndefinedError

from ..module_utils._model.wording import MANY_NAMED, first_names
from ..plugin_utils._given import Given, HostCluster, Inventory, cut_at_blanks, role_options
from ..plugin_utils._inventory import beside_inventory, inventory_directory
from ..plugin_utils._problems import cluster_options, of_clusters, of_play
from ..plugin_utils._role_problems import of_role
from ..plugin_utils._templated import Templated
from ..plugin_utils._waves import read_waves

# What reading a value of another host raises, depending on how deep in it a variable is that is not defined.
_UNDEFINED = (AnsibleUndefinedVariable, UndefinedError)


class LookupModule(LookupBase):
    """The look-up."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """The lines, one dictionary of variables, one text, or paths."""
        variables = variables or {}
        what, name = terms
        if what == "names":
            return [first_names(name, MANY_NAMED)]
        if what == "beside":
            return [beside_inventory(path, variables) for path in (name if isinstance(name, list) else [name])]
        self.set_options(var_options=variables, direct=kwargs)  # type: ignore[no-untyped-call]
        option: t.Callable[[str], t.Any] = self.get_option
        known = option("known")
        options = (
            role_options(name)
            if known is None
            else {f"{name}_{suffix}": {"type": kind, "elements": "str"} for suffix, kind in known.items()}
        )
        given = Given(
            name,
            "role" if known is None else "playbook",
            options,
            Templated(variables, t.cast(Templar, self._templar)),
            cut_at_blanks(context.CLIARGS.get("extra_vars", ())),
            load_extra_vars(t.cast(DataLoader, self._loader)),
        )
        if what == "changed":
            # A default that is an expression is compared as it is written.
            return [
                {key: value for key, value in given.changed().items() if variables[key] != options[key].get("default")}
            ]
        hosts = variables["hostvars"]

        @functools.cache
        def cluster_of(host: str) -> HostCluster | None:
            cluster = _cluster(hosts[host])
            if cluster and cluster.undefined and what == "problems" and host == variables["inventory_hostname"]:
                # A playbook that runs on the cluster's own host may have it from a play, whose variables no other host knows.
                own = _cluster(given.variables)
                return cluster if own and own.undefined else own
            return cluster

        inventory = Inventory(variables["groups"], cluster_of, lambda host, name: _value(hosts[host], name))
        if what == "clusters":
            lines: t.Iterable[str] = of_clusters(given, inventory, option("sides"))
        elif what == "preflight":
            lines = of_role(given, inventory, option("hosts"), option("metrics"), option("plan"), option("looked"))
        else:
            lines = (
                *of_play(given, inventory, option("facts"), option("hosts"), option("places")),
                *read_waves(option("waves"), inventory_directory(variables) or ".").problems,
            )
        return list(lines)


def _value(variables: t.Mapping[str, t.Any], name: str) -> t.Any:
    """A variable of a host, None where it is not there or not defined."""
    try:
        value = variables.get(name)
    except _UNDEFINED:
        return None
    return None if isinstance(value, Undefined) else value


def _cluster(variables: t.Mapping[str, t.Any]) -> HostCluster | None:
    """What kafka_cluster of a host is. Of a secret nothing is kept but why it has no value."""
    if "kafka_cluster" not in variables:
        return None
    try:
        cluster = variables["kafka_cluster"]
        keys = tuple(cluster) if isinstance(cluster, dict | Undefined) else None
    except _UNDEFINED as exc:
        return HostCluster(undefined={"kafka_cluster": str(exc)})
    if keys is None:
        return HostCluster(None)
    known = {key: option for key, option in cluster_options().items() if key in keys}
    values: dict[str, t.Any] = {key: None for key, option in known.items() if not option.get("no_log")}
    undefined = {}
    for key in known:
        try:
            str(cluster[key])  # works out what is in it
            if key in values:
                values[key] = cluster[key]
        except _UNDEFINED as exc:
            # What else keeps a secret from being worked out is told by the task that needs it.
            if key in values or exc.__cause__ is None:
                undefined[f"kafka_cluster.{key}"] = str(exc)
    has_brokers = bool(values.get("bootstrap_servers")) or "kafka_cluster.bootstrap_servers" in undefined
    return HostCluster(keys, has_brokers, undefined, values)
