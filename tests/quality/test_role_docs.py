# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The roles say of each variable what the modules say of the option, and what each choice does."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml

from tools import role_docs

Options = role_docs.Options
ROLES = sorted(path.parents[1].name for path in role_docs.ROOT.glob("roles/*/meta/argument_specs.yml"))


def variables(role: str) -> t.Iterator[tuple[str, Options]]:
    """Every variable of a role and every option inside one, with its full name."""
    specs = yaml.safe_load(role_docs.specification(role).read_text(encoding="utf-8"))["argument_specs"]
    for entry_point in specs.values():
        yield from _flat("", entry_point.get("options", {}))


def _flat(prefix: str, options: Options) -> t.Iterator[tuple[str, Options]]:
    for name, option in options.items():
        yield f"{prefix}{name}", option
        yield from _flat(f"{prefix}{name}.", option.get("options", {}))


def lines(option: Options) -> list[str]:
    text = option["description"]
    return [text] if isinstance(text, str) else text


@pytest.mark.parametrize("role", role_docs.ROLES)
def test_descriptions_are_those_that_the_modules_give(role):
    assert role_docs.specification(role).read_text(encoding="utf-8") == role_docs.described(role), "run make docs-roles"


@pytest.mark.parametrize("role", ROLES)
def test_every_choice_is_explained(role):
    silent = [
        f"{name}: {choice}"
        for name, option in variables(role)
        for choice in option.get("choices", [])
        # The line begins with the choice, so that it says what the choice does.
        if not any(re.match(rf"V\({re.escape(str(choice))}\)", line) for line in lines(option))
        and not any(re.match(rf"V\(.*\) and V\({re.escape(str(choice))}\)", line) for line in lines(option))
    ]
    assert silent == []


@pytest.mark.parametrize("role", ROLES)
def test_every_option_that_is_referred_to_exists(role):
    names = {name for name, _option in variables(role)}
    referred = {
        re.split("[=]", target)[0].replace("[]", "")
        for _name, option in variables(role)
        for line in lines(option)
        for target in re.findall(r"O\(((?![\w.]+#)[^)]*)\)", line)
    }
    assert referred - names == set()


def test_an_outdated_description_is_found(monkeypatch, tmp_path):
    role = "replicator_handover"
    outdated = tmp_path / "argument_specs.yml"
    outdated.write_text(role_docs.described(role).replace("V(keep) ", "V(kept) "))
    right = role_docs.described(role)
    monkeypatch.setattr(role_docs, "specification", lambda _role: outdated)
    assert outdated.read_text() != right
    assert role_docs.described(role) == right
