"""The roles declare each variable as the modules declare the option, and say what each choice does."""

import re
import typing as t

import pytest
import yaml

from tools import role_options

Options = role_options.Options
ROLES = sorted(path.parents[1].name for path in role_options.ROOT.glob("roles/*/meta/argument_specs.yml"))


DOCUMENTED = sorted(
    file.relative_to(role_options.ROOT).with_suffix("")
    for folder in ("modules", "doc_fragments", "lookup")
    for file in role_options.ROOT.glob(f"plugins/{folder}/*.py")
)


def variables(role: str) -> t.Iterator[tuple[str, Options]]:
    """Every variable of a role and every option inside one, with its full name."""
    specs = yaml.safe_load(role_options.specification(role).read_text(encoding="utf-8"))["argument_specs"]
    for entry_point in specs.values():
        yield from _flat("", entry_point.get("options", {}))


def _flat(prefix: str, options: Options) -> t.Iterator[tuple[str, Options]]:
    for name, option in options.items():
        yield f"{prefix}{name}", option
        yield from _flat(f"{prefix}{name}.", option.get("options", option.get("suboptions", {})))


def lines(option: Options) -> list[str]:
    text = option["description"]
    return [text] if isinstance(text, str) else text


@pytest.mark.parametrize("role", role_options.ROLES)
def test_variables_are_declared_as_the_modules_declare_them(role):
    assert role_options.specification(role).read_text(encoding="utf-8") == role_options.declared(role), (
        "run make format"
    )
    assert role_options.defaults(role).read_text(encoding="utf-8") == role_options.with_defaults(role), (
        "run make format"
    )


def test_no_variable_with_a_default_says_what_happens_without_it():
    """The module's option may have no default."""
    named = [
        name
        for role in ROLES
        for name, option in variables(role)
        if "default" in option and any(line.startswith("If it is not set,") for line in lines(option))
    ]
    assert not named


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
        (role_options.ROOT / file.with_suffix(".py")).read_text(),
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


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("specification", "V(keep) ", "V(kept) "),  # a description
        ("specification", "[fail, keep, rewind]", "[fail, keep]"),
        ("defaults", "replicator_handover_on_rewind: fail", "replicator_handover_on_rewind: keep"),
        ("defaults", "replicator_handover_method: topic\n", ""),
    ],
)
def test_what_differs_from_the_modules_is_put_right(monkeypatch, tmp_path, file, right, wrong):
    role = "replicator_handover"
    text = getattr(role_options, file)(role).read_text(encoding="utf-8")
    outdated = tmp_path / "outdated.yml"
    outdated.write_text(text.replace(right, wrong))
    assert outdated.read_text() != text
    monkeypatch.setattr(role_options, file, lambda _role: outdated)
    put_right = role_options.declared(role) if file == "specification" else role_options.with_defaults(role)
    assert yaml.safe_load(put_right) == yaml.safe_load(text)
