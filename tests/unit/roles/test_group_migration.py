# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's variables are the modules' options: the same names, types, choices and defaults."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.doc_fragments import _mapping, _selection
from ansible_collections.streamshift.kafka.plugins.modules import (
    kafka_group_offsets,
    kafka_offset_commit,
    kafka_offset_translate,
)

ROLE = Path(__file__).parents[3] / "roles/group_migration"
PREFIX = "group_migration_"
Options = dict[str, t.Any]

SPECIFIED: Options = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
DEFAULTS: Options = yaml.safe_load((ROLE / "defaults/main.yml").read_text())

# Options that the role sets itself, or that mean something else there.
OWN = {"cluster", "source", "destination", "snapshot", "snapshot_group", "format", "plan", "receipt", "state"}
OTHER_NAMES = {"kafka_group_offsets.on_active_group": "on_active_source"}
OTHER_DEFAULTS = {"on_active_source": "fail"}  # a snapshot alone harms nobody


def documented(*sources: t.Any) -> Options:
    options: Options = {}
    for source in sources:
        fragment = getattr(source, "ModuleDocFragment", source)
        for part in ("DOCUMENTATION", "RENAMING"):
            options |= yaml.safe_load(getattr(fragment, part, "{}")).get("options", {})
    return options


MODULES = {
    "kafka_group_offsets": documented(kafka_group_offsets, _selection),
    "kafka_offset_translate": documented(kafka_offset_translate, _mapping),
    "kafka_offset_commit": documented(kafka_offset_commit),
}
OPTIONS = [
    pytest.param(OTHER_NAMES.get(f"{module}.{name}", name), option, id=f"{module}.{name}")
    for module, options in MODULES.items()
    for name, option in options.items()
    if name not in OWN
]


def said(option: Options, inner: str) -> Options:
    return {
        "type": option["type"],
        "elements": option.get("elements"),
        "choices": sorted(option.get("choices") or []),
        "default": option.get("default"),
        "options": {name: said(each, inner) for name, each in (option.get(inner) or {}).items()},
    }


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_every_option_of_the_modules_is_a_variable_of_the_role(name, option):
    expected = said(option, "suboptions") | ({"default": OTHER_DEFAULTS[name]} if name in OTHER_DEFAULTS else {})
    assert said(SPECIFIED[PREFIX + name], "options") == expected


def test_defaults_are_those_of_the_argument_specs():
    specified = {name: option["default"] for name, option in SPECIFIED.items() if "default" in option}
    assert specified == DEFAULTS


def test_every_variable_is_used():
    tasks = "".join(file.read_text() for file in sorted(ROLE.glob("*/*.yml")) if file.parent.name in ("tasks", "vars"))
    assert [name for name in SPECIFIED if name not in tasks] == []
