# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The roles' variables are the modules' options: the same names, types, choices and defaults."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.doc_fragments import _mapping, _selection
from ansible_collections.streamshift.kafka.plugins.modules import (
    kafka_backlog_copy,
    kafka_connect_offsets,
    kafka_group_offsets,
    kafka_offset_commit,
    kafka_offset_translate,
    kafka_offset_verify,
)

ROOT = Path(__file__).parents[3]
Options = dict[str, t.Any]

# Options that the roles set themselves, or that mean something else there.
OWN = {"cluster", "source", "destination", "snapshot", "snapshot_group", "format", "copy", "plan", "receipt", "state"}
OWN |= {"report"}
OTHER_NAMES = {
    "kafka_group_offsets.on_active_group": "on_active_source",
    "kafka_offset_commit.everything": "rollback_all",
}
OTHER_DEFAULTS = {"on_active_source": "fail", "idle_wait": 5}  # a snapshot alone harms nobody
# A sync leaves out what cannot be written now, for there is a next round, and is about MirrorMaker 2's copies alone.
FIXED = {
    # What a copy plans is never blocked, and nobody reviews it.
    "backlog_migration": {"on_blocked", "on_missing_entry", "plan_digest"},
    "mirror_maker_group_sync": {"on_active_source", "on_active_group", "on_advance", "on_blocked"}
    | {"on_missing_entry", "plan_digest", "repartitioned", "strategy", "topic_map", "wait_for_replication"},
}


def documented(*texts: str) -> Options:
    options: Options = {}
    for text in texts:
        options |= yaml.safe_load(text).get("options", {})
    return options


MAPPING = _mapping.ModuleDocFragment
SELECTION = _selection.ModuleDocFragment
SNAPSHOT = documented(kafka_group_offsets.DOCUMENTATION, SELECTION.DOCUMENTATION, SELECTION.TOPICS)
TRANSLATE = documented(
    kafka_offset_translate.DOCUMENTATION, SELECTION.DOCUMENTATION, MAPPING.DOCUMENTATION, MAPPING.RENAMING
)
COMMIT = documented(SELECTION.DOCUMENTATION, SELECTION.TOPICS, kafka_offset_commit.DOCUMENTATION)
# The rest is said by the other modules, or by a variable of its own.
VERIFY = {"on_absent": documented(kafka_offset_verify.DOCUMENTATION)["on_absent"]}
ROLES = {
    "group_migration": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
        "kafka_offset_verify": VERIFY,
    },
    "backlog_migration": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_backlog_copy": documented(kafka_backlog_copy.DOCUMENTATION, MAPPING.RENAMING),
        "kafka_offset_commit": COMMIT,
    },
    "replicator_handover": {
        "kafka_connect_offsets": documented(kafka_connect_offsets.DOCUMENTATION, SELECTION.TOPICS),
    },
    "mirror_maker_group_sync": {
        "kafka_group_offsets": SNAPSHOT,
        "kafka_offset_translate": TRANSLATE,
        "kafka_offset_commit": COMMIT,
        "kafka_offset_verify": VERIFY,
    },
}
OPTIONS = [
    pytest.param(role, OTHER_NAMES.get(f"{module}.{name}", name), option, id=f"{role}-{module}.{name}")
    for role, modules in ROLES.items()
    for module, options in modules.items()
    for name, option in options.items()
    if name not in OWN and OTHER_NAMES.get(f"{module}.{name}", name) not in FIXED.get(role, set())
]


def specified(role: str) -> Options:
    text = (ROOT / f"roles/{role}/meta/argument_specs.yml").read_text()
    options: Options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    return options


def said(option: Options, inner: str) -> Options:
    return {
        "type": option["type"],
        "elements": option.get("elements"),
        "choices": sorted(option.get("choices") or []),
        "default": option.get("default"),
        "options": {name: said(each, inner) for name, each in (option.get(inner) or {}).items()},
    }


@pytest.mark.parametrize(("role", "name", "option"), OPTIONS)
def test_every_option_of_the_modules_is_a_variable_of_the_role(role, name, option):
    expected = said(option, "suboptions") | ({"default": OTHER_DEFAULTS[name]} if name in OTHER_DEFAULTS else {})
    assert said(specified(role)[f"{role}_{name}"], "options") == expected


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_is_used(role):
    folder = ROOT / "roles" / role
    tasks = "".join(
        file.read_text() for file in sorted(folder.glob("*/*.yml")) if file.parent.name in ("tasks", "vars")
    )
    assert [name for name in specified(role) if name not in tasks] == []
