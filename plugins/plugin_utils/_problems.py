# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is wrong with what a role or a playbook was given, as far as no cluster has to be asked: a line for each problem."""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import re
import shlex
import typing as t
from types import MappingProxyType

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.validation import check_type_list

from ..module_utils._model.faults import faults_of
from ..module_utils._model.mapping import rule_from, topic_rule_from
from ..module_utils._model.reset_rules import LARGEST_OFFSET, reset_rule_from
from ..module_utils._model.selection import compiled, faults_of_names
from ..module_utils._module.masking import options_of
from ..module_utils._module.options import cluster_spec, connection
from ._given import Given, HostCluster, Inventory, converted, playbooks, roles
from ._inventory import inventory_directory
from ._value_types import Option, did_you_mean, of_no_value, of_value, unknown_keys

Lines = t.Iterator[str]
Places = t.Mapping[str, t.Iterable[str | None]]  # {variable: paths}

_EXAMPLE = "kafka_cluster: {bootstrap_servers: [broker1:9092]}"
_PEM = "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----"
_ALONE = frozenset(("bootstrap_servers", "request_timeout", "client_config"))  # whatever a cluster's other keys are
_ALIKE = 0.7  # see difflib.SequenceMatcher.ratio()
_MISSPELT = 0.8  # the same, of one word
_DRY_RUN = re.compile("dry_?run|check(_?mode)?")  # what a dry run is called where it is a variable


def of_clusters(given: Given, inventory: Inventory, sides: t.Collection[str]) -> Lines:
    """What is wrong with a role's variables, above all those that name clusters, before a play on one of them begins.

    sides: their names without the role's.
    """
    yield from cut(given)
    yield from misplaced(given, playbooks())
    if given.options:
        yield from misspelt(given)
    side_options = {name: given.options.get(name, {}) for name in (f"{given.name}_{side}" for side in sides)}
    yield from not_taken(given, {name: option for name, option in given.options.items() if name not in side_options})
    yield from not_taken(given, side_options)
    yield from unnamed(given, inventory, sides)
    hosts = [host for host in map(given.get, sides) if host and isinstance(host, str)]
    yield from unknown_hosts(inventory, hosts)
    # What has no value is told by the play that follows: it knows which cluster it asks.
    yield from wrong_clusters(inventory, hosts)


def of_play(
    given: Given,
    inventory: Inventory,
    facts: t.Collection[str] = (),
    hosts: t.Collection[str] = (),
    places: Places = MappingProxyType({}),
) -> Lines:
    """What is wrong with the names of variables, the hosts, and paths that may be relative to the inventory."""
    yield from cut(given)
    yield from misspelt(given, facts)
    yield from not_taken(given, given.options)
    yield from unknown_hosts(inventory, hosts)
    yield from without_value(given, inventory, hosts)
    yield from wrong_clusters(inventory, hosts)
    yield from homeless(given, places)


def cut(given: Given) -> Lines:
    """What Ansible leaves out of name=value because a blank is in it."""
    for name, words in _cut(given).items():
        if given.options.get(name, {}).get("elements") == "str" and not any(word.startswith("=") for word in words):
            whole = json.dumps({name: _uncut(" ".join(words).strip())})
            yield (
                f"Ansible takes {name}={words[0]} and leaves out {' '.join(words[1:])}, because name=value ends at a blank. "
                f"Give all of it as JSON: -e {shlex.quote(whole)}."
            )
        else:  # these words may be a part of a secret
            yield (
                f"Ansible leaves out {f'words after {name}=' if name else 'words of -e that are not name=value'}, "
                "because name=value ends at a blank. Put no blanks around =, and give a value that has blanks as JSON, such as "
                '-e \'{"name": "two words"}\'.'
            )


def _cut(given: Given) -> dict[str, t.Sequence[str]]:
    """Of given.cut what is about this role. A variable that is given once more, as JSON, has that value."""
    return {
        name: words
        for name, words in given.cut.items()
        if (
            given.variables.get(name) == words[0]
            if name in given.options
            else any(word.startswith(f"{given.name}_") for word in words)
        )
    }


def _uncut(text: str) -> list[str]:
    """The list that was meant."""
    with contextlib.suppress(yaml.YAMLError):
        if isinstance(entries := yaml.load(text, yaml.BaseLoader), list):
            return entries
    return re.split(r"[,\s]+", text)


def misspelt(given: Given, facts: t.Collection[str] = ()) -> Lines:
    """Variables that are meant for the role and are none of its own: Ansible would ignore them, and do the default.

    Those that begin with the role's name, and those of -e that nearly do.

    facts: variables with that name that the role sets itself.
    """
    listed = f"ansible-doc -t role streamshift.kafka.{given.name}" if given.kind == "role" else ", ".join(given.options)
    prefix = f"{given.name}_"
    known = [name.removeprefix(prefix) for name in given.options]
    strange = {name: name.removeprefix(prefix) for name in _strange(given, facts)}
    for name, own in (strange | _nearly_own(given)).items():
        yours = "" if name in strange else " If it is a variable of your own, rename it."
        dry_run = " For a dry run, add --check to the command." if _DRY_RUN.fullmatch(own) else ""
        meant = dry_run or did_you_mean(own, known).replace("mean ", f"mean {prefix}")
        if meant or name in strange:
            yield f"{name} is no variable of the {given.kind} {given.name}.{meant}{yours} All of them: {listed}"


def _nearly_own(given: Given) -> dict[str, str]:
    """Variables of -e that begin with words which are nearly the role's name, and are nobody else's, with what follows."""
    words, prefixes = given.name.split("_"), tuple(f"{owner}_" for owner in (given.name, *roles(), *playbooks()))
    return {
        name: "_".join(parts[len(words) :])
        for name in sorted(map(str, given.extra))
        if not name.startswith(prefixes)
        and len(parts := name.split("_")) > len(words)
        and all(difflib.SequenceMatcher(None, *pair).ratio() >= _MISSPELT for pair in zip(parts, words, strict=False))
    }


def _strange(given: Given, others: t.Collection[str]) -> list[str]:
    return sorted(
        name
        for name in given.variables
        if name.startswith(f"{given.name}_") and name not in given.options and name not in others
    )


def misplaced(given: Given, playbooks: t.Iterable[str]) -> Lines:
    """Variables of the role that begin with the name of a playbook, and so do nothing."""
    for playbook in playbooks:
        for meant in given.options:
            name = f"{playbook}_{meant.removeprefix(f'{given.name}_')}"
            if name in given.variables:
                yield (
                    f"{name} has no effect, because this playbook takes the variables of the role {given.name}. Did you mean "
                    f"{meant}?"
                )


def not_taken(given: Given, options: t.Mapping[str, Option]) -> Lines:
    """Values of another type, that are none of the choices, or below 0."""
    told = _cut(given)
    for name, option in options.items():
        if name in told:
            continue
        # What is not defined for this host may be for the one that the role runs on, and "omit" is no value.
        with contextlib.suppress(AnsibleError, KeyError):
            value = given.variables[name]
            if value is None:
                yield from of_no_value(option, name)
            wrong = [*of_value(value, option, name)]
            yield from wrong
            if value is not None and option.get("type") == "list":
                yield from _senseless_list(
                    name, value, {} if wrong and isinstance(value, str) else _right_entries(option, value)
                )
                if not wrong and name in (f"{given.name}_groups", f"{given.name}_topics"):
                    yield from map(str, faults_of_names(name, converted(option, value)))
            elif not wrong and name.endswith("_max_bytes_per_second") and converted(option, value) == 0:
                yield f"{name} is {value}. Give more than 0, or leave it out for no limit."


def _right_entries(option: Option, value: t.Any) -> dict[int, t.Any]:
    """The entries of a list with which nothing is wrong, as Ansible gives them to a module, by their numbers."""
    try:
        entries = check_type_list(value)
    except TypeError:
        return {}
    return {
        number: converted(option, [entry])[0]
        for number, entry in enumerate(entries, 1)
        if entry is not None and not any(of_value([entry], option, ""))
    }


def _senseless_list(name: str, value: t.Any, entries: t.Mapping[int, t.Any]) -> Lines:
    """What nobody can mean, although its type is right. entries: of the value, by their numbers."""
    if name.endswith("_match_on") and value == []:
        yield f"{name} is empty. Name the parts, or leave it out to compare all of them."
    if name.endswith(("_patterns", "_repartitioned")):
        beside = [*entries.values()]
        yield from _refused(*(functools.partial(compiled, pattern, name, beside) for pattern in beside))
    for number, entry in entries.items():
        if name.endswith(("_topic_map", "_group_map", "_principal_map")):
            rule = topic_rule_from if name.endswith("_topic_map") else rule_from
            yield from _refused(functools.partial(rule, f"{name}, entry {number}", entry))
        if name.endswith("_resets"):  # but for the future, because the machine that the tasks run on has its own clock
            yield from _refused(functools.partial(reset_rule_from, f"{name}, entry {number}", entry, LARGEST_OFFSET))


def _refused(*checks: t.Callable[[], object]) -> Lines:
    """What modules say of the same."""
    yield from (str(part) for fault in faults_of(*checks) for part in fault.parts or (fault,))


def unnamed(given: Given, inventory: Inventory, sides: t.Iterable[str]) -> Lines:
    """Clusters that are not named.

    sides: the variables that name them, without the role's name.
    """
    variables = [f"{given.name}_{side}" for side in sides]
    unset = [name for name in variables if not given.variables.get(name)]
    if not unset:
        return
    several = len(unset) > 1
    are = f"{' and '.join(unset)} {'are' if several else 'is'}"
    # Variables of a group of hosts are none of localhost, which is in no group but all.
    if elsewhere := sorted(host for host in inventory.groups["all"] if inventory.value_of(host, unset[0])):
        yield (
            f"{are} set for {', '.join(elsewhere)}, and not for {given.variables['inventory_hostname']}, where this playbook "
            f"begins. Set {'them' if several else 'it'} for all hosts, such as in group_vars/all.yml beside the inventory, or "
            "by -e."
        )
        return
    strange = [] if given.options else _strange(given, variables)  # else they are told as misspelt
    yield (
        f"{'Name both clusters, as hosts' if len(variables) > 1 else 'Name the cluster, as a host'} of the inventory: "
        f"{' '.join(f'-e {name}={host}' for name, host in zip(variables, ('onprem', 'cloud'), strict=False))}. {are} not set."
        + (f" These variables are set: {', '.join(strange)}." if strange else "")
    )


def unknown_hosts(inventory: Inventory, hosts: t.Iterable[str]) -> Lines:
    """Hosts that are not in the inventory, or that have no kafka_cluster."""
    whose = "kafka_clusters" if "kafka_clusters" in inventory.groups else "all"
    for host in dict.fromkeys(hosts):
        if host in inventory.groups["all"] and inventory.cluster_of(host) is not None:
            continue
        having = sorted(
            name for name in inventory.groups[whose] if inventory.value_of(name, "kafka_cluster") is not None
        )
        if host in inventory.groups["all"]:
            said = (
                f"{host} is a host of this inventory without a variable kafka_cluster. Give it one, such as {_EXAMPLE}."
            )
        else:
            alike = difflib.get_close_matches(host, having, cutoff=_ALIKE)
            said = f"{host} is no host of this inventory." + (f" Did you mean {' or '.join(alike)}?" if alike else "")
        yield (
            f"{said} Hosts of {'the inventory' if whose == 'all' else whose} that have a variable kafka_cluster: "
            f"{', '.join(having) or 'none'}."
        )


def without_value(given: Given, inventory: Inventory, hosts: t.Iterable[str]) -> Lines:
    """What has no value in the variables kafka_cluster of these hosts, as far as they are asked."""
    source, is_asked = given.get("source"), given.get("phase") not in ("rollback", "remove")
    for host in dict.fromkeys(hosts):
        # A source that may be lost is not asked, and its login may be gone, too.
        if host == source != given.get("destination") and (not is_asked or given.flag("source_lost")):
            continue
        cluster = inventory.cluster_of(host) if host in inventory.groups["all"] else None
        for place, why in cluster.undefined.items() if cluster else ():
            yield (
                f"{place} of host {host} has no value: {why.rstrip('.')}. Define what it is made of for this host, such as in "
                "a file of group_vars/all beside the inventory."
            )


def wrong_clusters(inventory: Inventory, hosts: t.Iterable[str]) -> Lines:
    """What is wrong with the variables kafka_cluster of these hosts, as far as they have one."""
    for host in dict.fromkeys(hosts):
        cluster = inventory.cluster_of(host) if host in inventory.groups["all"] else None
        if cluster is None:
            continue
        if cluster.keys is None:
            yield f"kafka_cluster of host {host} is not a dictionary. Give one, such as {_EXAMPLE}."
        else:
            yield from _of_keys(host, cluster, cluster.keys)


def _of_keys(host: str, cluster: HostCluster, keys: t.Collection[str]) -> Lines:
    known = cluster_options()
    yield from unknown_keys(f"kafka_cluster of host {host}", keys, known)
    if not cluster.has_brokers:
        yield (
            f"kafka_cluster of host {host} has no bootstrap_servers. Give the brokers, such as bootstrap_servers: "
            "[broker1:9092]."
        )
    wrong = {key: [*of_value(value, known[key], f"kafka_cluster.{key}")] for key, value in cluster.values.items()}
    yield from (f"Host {host}: {line}" for lines in wrong.values() for line in lines)
    right = {key: value for key, value in cluster.values.items() if value is not None and not wrong[key]}
    hidden = {key: _PEM if key in ("ssl_cert", "ssl_key") else "hidden" for key in keys if key not in cluster.values}
    if {*keys} - {*known} or not right.keys() | _ALONE >= cluster.values.keys():  # nobody knows what login is meant
        right, hidden = {key: value for key, value in right.items() if key in _ALONE}, {}
    yield from _of_connection(host, {"bootstrap_servers": ["broker1:9092"], **right}, hidden)


def _of_connection(host: str, values: t.Mapping[str, t.Any], hidden: t.Mapping[str, str]) -> Lines:
    """What modules say of a cluster whatever its secrets are, which are not read here: they may be empty, or right."""
    told = []
    for given in (values, {**hidden, **values}):
        options = converted(cluster_spec("cluster")["cluster"], {**given, "name": host})
        told.append([*_refused(functools.partial(connection, {"cluster": options}, "cluster"))])
    yield from (line for line in told[0] if line in told[1])


def cluster_options() -> dict[str, Option]:
    """What the modules know of a cluster, aliases included."""
    return options_of(cluster_spec("cluster")["cluster"]["options"])


def homeless(given: Given, places: Places) -> Lines:
    """Paths beside the inventory, where there is no inventory file, or where a controller makes one for each job."""
    job = any(given.variables.get(name) for name in ("awx_job_id", "tower_job_id"))
    if job or not inventory_directory(given.variables):
        nowhere = f"and {given.variables['inventory_hostname']} is in no inventory file"
        why = "which a controller makes anew for each job" if job else nowhere
        for name, paths in places.items():
            for path in paths:
                if path and not str(path).startswith(("/", "~")):
                    yield (
                        f"{name} is {path}, a path beside the inventory, {why}. Give the absolute path of a directory that "
                        "lasts."
                    )
