# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages name options by option_name(), so that a role's user reads the names of variables."""

from __future__ import annotations

import ast
import importlib
import re
import typing as t
from pathlib import Path

import pytest
import yaml

PLUGINS = Path(__file__).parents[2] / "plugins"
PACKAGE = "ansible_collections.streamshift.kafka.plugins"
FILES = sorted([*(PLUGINS / "module_utils").rglob("*.py"), *(PLUGINS / "modules").glob("*.py")])
# These texts are kept in files, or translated as a whole where they are shown.
ELSEWHERE = {
    "_backlog/entries.py": 1,
    "_matching/chosen.py": 5,
    "_matching/merged.py": 1,
    "_matching/reset_offsets.py": 2,
    "_matching/rows.py": 1,
    "_planning/identical.py": 1,
    "_planning/merged_groups.py": 3,
    "_planning/wide.py": 1,
    "_migration/drafts.py": 1,
    "_verification/verify.py": 1,
    "_report/advice.py": 8,
}


def options() -> set[str]:
    """The options of all modules, without those of their clusters."""
    found: set[str] = set()
    for kind, name in (("modules", "DOCUMENTATION"), ("doc_fragments", "ModuleDocFragment")):
        for path in (PLUGINS / kind).glob("*.py"):
            its = getattr(importlib.import_module(f"{PACKAGE}.{kind}.{path.stem}"), name)
            texts = [its] if isinstance(its, str) else [text for key, text in vars(its).items() if key.isupper()]
            found.update(*(yaml.safe_load(text).get("options") or {} for text in texts))
    return found


OPTIONS = options()
# Words of plain English are no proof that an option is meant.
NAMED = re.compile(rf"(?<![\w/])(?:{'|'.join(sorted(name for name in OPTIONS if '_' in name))})(?![\w-])")


def texts(tree: ast.Module) -> t.Iterator[ast.Constant]:
    """The texts in sentences, without docstrings and documentation."""
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("DOCUMENTATION", "EXAMPLES", "RETURN"))
    }
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    yield from (node for node in constants if " " in node.value.strip() and id(node) not in documentation)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_messages_name_options_by_the_function(path):
    found = [
        f"line {node.lineno}: {node.value}" for node in texts(ast.parse(path.read_text())) if NAMED.search(node.value)
    ]
    assert len(found) == ELSEWHERE.get("/".join(path.parts[-2:]), 0), "\n".join(found)


def test_what_is_named_is_an_option():
    calls = [
        node
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "option_name"
        and isinstance(node.args[0], ast.Constant)
    ]
    names = {str(call.args[0].value).partition(":")[0] for call in calls}
    assert len(names) > 30
    assert names - OPTIONS == set()
