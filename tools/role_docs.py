# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the roles' variables with the words of the modules whose options they pass on.

Rewrites the descriptions in roles/*/meta/argument_specs.yml, and the keys of a cluster that roles/common knows; with --check it
only says which files would change. A variable that no module knows keeps its description, which is written by hand.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import typing as t
from pathlib import Path

import yaml
from ruamel.yaml import YAML

from ansible_collections.streamshift.kafka.plugins.doc_fragments import _cluster, _mapping, _selection
from ansible_collections.streamshift.kafka.plugins.modules import (
    kafka_backlog_copy,
    kafka_connect_offsets,
    kafka_group_offsets,
    kafka_migration_lease,
    kafka_offset_commit,
    kafka_offset_translate,
    kafka_offset_verify,
    kafka_topic_promotion,
)
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import OTHER_NAMES

ROOT = Path(__file__).parents[1]
Options = dict[str, t.Any]

# Options of the modules that the roles set themselves, or that mean something else there.
OWN = {"cluster", "source", "destination", "snapshot", "snapshot_group", "format", "copy", "plan", "receipt", "state"}
OWN |= {"report", "removed", "promotion"}
# Files for other tools, and snapshots of theirs: who has them calls the module.
OWN |= {"csv", "export", "export_format", "snapshot_format"}
FIXED = {
    # What a copy plans is never blocked, and nobody reviews it.
    "backlog_migration": {
        "on_absent",
        "on_blocked",
        "on_missing_entry",
        "on_still_written",
        "plan_digest",
        "stop_timeout",
    },
    # Inside one cluster, offsets keep their meaning, and nothing is searched.
    "group_clone": {"match_on", "on_absent", "on_expired", "on_no_anchor", "repartitioned", "replication_policy"}
    | {"search_limit", "spark", "spark_limit", "stop_timeout", "strategy", "tail_check", "topic_map"}
    | {"on_out_of_range", "resets", "wait_for_replication", "on_new_records", "on_still_written"},
    # A reset searches nothing, and takes no snapshot.
    "group_reset": {
        "group_map",
        "match_on",
        "on_absent",
        "on_expired",
        "on_missing_entry",
        "on_no_anchor",
        "on_conflict",
        "on_new_records",
        "on_still_written",
        "on_uncommitted",
        "on_active_source",
    }
    | {
        "repartitioned",
        "replication_policy",
        "search_limit",
        "spark",
        "spark_limit",
        "strategy",
        "tail_check",
        "topic_map",
    }
    | {"wait_for_replication"},
    # A sync leaves out what cannot be written now, because there is a next round, and is about MirrorMaker 2's copies alone.
    "mirror_maker_group_sync": {
        "on_active_source",
        "on_active_group",
        "on_advance",
        "on_blocked",
        "on_conflict",
        "on_expiring",
    }
    | {"on_missing_entry", "plan_digest", "repartitioned", "strategy", "wait_for_replication"}
    | {"on_out_of_range", "resets", "on_new_records", "on_still_written"},
    # A fence has a role of its own.
    "topic_promotion": {"principals", "read_principals", "on_still_written", "idle_wait"},
    # A migration between clusters resets nothing.
    "group_migration": {"on_out_of_range", "resets"},
}
# Variables that the roles use for more than one thing: their descriptions are written by hand.
BY_HAND = {"idle_wait", "on_absent"}
# What an option of a module is called in a role, where it is not a variable of the same name.
REFERENCES = {
    "state=rolled_back": "O({role}_phase=rollback)",
    "state=absent": "O({role}_phase=remove)",
    "everything=true": "O({role}_rollback_all=true)",
    **{name: f"C({name}.json)" for name in ("copy", "plan", "receipt", "report", "snapshot")},
}
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
    "group_migration_on_new_records": ["Only the phase V(return) uses the variable."],
    "group_migration_on_still_written": ["The phases V(plan) and V(sync) do not look."],
    "group_migration_stop_timeout": ["Only the phases V(migrate), V(cut_over) and V(return) wait."],
    "group_migration_wait_for_replication": ["By default, V(60) in the phase V(cut_over), and V(0) otherwise."],
    "group_reset_plan_digest": ["O(group_reset_phase=plan) prints the digest."],
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
    "group_clone_plan_digest": ["O(group_clone_phase=plan) prints the digest."],
    "group_migration_plan_digest": ["O(group_migration_phase=plan) prints the digest."],
    "backlog_migration_live": ["The phase V(plan) always plans as if this were V(true)."],
    "backlog_migration_on_active_source": ["The phase V(plan) always only warns."],
    "mirror_maker_group_sync_stop_timeout": ["Only the phase V(cut_over) waits."],
    "mirror_maker_group_sync_groups": ["You can also name groups that MirrorMaker 2 itself does not sync."],
    "mirror_maker_group_sync_on_rewind": [
        "This happens if the group was moved back at the source, or if another client has committed at the destination.",
        "V(fail) ends the run and names the group. With V(keep), each round reports the group.",
    ],
}


def documented(*texts: str) -> Options:
    """The options of these documentations; what a later one says of an option counts."""
    options: Options = {}
    for text in texts:
        options |= yaml.safe_load(text).get("options", {})
    return options


MAPPING = _mapping.ModuleDocFragment
SELECTION = _selection.ModuleDocFragment
SNAPSHOT = documented(kafka_group_offsets.DOCUMENTATION, SELECTION.DOCUMENTATION, SELECTION.TOPICS)
TRANSLATE = documented(
    kafka_offset_translate.DOCUMENTATION,
    SELECTION.DOCUMENTATION,
    MAPPING.DOCUMENTATION,
    MAPPING.TOPICS,
    MAPPING.GROUPS,
)
COMMIT = documented(kafka_offset_commit.DOCUMENTATION, SELECTION.DOCUMENTATION, SELECTION.TOPICS)
# The other modules describe the rest, or a variable of its own does.
VERIFY = {"on_absent": documented(kafka_offset_verify.DOCUMENTATION)["on_absent"]}
LEASE = {"on_locked": documented(kafka_migration_lease.DOCUMENTATION)["on_locked"]}
# The modules of each role. Where several have an option, the last one describes it.
ROLES: dict[str, dict[str, Options]] = {
    "group_migration": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
        "kafka_offset_verify": VERIFY,
        "kafka_migration_lease": LEASE,
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
        "kafka_connect_offsets": documented(kafka_connect_offsets.DOCUMENTATION, SELECTION.TOPICS),
    },
    "topic_promotion": {"kafka_topic_promotion": documented(kafka_topic_promotion.DOCUMENTATION, MAPPING.TOPICS)},
    "mirror_maker_group_sync": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
        "kafka_offset_verify": VERIFY,
        "kafka_migration_lease": LEASE,
    },
}


def passed_on(role: str) -> t.Iterator[tuple[str, str, Options]]:
    """Each option of a module that is a variable of the role -> (module, the variable without the role's name, option)."""
    for module, options in ROLES[role].items():
        for name, option in options.items():
            variable = OTHER_NAMES.get(module, {}).get(name, name)
            if name not in OWN and variable not in FIXED.get(role, set()):
                yield module, variable, option


def specification(role: str) -> Path:
    """The file with the role's variables."""
    return ROOT / "roles" / role / "meta/argument_specs.yml"


CLUSTER_KEYS = ROOT / "roles/common/vars/main.yml"


def with_cluster_keys() -> str:
    """The text of CLUSTER_KEYS with all keys that a cluster may have in the inventory, aliases included."""
    options = documented(_cluster.ModuleDocFragment.DOCUMENTATION)["cluster"]["suboptions"]
    keys = [key for name, option in options.items() for key in (name, *option.get("aliases", []))]
    listed = "".join(f"  - {key}\n" for key in keys)
    text = CLUSTER_KEYS.read_text(encoding="utf-8")
    return re.sub(r"^(__common_cluster_keys:\n)(?:  - \w+\n)*", rf"\1{listed}", text, flags=re.MULTILINE)


def described(role: str) -> str:
    """The text of the role's specification with the descriptions that it should have."""
    parser = YAML()
    parser.preserve_quotes = True
    parser.explicit_start = True
    parser.width = 120
    parser.indent(mapping=2, sequence=4, offset=2)
    specs = parser.load(specification(role).read_text(encoding="utf-8"))
    variables = specs["argument_specs"]["main"]["options"]
    for _module, name, option in passed_on(role):
        # tests/unit/roles/test_variables.py names a variable that is missing.
        if name not in BY_HAND and (variable := variables.get(f"{role}_{name}")) is not None:
            _describe(variable, option, role, set(variables))
            variable["description"] += ADDED.get(f"{role}_{name}", [])
    written = io.StringIO()
    parser.dump(specs, written)
    return re.sub(r" +\n", "\n", written.getvalue())


def _describe(variable: Options, option: Options, role: str, variables: t.Container[str]) -> None:
    text = option["description"]
    items = [_in_role(item, role, variables) for item in ([text] if isinstance(text, str) else text)]
    variable["description"] = [item for item in items if item is not None]
    for name, inner in option.get("suboptions", {}).items():
        _describe(variable["options"][name], inner, role, variables)


def _in_role(item: str, role: str, variables: t.Container[str]) -> str | None:
    """What a module says, with the role's names; None where it is about an option that the role does not have."""
    lacking = []

    def renamed(match: re.Match[str]) -> str:
        name = match[1]
        if f"{role}_{re.split('[=.[]', name)[0]}" in variables:
            return f"O({role}_{name})"
        if name not in REFERENCES:
            lacking.append(name)
        return REFERENCES.get(name, "").format(role=role)

    text = re.sub(r"O\(([a-z_]+(?:[=.[][^)]*)?)\)", renamed, item)
    return None if lacking else text


def main() -> int:
    """Rewrite the files, or tell which ones would change. -> 1 when one would."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, and fail when a file is outdated")
    check = parser.parse_args().check
    wanted = {specification(role): described(role) for role in ROLES} | {CLUSTER_KEYS: with_cluster_keys()}
    outdated = {file: text for file, text in wanted.items() if text != file.read_text(encoding="utf-8")}
    for file, text in outdated.items():
        print(f"{file.relative_to(ROOT)}{' is outdated: run make docs-roles' if check else ''}")
        if not check:
            file.write_text(text, encoding="utf-8")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
