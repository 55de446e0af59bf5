# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The options that modules share, and what becomes of them. Their documentation: plugins/doc_fragments."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import types
import typing as t

from .._model.connection import PROTOCOLS, Connection, connection_from
from .._model.errors import InvalidInput, NothingSelected
from .._model.faults import all_of, faults_of, raise_any
from .._model.mapping import NO_PREFIXES, Mapping, prefixes_from, repartitioned_from, rules_from
from .._model.match_on import MatchOn
from .._model.option_names import is_in_one_cluster, option_name
from .._model.policies import ReturnEntries, Strategy
from .._model.replication_policy import ReplicationPolicy
from .._model.selection import Selection
from .._model.spark import SparkOptions, spark_options_from

Spec = dict[str, t.Any]
_T = t.TypeVar("_T")
_STRINGS: Spec = {"type": "list", "elements": "str"}
_SIMPLE = {bool: "bool", int: "int", float: "float", str: "str"}


def optional(kind: str, *names: str) -> Spec:
    """The specs of options of a type that need not be given, and have no default."""
    return {name: {"type": kind} for name in names}


def choices(*values: type[enum.StrEnum] | str, default: str | None = None) -> Spec:
    """The spec of an option with the values of a policy, or with these."""
    texts = [str(text) for value in values for text in ([value] if isinstance(value, str) else value)]
    spec: Spec = {"type": "str", "choices": texts}
    return spec if default is None else {**spec, "default": default}


def spec_of(made: type, *by_module: str) -> Spec:
    """The specs of a dataclass of options, with its defaults: policies, switches, numbers and lists of texts.

    What the user gives in another form has none, and what has no default is made by the module, as are the members by_module.
    An option that may be None has no default.
    """
    specs: Spec = {}
    for name, (kind, is_list) in _members(made).items():
        default = made.__dataclass_fields__[name].default  # type: ignore[attr-defined]
        spec = choices(kind) if issubclass(kind, enum.StrEnum) else {"type": _SIMPLE.get(kind)}
        if is_list:
            spec = _STRINGS if default is None else {**_STRINGS, "default": list(default)}
        elif isinstance(default, enum.StrEnum):
            spec["default"] = default.value
        elif default is not None:
            spec["default"] = default
        if spec["type"] and default is not dataclasses.MISSING and name not in by_module:
            specs[name] = spec
    return specs


def _members(made: type) -> dict[str, tuple[type, bool]]:
    """The type of each member of a dataclass, or of what is in it, without None; whether it is a list of texts."""
    members = {}
    for name, hint in t.get_type_hints(made).items():
        bare = t.get_args(hint)[0] if t.get_origin(hint) in (t.Union, types.UnionType) else hint
        is_list = t.get_origin(bare) is tuple and t.get_args(bare)[0] is str
        kind = str if is_list else bare
        members[name] = (kind if isinstance(kind, type) else object, is_list)
    return members


_CLUSTER: Spec = {
    "bootstrap_servers": {"type": "list", "elements": "str", "required": True},
    "name": {"type": "str"},
    "security_protocol": choices(*PROTOCOLS, default="PLAINTEXT"),
    "sasl_mechanism": {"type": "str"},
    "sasl_username": {"type": "str", "aliases": ["sasl_plain_username"]},
    "sasl_password": {"type": "str", "no_log": True, "aliases": ["sasl_plain_password"]},
    **optional("path", "ssl_cafile", "ssl_certfile", "ssl_keyfile"),
    "ssl_ca": {"type": "str"},
    "ssl_cert": {"type": "str", "no_log": True},  # may hold the key as well
    "ssl_key": {"type": "str", "no_log": True},
    "ssl_key_password": {"type": "str", "no_log": True, "aliases": ["ssl_password"]},
    "ssl_check_hostname": {"type": "bool", "default": True},
    "oauth_token_url": {"type": "str", "no_log": False},
    **optional("str", "oauth_client_id", "oauth_scope", "oauth_audience"),
    "oauth_client_secret": {"type": "str", "no_log": True},
    "oauth_token": {"type": "str", "no_log": True},
    **optional("dict", "oauth_extensions", "client_config"),
    **optional("str", "aws_region", "aws_profile", "aws_role_arn", "aws_role_session_name", "aws_external_id"),
    "request_timeout": {"type": "float", "default": 30},
}

_CLUSTERS = ("cluster", "source", "destination")
_ABOVE_ZERO = frozenset({"abandoned_after", "max_bytes_per_second"})
_SAID = 20  # faults of options that one message says: whoever corrects them wants to do so once


def _rules(**more: t.Any) -> Spec:
    """The spec of an option that renames what a name or a pattern says."""
    options = {"name": {"type": "str"}, "pattern": {"type": "str"}, "to": {"type": "str", "required": True}, **more}
    either = [("name", "pattern")]
    spec = {"type": "list", "elements": "dict", "default": [], "options": options}
    return {**spec, "mutually_exclusive": either, "required_one_of": either}


RULES = _rules()
GROUP_SELECTION = {name: spec for name, spec in spec_of(Selection).items() if "group" in name}
TOPIC_SELECTION = {name: spec for name, spec in spec_of(Selection).items() if "topic" in name}
SELECTION: Spec = {**GROUP_SELECTION, **TOPIC_SELECTION}
RETURN_ENTRIES: Spec = {"return_entries": choices(ReturnEntries, default="all")}
RENAMING: Spec = {
    "topic_map": RULES,
    # A name, or a list of names; type list would cut a name at its commas.
    "group_map": _rules(to={"type": "raw", "required": True}, topics=_STRINGS),
}
POLICY: Spec = {
    "replication_policy": {
        "type": "dict",
        "options": {
            "name": choices("identity", "default", default="identity"),
            **optional("str", "source_alias", "target_alias"),
            "separator": {"type": "str", "default": "."},
            "internal_topic_separator_enabled": {"type": "bool", "default": True},
            "offset_syncs_location": choices("source", "target", default="source"),
        },
    },
}
MAPPING: Spec = {**RENAMING, **POLICY, "repartitioned": {**_STRINGS, "default": []}}
WAVES: Spec = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {"name": {"type": "str", "required": True}, "directory": {"type": "path"}, **GROUP_SELECTION},
}
# How a service is reached by HTTP.
HTTP_SERVICE: Spec = {
    "url": {"type": "str", "required": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
}
SPARK: Spec = {
    "spark": {
        "type": "dict",
        "options": {
            **optional("str", "master", "driver_memory"),
            "remote": {"type": "str", "no_log": True},  # may hold a token
            "conf": {"type": "dict"},
            "archives": _STRINGS,
            **optional("path", "java_home", "work_directory"),
        },
    },
}
PROGRESS: Spec = {"progress_file": {"type": "path"}}


def cluster_spec(*names: str, required: bool = True) -> Spec:
    """The specs of options that are clusters."""
    return {name: {"type": "dict", "required": required, "options": _CLUSTER} for name in names}


def check_all(params: Spec, *own: t.Callable[[], object] | None) -> None:
    """Raise one error for all that is wrong with what a module shares with others, and with what its own checks refuse.

    Called before a file is read or a cluster is asked. It looks at those of the options that are in params. own: None for a
    check that is not for this case.
    """
    checks: list[t.Callable[[], object]] = [
        lambda: raise_any(_faults_of_numbers(params)),
        *filter(None, own),
        *(functools.partial(connection, params, name) for name in _CLUSTERS if params.get(name)),
        selection(params).check_words,
        functools.partial(mapping, params),
        functools.partial(spark_options, params),
        functools.partial(match_on, params),
    ]
    raise_any(faults_of(*checks), most=_SAID)


def connection(params: Spec, option: str) -> Connection:
    """The cluster that an option describes, or InvalidInput."""
    given = {key: value for key, value in params[option].items() if value is not None}
    # Messages do not call the cluster of a fence a destination, because it is the source of a migration.
    is_one = params.get("strategy") == Strategy.RESET or params.get("state") in ("fenced", "lifted")
    if is_in_one_cluster() or is_one:
        return connection_from(given, "cluster")
    return connection_from(given, option.replace("_", " ") if option.endswith("cluster") else f"{option} cluster")


def both_clusters(params: Spec) -> tuple[Connection, Connection]:
    """The source and the destination, or InvalidInput."""
    return connection(params, "source"), connection(params, "destination")


def _faults_of_numbers(params: Spec) -> t.Iterator[InvalidInput]:
    """What is wrong with a number that is negative, or 0 where nothing would be done then, or no number such as nan."""
    for name, value in params.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            is_least = value == 0 and name in _ABOVE_ZERO
            if is_least or not 0 <= value < math.inf:
                remedy = "give more than 0, or leave it out" if name in _ABOVE_ZERO else "give 0 or more"
                yield InvalidInput(f"{option_name(name)} is {value}", remedy=remedy)


def check_unused(params: Spec, why: str, *names: str) -> None:
    """Raise InvalidInput that names those of these options that are given, although this state does not ask for them.

    For what somebody may rely on, such as a limit to what the task does. why: what the task does instead.
    """
    given = [option_name(name) for name in names if params[name]]
    if given:
        has, it = ("has", "it") if len(given) == 1 else ("have", "them")
        raise InvalidInput(
            f"{' and '.join(given)} {has} no meaning with state {params['state']}", why=why, remedy=f"leave {it} out"
        )


def check_needed(params: Spec, needed: str, *names: str, why: str | None = None) -> None:
    """Raise InvalidInput for each of these options that is given without the one that it needs. why: what needs it."""
    raise_any(
        InvalidInput(
            f"{option_name(name)} has no meaning without {option_name(needed)}",
            why=why,
            remedy=f"leave it out, or set {option_name(needed)}",
        )
        for name in names
        if params[name] and params[needed] is None
    )


def match_on(params: Spec) -> MatchOn:
    """The parts that two records must have in common. Raises InvalidInput for an empty list, which is not all parts."""
    if params.get("match_on") == []:
        raise InvalidInput(
            f"{option_name('match_on')} is empty", remedy="name the parts, or leave it out to compare all of them"
        )
    return MatchOn.of(params.get("match_on"))


def selection(params: Spec) -> Selection:
    """The selection that the options of SELECTION, or a part of them, describe.

    Selection.check() tells whether it can be meant.
    """
    return filled(Selection, params)


def filled(made: type[_T], params: Spec, **given: t.Any) -> _T:
    """A dataclass of options with what the module was given for its members. given: the members that are made otherwise."""
    for name, (kind, is_list) in _members(made).items():
        if name in params and name not in given:
            value = params[name]
            if value is not None and (is_list or issubclass(kind, enum.StrEnum)):
                value = tuple(value) if is_list else kind(value)
            given[name] = value
    return made(**given)


def rollback_selection(params: Spec) -> Selection | None:
    """What is to be rolled back, or what a plan without a snapshot must be about; None for everything.

    Raises InvalidInput for a selection that cannot be meant.
    """
    given, selected = [name for name in SELECTION if params.get(name)], selection(params)
    if params["state"] == "committed" and given and not params["everything"] and not params.get("snapshot"):
        selected.check()
        return selected
    if params["state"] in ("committed", "removed"):
        if given or params["everything"]:
            raise InvalidInput(
                f"{option_name((given or ['everything'])[0])} selects what is rolled back, and state is {params['state']}",
                why="every group of the plan is meant",
                remedy="leave it out, or select groups when the snapshot is taken",
            )
        return None
    if params["everything"]:
        if given:
            raise InvalidInput(
                f"{option_name('everything')} is true, and {option_name(given[0])} selects a part",
                remedy="give one of them, to say what is rolled back",
            )
        return None
    if not params["groups"] and not params["group_patterns"]:
        raise NothingSelected(
            "no group is selected for the rollback",
            why="the receipt may contain groups of other runs, which have consumed since",
            remedy=f"set {option_name('groups')} or {option_name('group_patterns')} as for the migration, "
            f"or {option_name('everything')} to true",
        )
    selected.check()
    return selected


def check_named_once(params: Spec) -> None:
    """Raise InvalidInput for a topic_map and a replication_policy where both can only name the copied topics."""
    if params["topic_map"] and params["replication_policy"]:
        raise InvalidInput(
            f"{option_name('topic_map')} and {option_name('replication_policy')} both name the destination's topics",
            why=f"only {option_name('strategy')} mirror_maker reads MirrorMaker 2's own topics, which a policy names "
            f"beside a {option_name('topic_map')}",
            remedy=f"give one: a {option_name('topic_map')} can say the same as a policy, with a pattern",
        )


def mapping(params: Spec) -> Mapping:
    """The mapping that the options of MAPPING, or a part of them, describe, or InvalidInput.

    A topic_map alone names the copied topics; a replication_policy beside it says what MirrorMaker 2's own are called.
    """
    parts: list[t.Callable[[], t.Any]] = [
        lambda: rules_from("topic_map", params.get("topic_map") or ()),
        lambda: rules_from("group_map", params.get("group_map") or ()),
        lambda: NO_PREFIXES if params.get("topic_map") else prefixes_from(params.get("replication_policy")),
        lambda: repartitioned_from(params.get("repartitioned") or ()),
    ]
    return Mapping(*all_of(lambda part: part(), parts))


def replication_policy(params: Spec, *aliases: str) -> ReplicationPolicy:
    """The replication policy that the option describes, or InvalidInput for one without these of its aliases."""
    given = params["replication_policy"]
    raise_any(
        InvalidInput(
            f"{option_name('replication_policy')} has no {alias}, and topics of MirrorMaker 2's own are named after it",
            remedy="set it to what MirrorMaker 2's configuration calls the cluster",
        )
        for alias in aliases
        if not given[alias]
    )
    named = {alias: given[alias] or "" for alias in ("source_alias", "target_alias")}
    return ReplicationPolicy(**{**given, **named})


def spark_options(params: Spec) -> SparkOptions:
    """Where and how Spark runs, or InvalidInput."""
    return spark_options_from(params.get("spark") or {})
