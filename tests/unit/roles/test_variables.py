"""Each variable of a role is used, and each phase has its steps."""

import re

import pytest
import yaml
from jinja2 import Environment

from tools import role_options

ROOT = role_options.ROOT
Options = role_options.Options


def specified(role: str) -> Options:
    options: Options = yaml.safe_load(role_options.specification(role).read_text())["argument_specs"]["main"]["options"]
    return options


@pytest.mark.parametrize("role", role_options.ROLES)
def test_every_variable_is_used(role):
    folder = ROOT / "roles" / role
    tasks = "".join(
        file.read_text() for file in sorted(folder.glob("*/*.yml")) if file.parent.name in ("tasks", "vars")
    )
    shared = {f"{role}_{name}" for name in role_options.read_for_all()}
    assert [name for name in specified(role) if name not in tasks and name not in shared] == []


OMITTED = object()
CUT_OVER = {"group_migration_phase": "cut_over", "__mirror_maker_group_sync_cut_over": True}


@pytest.mark.parametrize(
    ("role", "variable", "read_by", "omitted", "value"),
    [
        ("group_clone", "backup", "has_backup", False, "b.json"),
        ("group_migration", "backup", "has_backup", False, "b.json"),
        ("group_migration", "wait_for_replication", "wait", 60, 0),
        ("mirror_maker_group_sync", "wait_for_replication", "wait", 60, 0),
        ("mirror_maker_group_sync", "verify", "verify", "anchors", "none"),
    ],
)
def test_a_variable_that_a_play_omits_is_not_given(role, variable, read_by, omitted, value):
    expression = yaml.safe_load((ROOT / f"roles/{role}/vars/main.yml").read_text())[f"__{role}_{read_by}"].strip("{} ")
    environment = Environment(autoescape=False)
    environment.filters["ternary"] = lambda is_so, one, other: one if is_so else other
    of = environment.compile_expression(expression)
    name = f"{role}_{variable}"
    assert of(omit=OMITTED, **CUT_OVER) == of(omit=OMITTED, **CUT_OVER, **{name: OMITTED}) == omitted
    assert of(omit=OMITTED, **CUT_OVER, **{name: value}) == (True if variable == "backup" else value)


def test_no_loop_takes_the_item_of_whoever_includes_the_role_in_a_loop():
    """The user's variables are worked out within the loop, where item would be another one."""
    files = sorted((ROOT / "roles").glob("*/tasks/*.yml"))
    assert [file for file in files if re.search(r"\bitem\b", file.read_text())] == []


def keys(mapping):
    """All keys of a YAML mapping, one that it merges and sets itself twice."""
    return [
        name
        for key, value in mapping.value
        for name in (keys(value) if key.tag == "tag:yaml.org,2002:merge" else [key.value])
    ]


def nodes(node):
    """A YAML node with all nodes in it."""
    yield node
    if isinstance(node, yaml.CollectionNode):
        for part in node.value:
            for inside in part if isinstance(node, yaml.MappingNode) else (part,):
                yield from nodes(inside)


def nodes_of_plays(mark):
    """The YAML nodes of the files of roles and playbooks that have this text."""
    texts = [file.read_text() for folder in ("roles", "playbooks") for file in sorted((ROOT / folder).rglob("*.yml"))]
    return [node for text in texts if mark in text for node in nodes(yaml.compose(text))]


def test_no_mapping_sets_a_key_that_it_merges():
    """Ansible would warn of it in each run."""
    names = [keys(node) for node in nodes_of_plays("<<: ") if isinstance(node, yaml.MappingNode)]
    assert names and [its for its in names if len(its) > len(set(its))] == []


def test_no_folded_text_has_a_line_end():
    """YAML keeps the end of a line beside one that is indented deeper. Inside an expression, that is a blank."""
    texts = [node.value for node in nodes_of_plays(">-") if isinstance(node, yaml.ScalarNode) and node.style == ">"]
    plain = [re.sub(r"{{.*?}}|{%.*?%}", "", text, flags=re.DOTALL) for text in texts]
    assert texts and [text for text in plain if "\n" in text] == []


def test_topics_are_promoted_in_every_phase_that_commits_or_plans():
    role = ROOT / "roles/group_migration"
    (block,) = yaml.safe_load((role / "tasks/migrate.yml").read_text())
    phases = set(specified("group_migration")["group_migration_phase"]["choices"]) - {"rollback"}
    states = block["vars"]["__group_migration_promotion"]
    assert set(states) == phases == set(block["vars"]["__group_migration_steps"])
    # Only where nothing is planned anew, the plan of an earlier run is applied.
    steps = block["vars"]["__group_migration_steps"]
    assert {phase for phase, state in states.items() if state == "applied"} == {
        phase for phase in phases if "plan" not in steps[phase]
    }
    assert {phase for phase, state in states.items() if state == "planned"} == {
        phase for phase in phases if "commit" not in steps[phase]
    }


def test_no_role_decides_by_lines_for_people():
    """Whoever rewords a message must not change what a role does."""
    decides = re.compile(r"\.(summary|not_exact|left_out)\b\s*([!=]=|in\b|\|\s*(select|reject|regex_\w+)\b)")
    assert [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sorted(ROOT.glob("roles/*/*/*.yml"))
        for line in file.read_text().splitlines()
        if decides.search(line)
    ] == []
