"""Messages name options by option_name(), so that a role's user reads the names of variables: those that the role has."""

import ast
import importlib
import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import (
    IN_PHASE,
    OF_GROUPS,
    OTHER_NAMES,
    option_names,
)

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
PACKAGE = "ansible_collections.streamshift.kafka.plugins"
FILES = sorted([*(PLUGINS / "module_utils").rglob("*.py"), *(PLUGINS / "modules").glob("*.py")])
# Their texts are kept in files, which name the options of modules, and are translated as a whole where they are shown.
KEPT = {
    "_backlog/entries.py",
    "_matching/absent.py",
    "_matching/certify.py",
    "_matching/chosen.py",
    "_matching/decide.py",
    "_matching/lost_records.py",
    "_matching/merged.py",
    "_matching/reset_offsets.py",
    "_matching/rows.py",
    "_matching/whole.py",
    "_migration/drafts.py",
    "_migration/not_taken.py",
    "_model/mapping.py",
    "_model/report.py",
    "_model/risks.py",
    "_planning/identical.py",
    "_planning/merged_counts.py",
    "_planning/merged_groups.py",
    "_planning/new_records.py",
    "_planning/other_partitions.py",
    "_planning/wide.py",
    "_report/advice.py",
}


def documented(kind: str, file: str) -> dict[str, t.Any]:
    """The options that a module documents itself, or those of a fragment, with their descriptions."""
    name = "DOCUMENTATION" if kind == "modules" else "ModuleDocFragment"
    its = getattr(importlib.import_module(f"{PACKAGE}.{kind}.{file}"), name)
    texts = [its] if isinstance(its, str) else [text for key, text in vars(its).items() if key.isupper()]
    return {name: about for text in texts for name, about in (yaml.safe_load(text).get("options") or {}).items()}


def options_of(module: str) -> set[str]:
    """The options of a module, with those of its fragments."""
    text = importlib.import_module(f"{PACKAGE}.modules.{module}").DOCUMENTATION
    fragments = {name.split(".")[2] for name in yaml.safe_load(text).get("extends_documentation_fragment") or []}
    return {*documented("modules", module), *(name for file in fragments for name in documented("doc_fragments", file))}


def options() -> set[str]:
    """The options of all modules, without those of their clusters."""
    kinds = ("modules", "doc_fragments")
    return {name for kind in kinds for path in (PLUGINS / kind).glob("*.py") for name in documented(kind, path.stem)}


OPTIONS = options()
# Words of plain English are no proof that an option is meant.
NAMED = re.compile(rf"(?<![\w/])(?:{'|'.join(sorted(name for name in OPTIONS if '_' in name))})(?![\w-])")


def texts(tree: ast.Module) -> t.Iterator[ast.Constant]:
    """The texts in sentences, without docstrings and documentation, and without an option and its value, as for ways()."""
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("DOCUMENTATION", "EXAMPLES", "RETURN"))
    }
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    sentences = (node for node in constants if " " in re.sub(r"\A\w+: \w+\Z", "", node.value.strip()))
    yield from (node for node in sentences if id(node) not in documentation)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_messages_name_options_by_the_function(path):
    found = [
        f"line {node.lineno}: {node.value}" for node in texts(ast.parse(path.read_text())) if NAMED.search(node.value)
    ]
    assert bool(found) == ("/".join(path.parts[-2:]) in KEPT), "\n".join(found)


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


def variables_of_roles() -> dict[str, dict[str, t.Any]]:
    """By role, its variables without the name of the role, with their descriptions."""
    specs = {path.parts[-3]: yaml.safe_load(path.read_text()) for path in ROOT.glob("roles/*/meta/argument_specs.yml")}
    return {
        role: {
            name.removeprefix(f"{role}_"): about for name, about in spec["argument_specs"]["main"]["options"].items()
        }
        for role, spec in specs.items()
    }


# What roles give to a module through roles/common.
DICTIONARIES = {"_common_look_options": "kafka_migration_info"}


def tasks_of(node: t.Any) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """The modules of this collection that tasks run, and what they are given."""
    if isinstance(node, dict):
        for key, value in node.items():
            if str(key).startswith("streamshift.kafka.kafka_") and isinstance(value, dict):
                yield key.rpartition(".")[2], value
            elif key in DICTIONARIES:
                yield DICTIONARIES[key], value
            yield from tasks_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from tasks_of(value)


VARIABLES = variables_of_roles()
TASKS = [
    (path.parts[-3], module, given)
    for path in sorted(ROOT.glob("roles/*/tasks/*.yml"))
    for module, given in tasks_of(yaml.safe_load(path.read_text()))
]


@pytest.mark.parametrize(
    ("module", "option", "variable"),
    [
        pytest.param(module, option, variable, id=f"{module}.{option}")
        for table in (OTHER_NAMES, OF_GROUPS)
        for module, names in table.items()
        for option, variable in names.items()
    ],
)
def test_the_table_of_other_names_has_options_that_tasks_set_and_variables_of_roles(module, option, variable):
    option, _colon, value = option.partition(": ")
    variable, _colon, chosen = variable.partition(": ")
    assert option in options_of(module)
    given = [task[option] for _role, its, task in TASKS if its == module and option in task]
    assert value in given if value else given
    having = [its[variable] for its in VARIABLES.values() if variable in its]
    assert [its for its in having if not chosen or chosen in its["choices"]]


@pytest.mark.parametrize("phase", IN_PHASE)
def test_the_variables_of_a_phase_are_those_of_a_role_that_has_it(phase):
    known = [its for its in VARIABLES.values() if phase in its.get("phase", {}).get("choices", ())]
    names = {name for pair in IN_PHASE[phase].items() for name in pair if name}
    assert {name for name in names if not any(name in its for its in known)} == set()


def passed_on() -> t.Iterator[t.Any]:
    """Each option for which a task of a role gives variables of the role."""
    for role, module, given in TASKS:
        for option, value in given.items():
            # A cluster is in the variables of a host that the role's variable names.
            if role in VARIABLES and isinstance(value, str) and "hostvars[" not in value:
                known = {f"{role}_{name}" for name in VARIABLES[role] if name != "phase"}
                used = set(re.findall(rf"\b{role}_\w+", value)) & known
                if used:
                    yield pytest.param(role, module, option, used, id=f"{role}-{module}.{option}")


@pytest.mark.parametrize(("role", "module", "option", "used"), list(passed_on()))
def test_an_option_is_called_like_the_variable_that_the_role_gives_for_it(role, module, option, used):
    variables = {f"{role}_{name}": described for name, described in VARIABLES[role].items()}
    named = [option_names(module, role, phase, variables).get(option) for phase in (None, *IN_PHASE)]
    assert used & set(named)
