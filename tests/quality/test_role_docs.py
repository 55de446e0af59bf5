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


DOCUMENTED = sorted(
    file.relative_to(role_docs.ROOT).with_suffix("")
    for folder in ("modules", "doc_fragments", "lookup")
    for file in role_docs.ROOT.glob(f"plugins/{folder}/*.py")
)


def variables(role: str) -> t.Iterator[tuple[str, Options]]:
    """Every variable of a role and every option inside one, with its full name."""
    specs = yaml.safe_load(role_docs.specification(role).read_text(encoding="utf-8"))["argument_specs"]
    for entry_point in specs.values():
        yield from _flat("", entry_point.get("options", {}))


def _flat(prefix: str, options: Options) -> t.Iterator[tuple[str, Options]]:
    for name, option in options.items():
        yield f"{prefix}{name}", option
        yield from _flat(f"{prefix}{name}.", option.get("options", option.get("suboptions", {})))


def lines(option: Options) -> list[str]:
    text = option["description"]
    return [text] if isinstance(text, str) else text


@pytest.mark.parametrize("role", role_docs.ROLES)
def test_descriptions_are_those_that_the_modules_give(role):
    assert role_docs.specification(role).read_text(encoding="utf-8") == role_docs.described(role), "run make docs-roles"


def test_the_keys_of_a_cluster_are_those_that_the_modules_know(monkeypatch, tmp_path):
    right = role_docs.CLUSTER_KEYS.read_text(encoding="utf-8")
    assert right == role_docs.with_cluster_keys(), "run make docs-roles"
    outdated = tmp_path / "main.yml"
    outdated.write_text(right.replace("  - sasl_mechanism\n", ""))
    monkeypatch.setattr(role_docs, "CLUSTER_KEYS", outdated)
    assert outdated.read_text() != right
    assert role_docs.with_cluster_keys() == right


def unexplained(options: t.Iterable[tuple[str, Options]]) -> list[str]:
    """The choices that no line begins with, so that none says what they do."""
    return [
        f"{name}: {choice}"
        for name, option in options
        for choice in option.get("choices", [])
        if not any(re.match(rf"(V\(.*\) and )?V\({re.escape(str(choice))}\)", line) for line in lines(option))
    ]


@pytest.mark.parametrize("role", ROLES)
def test_every_choice_is_explained(role):
    assert unexplained(variables(role)) == []


@pytest.mark.parametrize("file", DOCUMENTED, ids=lambda file: file.as_posix())
def test_every_choice_of_a_module_is_explained(file):
    texts = re.findall(
        r'^ *[A-Z_]+ = r?"""\n(.*?)"""',
        (role_docs.ROOT / file.with_suffix(".py")).read_text(),
        re.DOTALL | re.MULTILINE,
    )
    given = [yaml.safe_load(text) for text in texts if "options:" in text]
    assert [
        name for each in given if isinstance(each, dict) for name in unexplained(_flat("", each.get("options", {})))
    ] == []


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
