"""docs/troubleshooting.md has an entry, with cause and remedy, for each reason, and each kind of problem, failure and note."""

import ast
import json
import re
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import errors
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError, NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import ProblemKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Way

PLUGINS = Path(__file__).parents[3] / "plugins"
PAGE = (Path(__file__).parents[3] / "docs/troubleshooting.md").read_text(encoding="utf-8")


def entries(heading: str) -> list[tuple[str, str]]:
    """The name and the text of each entry of a section, in the order of the page."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return re.findall(r"^### `(\w+)`\n(.*?)(?=^### |\Z)", section, re.DOTALL | re.MULTILINE)


def test_a_failure_is_documented_as_modules_return_it():
    (sample,) = re.findall(r"^\{\"kind\".*\}$", PAGE, re.MULTILINE)
    assert json.loads(sample) == NotAuthorized("", topic="orders", cluster="source cluster broker1:9092").place()


ERRORS = [each for each in vars(errors).values() if isinstance(each, type) and MigrationError in each.__mro__[1:]]
SECTIONS = {
    "Reasons of a verdict": Reason,
    "Problems of a verification": ProblemKind,
    "Kinds of failures": {error.kind for error in ERRORS},
    "Notes and warnings": NoteKind,
}


@pytest.mark.parametrize(("heading", "names"), SECTIONS.items())
def test_the_page_has_one_entry_for_each_name_and_no_other(heading, names):
    assert sorted(name for name, _text in entries(heading)) == sorted(names)


@pytest.mark.parametrize("heading", SECTIONS)
def test_each_entry_has_a_cause_and_a_remedy(heading):
    parts = r"\n\*\*Cause:\*\* \S.*\n\n\*\*Remedy:\*\* \S.*"
    assert not [name for name, text in entries(heading) if not re.fullmatch(parts, text.rstrip(), re.DOTALL)]


def test_the_gravest_problem_comes_first():
    assert [name for name, _text in entries("Problems of a verification")] == list(ProblemKind)


def test_every_class_of_failures_and_every_kind_of_notes_occurs():
    code = "".join(file.read_text(encoding="utf-8") for file in sorted(PLUGINS.rglob("*.py")))
    assert [kind for kind in NoteKind if f"NoteKind.{kind.name}" not in code] == []
    # Where it is defined, where it is imported, and where it is used.
    assert [error.__name__ for error in ERRORS if len(re.findall(rf"\b{error.__name__}\b", code)) < 3] == []


def test_every_warning_is_a_note_with_a_kind():
    files = [
        file for file in sorted((PLUGINS / "modules").glob("*.py")) if ".warn(" in file.read_text(encoding="utf-8")
    ]
    assert files == []  # they use Module.warned()


@pytest.mark.parametrize("path", sorted((PLUGINS / "modules").glob("*.py")), ids=lambda path: path.stem)
def test_a_module_that_returns_notes_returns_their_kinds(path):
    results = path.read_text(encoding="utf-8").partition("\nRETURN = ")[2]
    returned = re.findall(r"^(notes|note_kinds):", results, re.MULTILINE)
    assert returned in ([], ["notes", "note_kinds"])


def table(head: str) -> list[str]:
    """The first column of the table that begins with this, row by row."""
    (rows,) = re.findall(rf"^\| `{head}` \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [row.split("|")[1].strip() for row in rows.splitlines()]


def doubts(path: Path) -> set[str]:
    """The texts of the doubts of a file, with an ellipsis in place of numbers."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    constants = {ast.unparse(node.targets[0]): node.value for node in nodes if isinstance(node, ast.Assign)}
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "Doubt"]
    texts = [constants.get(ast.unparse(call.args[0]), call.args[0]) for call in calls]
    parts = [text.values if isinstance(text, ast.JoinedStr) else [text] for text in texts]
    return {"".join(part.value if isinstance(part, ast.Constant) else "..." for part in each) for each in parts}


def test_the_page_has_all_ways_and_all_doubts():
    assert table("way") == [f"`{way}`" for way in Way]
    assert sorted(table("doubt")) == sorted(
        set().union(*map(doubts, (PLUGINS / "module_utils/_matching").glob("*.py")))
    )
