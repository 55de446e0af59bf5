"""Declare the roles' variables as the modules declare the options that they pass on.

A role has an option of its modules if a file of its tasks or vars names the variable, or if it selects groups and topics, which
roles/common reads for all roles: this adds the variable, and writes its
type, choices, default and description, to roles/*/meta/argument_specs.yml and roles/*/defaults/main.yml. A variable
that no module knows is declared by hand.
"""

from __future__ import annotations

import io
import json
import re
import typing as t
from pathlib import Path

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from ansible_collections.streamshift.kafka.plugins.doc_fragments import _http_service, _mapping, _selection
from ansible_collections.streamshift.kafka.plugins.modules import (
    kafka_backlog_copy,
    kafka_connect_offsets,
    kafka_group_info,
    kafka_group_offsets,
    kafka_migration_run,
    kafka_offset_commit,
    kafka_offset_translate,
    kafka_offset_verify,
    kafka_topic_promotion,
)
from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import SUBOPTIONS
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import OTHER_NAMES

ROOT = Path(__file__).parents[1]
Options = dict[str, t.Any]

# An option is in one line if its name and its JSON are shorter: without JSON's quotes, this fits in 120 columns.
_SHORT = 118

# Options that are something else than the role's variable of that name.
OTHERS = {"cluster", "source", "destination", "csv"}
# Variables that the roles use for more than one thing: their descriptions are written by hand.
BY_HAND = {"idle_wait", "on_absent", "backup", "mirror_maker_group_sync_wait_for_replication"}
BY_HAND |= {"migration_assessment_exclude_group_patterns"}
BY_HAND |= {"topic_fence_principals", "topic_fence_read_principals", "topic_fence_on_still_written"}
# {variable, with or without its role: its default}, where the role decides otherwise. None: the default depends on the phase.
OTHER_DEFAULTS: dict[str, t.Any] = {
    # A snapshot alone harms nobody.
    "on_active_source": "fail",
    "idle_wait": 5,
    # A new group inside one cluster should have committed nothing; a reset was asked for.
    "group_clone_on_advance": "fail",
    "group_reset_on_rewind": "rewind",
    "group_migration_on_new_records": "fail",
    "group_migration_on_still_written": "note",
    "mirror_maker_group_sync_on_still_written": "note",
    "group_migration_wait_for_replication": None,
    "topic_promotion_fence_receipt": "kafka-fences/{{ topic_promotion_source }}/topics-receipt.json",
    "mirror_maker_group_sync_wait_for_replication": None,
    # An assessment is of everything.
    "migration_assessment_exclude_group_patterns": [],
}
# Choices that another role is for.
NOT_OFFERED = {"group_migration_strategy": {"reset"}}
# What an option of a module is called in a role, where it is not a variable of the same name.
REFERENCES = {
    "state=rolled_back": "O({role}_phase=rollback)",
    "state=absent": "O({role}_phase=remove)",
    "everything=true": "O({role}_rollback_all=true)",
    **{name: f"C({name}.json)" for name in ("copy", "plan", "receipt", "report", "snapshot")},
}
_OPPOSITE = (
    "V(fail) also refuses to start, except for a plan, if a directory beside this one says that a selected group was migrated"
    " in the opposite direction, because source and destination may be swapped."
)
# What a role does with a variable besides passing it on.
ADDED = {
    "group_migration_on_active_source": ["The phase V(plan) only warns about members."],
    "group_migration_on_blocked": [
        "A group in O(group_migration_groups) without committed offsets, such as a share group, counts as blocked, too.",
        "With V(fail), the phase V(plan) also fails when offsets fail verification.",
    ],
    "group_migration_on_locked": [
        "All phases but V(sync) fail in any case, because somebody starts consumers after them."
    ],
    "mirror_maker_group_sync_on_locked": [
        (
            "The phases V(cut_over) and V(rollback) fail in any case, and so does a run with"
            " O(mirror_maker_group_sync_source_lost=true), because somebody starts consumers after them."
        )
    ],
    "group_migration_on_new_records": ["Only a return uses the variable (O(group_migration_return))."],
    "group_migration_on_still_written": [
        "The phases V(plan), V(sync) and V(rollback), and runs with O(group_migration_backup), do not look."
    ],
    "mirror_maker_group_sync_on_still_written": ["Only the phase V(cut_over) looks."],
    "group_migration_stop_timeout": ["Only the phases V(migrate), V(cut_over) and V(return) wait."],
    "group_migration_wait_for_replication": ["By default, V(60) in the phase V(cut_over), and V(0) otherwise."],
    "group_reset_plan_digest": [
        "O(group_reset_phase=plan) prints the digest. Only O(group_reset_phase=apply) takes it."
    ],
    "group_clone_on_active_source": ["The phase V(plan) only warns about members."],
    "group_clone_on_blocked": [
        "A group in O(group_clone_groups) without committed offsets, such as a share group, counts as blocked, too.",
        (
            "With O(group_clone_remove_source_groups=true), an old group stays if a new group does not get all of its"
            " committed offsets."
        ),
    ],
    "group_clone_on_rewind": [
        "V(keep) is refused if the rollback would make an old group again beside a new one that stays."
    ],
    "group_clone_plan_digest": [
        "O(group_clone_phase=plan) prints the digest. Only O(group_clone_phase=apply) takes it."
    ],
    "group_migration_on_rewind": [_OPPOSITE],
    "backlog_migration_on_rewind": [_OPPOSITE],
    "group_migration_plan_digest": [
        "O(group_migration_phase=plan) prints the digest. Only O(group_migration_phase=apply) takes it."
    ],
    "backlog_migration_live": ["The phase V(plan) always plans as if this were V(true)."],
    "backlog_migration_on_active_source": ["The phase V(plan) always only warns."],
    "topic_promotion_fence_receipt": [
        "The default is the receipt of the role P(streamshift.kafka.topic_fence#role), if its directory is the default one.",
        "A relative path is relative to the inventory's directory.",
    ],
    "mirror_maker_group_sync_stop_timeout": ["Only the phase V(cut_over) waits."],
    "mirror_maker_group_sync_replication_policy": [
        "The role needs C(mirror_maker_group_sync_replication_policy.source_alias)."
    ],
    "mirror_maker_group_sync_groups": ["You can also name groups that MirrorMaker 2 itself does not sync."],
    "mirror_maker_group_sync_on_rewind": [
        "This happens if the group was moved back at the source, or if another client has committed at the destination.",
        "V(fail) ends the run and names the group. With V(keep), each round reports the group.",
        _OPPOSITE,
    ],
}


def documented(*texts: str) -> Options:
    """The options of these documentations; what a later one says of an option counts."""
    options: Options = {}
    for text in texts:
        for name, option in yaml.safe_load(text).get("options", {}).items():
            options[name] = {**options.get(name, {}), **option}
    return options


MAPPING = _mapping.ModuleDocFragment
SELECTION = _selection.ModuleDocFragment
SNAPSHOT = documented(kafka_group_offsets.DOCUMENTATION, SELECTION.DOCUMENTATION, SELECTION.TOPICS)
TRANSLATE = documented(
    kafka_offset_translate.DOCUMENTATION,
    SELECTION.DOCUMENTATION,
    MAPPING.DOCUMENTATION,
    MAPPING.POLICY,
    MAPPING.TOPICS,
    MAPPING.GROUPS,
)
COMMIT = documented(kafka_offset_commit.DOCUMENTATION, SELECTION.DOCUMENTATION, SELECTION.TOPICS)
# The other modules describe the rest, or a variable of its own does.
VERIFY = {"on_absent": documented(kafka_offset_verify.DOCUMENTATION)["on_absent"]}
LEASE = {"on_locked": documented(kafka_migration_run.DOCUMENTATION)["on_locked"]}
PROMOTION = documented(MAPPING.POLICY, MAPPING.TOPICS, SELECTION.TOPICS, kafka_topic_promotion.DOCUMENTATION)
MAPPED = documented(MAPPING.DOCUMENTATION, MAPPING.POLICY, MAPPING.TOPICS, MAPPING.GROUPS)
# The modules of each role. Where several have an option, the last one describes it.
ROLES: dict[str, dict[str, Options]] = {
    "group_migration": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
        "kafka_offset_verify": VERIFY,
        "kafka_migration_run": LEASE,
    },
    "group_reset": {
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
    },
    "group_clone": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
    },
    "backlog_migration": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_backlog_copy": documented(kafka_backlog_copy.DOCUMENTATION, MAPPING.TOPICS, MAPPING.GROUPS),
        "kafka_offset_commit": COMMIT,
    },
    "replicator_handover": {
        "kafka_connect_offsets": documented(
            MAPPING.POLICY,
            SELECTION.TOPICS,
            _http_service.ModuleDocFragment.REST,
            kafka_connect_offsets.DOCUMENTATION,
        ),
    },
    "migration_assessment": {
        "kafka_group_info": documented(SELECTION.DOCUMENTATION, kafka_group_info.DOCUMENTATION),
        "kafka_offset_translate": MAPPED,
    },
    "topic_promotion": {"kafka_topic_promotion": PROMOTION},
    "topic_fence": {"kafka_topic_promotion": PROMOTION},
    "mirror_maker_group_sync": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
        "kafka_offset_verify": VERIFY,
        "kafka_migration_run": LEASE,
    },
}


def passed_on(role: str) -> t.Iterator[tuple[str, Options]]:
    """Each option of the role's modules that is a variable -> its name without the role's, and what the role declares."""
    names = {match[1] for file in _program(role) for match in re.finditer(rf"\b{role}_(\w+)", file.read_text("utf-8"))}
    names |= documented(SELECTION.DOCUMENTATION, SELECTION.TOPICS).keys()
    found: dict[str, Options] = {}
    for module, options in ROLES[role].items():
        for name, option in options.items():
            variable = OTHER_NAMES.get(module, {}).get(name, name)
            if name not in OTHERS and variable in names:
                found[variable] = _short(option, f"O(streamshift.kafka.{module}#module:{name})", name)
    for variable, option in found.items():
        yield variable, _of_role(f"{role}_{variable}", variable, option)


def _short(option: Options, place: str, name: str) -> Options:
    """The option without its suboptions, and without all patterns that apply by default. place: what has them."""
    texts = [option["description"]] if isinstance(option["description"], str) else option["description"]
    if name in SUBOPTIONS:
        inside = ", ".join(f"C({key})" for key in option["suboptions"])
        return {**option, "suboptions": {}, "description": [*texts, f"The suboptions {inside} are those of {place}."]}
    if name in ("exclude_group_patterns", "exclude_topic_patterns"):
        return {
            **option,
            "description": [re.sub(r"^(The default .*) - C\(.*", rf"\1 - see {place}.", text) for text in texts],
        }
    return option


def read_for_all() -> set[str]:
    """The variables, without the role's name, that roles/common reads of whichever role calls it."""
    texts = (ROOT / "roles/common" / name for name in ("defaults/main.yml", "vars/main.yml"))
    return {match[1] for file in texts for match in re.finditer(r"_common_role ~ '_(\w+)'", file.read_text("utf-8"))}


def _program(role: str) -> list[Path]:
    return [file for folder in ("tasks", "vars") for file in sorted((ROOT / "roles" / role / folder).glob("*.yml"))]


def _of_role(full: str, variable: str, option: Options) -> Options:
    """What the role declares otherwise than its modules."""
    declared = dict(option)
    for name in (variable, full):
        if name in OTHER_DEFAULTS:
            declared["default"] = OTHER_DEFAULTS[name]
    if declared.get("default", ...) is None:
        del declared["default"]
    if full in NOT_OFFERED:
        declared["choices"] = [choice for choice in option["choices"] if choice not in NOT_OFFERED[full]]
    return declared


def specification(role: str) -> Path:
    """The file with the role's variables."""
    return ROOT / "roles" / role / "meta/argument_specs.yml"


def defaults(role: str) -> Path:
    """The file with the defaults of the role's variables."""
    return ROOT / "roles" / role / "defaults/main.yml"


def declared(role: str) -> str:
    """The text of the role's specification with what the modules declare."""
    parser = YAML()
    parser.preserve_quotes = True
    parser.explicit_start = True
    parser.width = 120
    parser.indent(mapping=2, sequence=4, offset=2)
    specs = parser.load(specification(role).read_text(encoding="utf-8"))
    variables = specs["argument_specs"]["main"]["options"]
    previous = None
    for name, option in passed_on(role):
        full = f"{role}_{name}"
        if full not in variables:
            position = list(variables).index(previous) + 1 if previous else len(variables)
            variables.insert(position, full, CommentedMap(description=[]))
        if name in SUBOPTIONS:
            variables[full].pop("options", None)
        _declare(variables[full], option, "suboptions")
        if not {name, full} & BY_HAND:
            _describe(variables[full], option, role, set(variables))
            variables[full]["description"] += ADDED.get(full, [])
        previous = full
    _shorten(variables)
    written = io.StringIO()
    parser.dump(specs, written)
    return re.sub(r" +\n", "\n", written.getvalue())


def _shorten(options: Options) -> None:
    """Let a description of one paragraph be a text; choices, and an option with little to say, be in one line."""
    for name, option in options.items():
        text = option["description"]
        if isinstance(text, list) and len(text) == 1:
            option["description"] = text = text[0]
        if "choices" in option:
            option["choices"] = CommentedSeq(option["choices"])
            option["choices"].fa.set_flow_style()
        if isinstance(text, str):
            short = len(name) + len(json.dumps(option)) < _SHORT and not re.search("[][{},:#]", text)
            (option.fa.set_flow_style if short else option.fa.set_block_style)()
        _shorten(option.get("options", {}))


def _declare(variable: Options, option: Options, inner: str) -> None:
    """Write type, elements, choices and default, and the same of the options inside. Whether it is required is the role's."""
    if "type" not in variable and option.get("required"):
        variable["required"] = True
    for key in ("type", "elements", "choices", "default"):
        if key not in option:
            variable.pop(key, None)
        elif variable.get(key, ...) != option[key]:
            variable[key] = option[key]
    options = option.get(inner, {})
    if options:
        inside = variable.setdefault("options", {})
        for name in [*inside]:
            if name not in options:
                del inside[name]
        for name, each in options.items():
            _declare(inside.setdefault(name, {"description": []}), each, inner)


def with_defaults(role: str) -> str:
    """The text of the role's defaults with the values of its specification. Order and comments stay."""
    text = defaults(role).read_text(encoding="utf-8")
    options = yaml.safe_load(declared(role))["argument_specs"]["main"]["options"]
    has = {name: option["default"] for name, option in options.items() if "default" in option}
    present = yaml.safe_load(text)
    for name in present.keys() - has.keys():
        text = re.sub(rf"^{name}:.*\n", "", text, flags=re.MULTILINE)
    for name, value in has.items():
        line = f"{name}: {json.dumps(value) if not isinstance(value, str) or not value else value}"
        if name not in present:
            text += f"{line}\n"
        elif present[name] != value:
            text = re.sub(rf"^{name}:.*$", line, text, flags=re.MULTILINE)
    return text


def _describe(variable: Options, option: Options, role: str, variables: t.Container[str]) -> None:
    text = option["description"]
    items = [_in_role(item, role, variables) for item in ([text] if isinstance(text, str) else text)]
    # A variable with a default is always set, though the module's option has none.
    unset = "If it is not set," if "default" in option else None
    variable["description"] = [item for item in items if item is not None and not (unset and item.startswith(unset))]
    for name, inner in option.get("suboptions", {}).items():
        _describe(variable["options"][name], inner, role, variables)


def _in_role(item: str, role: str, variables: t.Container[str]) -> str | None:
    """What a module says, with the role's names; None where it is about an option that the role does not have."""
    lacking = []

    def renamed(match: re.Match[str]) -> str:
        name = match[1]
        option = re.split("[=.[]", name)[0]
        if f"{role}_{option}" in variables:
            return f"{'C' if option != name and option in SUBOPTIONS else 'O'}({role}_{name})"
        if name not in REFERENCES:
            lacking.append(name)
        return REFERENCES.get(name, "").format(role=role)

    text = re.sub(r"O\(([a-z_]+(?:[=.[][^)#]*)?)\)", renamed, item)
    return None if lacking else text


def main() -> None:
    """Rewrite the files that are outdated, and name them."""
    wanted = {specification(role): declared(role) for role in ROLES}
    wanted |= {defaults(role): with_defaults(role) for role in ROLES}
    for file, text in wanted.items():
        if text != file.read_text(encoding="utf-8"):
            print(file.relative_to(ROOT))
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
