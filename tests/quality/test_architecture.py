"""docs/architecture.md is about the code that is there: its files, functions, packages and layers, and no others."""

import ast
import functools
import re
import tomllib
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
UTILS = PLUGINS / "module_utils"
PACKAGES = {file.parent.relative_to(UTILS).as_posix() for file in UTILS.glob("*/**/__init__.py")}
PRIVATE = "ansible_collections.streamshift.kafka.plugins.module_utils."
CONTRACTS: list[dict[str, t.Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
FIGURES = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)

FILE = re.compile(r"(?!__init__)[\w./-]+(\.(py|md|yml|toml|txt|in)|\.schema\.json|/)")
CODE = re.compile(r"(modules|_[a-z]+)\.[\w.]+(\(\))?|[\w.]+\(\)")
CODE_IN_A_FIGURE = re.compile(r"(?<![\w.])(?:modules|_[a-z]+)\.[\w.]+\(\)")


def sections() -> t.Iterator[tuple[Path, str]]:
    """Each section, with the folder that its bare file names lie in: the package that its heading names, if it names one."""
    for section in re.split(r"^(?=#)", PROSE, flags=re.MULTILINE):
        named = re.search(r"`(_[\w/]+)`", section.partition("\n")[0])
        yield (UTILS / named[1] if named and named[1] in PACKAGES else UTILS), section


def quoted() -> list[tuple[Path, str]]:
    return [(folder, text) for folder, section in sections() for text in re.findall(r"`([^`\n]+)`", section)]


def test_files_exist() -> None:
    named = [(folder, text) for folder, text in quoted() if FILE.fullmatch(text)]
    assert len(named) > 100
    assert not [path for folder, path in named if not any((place / path).exists() for place in (ROOT, UTILS, folder))]


def test_functions_and_classes_exist() -> None:
    named = {text for _folder, text in quoted() if CODE.fullmatch(text)}
    named |= {name for figure in FIGURES for name in CODE_IN_A_FIGURE.findall(figure)}
    assert len(named) > 100
    assert not [name for name in sorted(named) if not exists(name)]


def exists(name: str) -> bool:
    """`_package.file.function()` or `_package.file.Class.method()`; without parentheses anything that the file defines."""
    words = name.removesuffix("()").split(".")
    folder = UTILS if words[0].startswith("_") else PLUGINS
    for length in range(1, len(words)):
        file = folder.joinpath(*words[:length]).with_suffix(".py")
        if file.is_file():
            found: ast.AST | None = tree(file)
            for word in words[length:]:
                found = members(found).get(word)
            return isinstance(found, ast.FunctionDef | ast.ClassDef) if name.endswith("()") else found is not None
    return False


@functools.cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def members(of: ast.AST | None) -> dict[str, ast.AST]:
    """What a file or a class defines, by name."""
    found: dict[str, ast.AST] = {}
    for node in getattr(of, "body", ()):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        for target in (*getattr(node, "targets", ()), getattr(node, "target", None)):
            if isinstance(target, ast.Name):
                found[target.id] = node
    return found


def rows(header: str) -> dict[str, list[str]]:
    """The table whose first column has this header: the other cells by the first one, without back-ticks."""
    table = re.search(rf"^\| {header} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert table, f"there is no table with the column {header}"
    cells = [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]
    return {first: rest for first, *rest in cells}


@pytest.mark.parametrize("table", ["package", "where to begin"])
def test_every_package_has_a_row(table: str) -> None:
    assert set(rows(table)) == PACKAGES


@pytest.mark.parametrize(
    "contract", [each for each in CONTRACTS if each["type"] == "layers"], ids=lambda each: each["id"]
)
def test_layers_are_those_that_are_checked(contract: dict[str, t.Any]) -> None:
    stated = re.search(rf"^`{contract['id']}` [^\n]*\n\n```text\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    assert stated and stated[1].splitlines() == contract["layers"]


def test_libraries_are_imported_where_the_page_says() -> None:
    stated = {libraries: where for libraries, (where, _why) in rows("library").items()}
    checked = {
        ", ".join(contract["forbidden_modules"]): ", ".join(
            importer.removeprefix(PRIVATE).removesuffix(".**")
            for importer, _library in (line.split(" -> ") for line in contract["ignore_imports"])
        )
        for contract in CONTRACTS
        if contract["type"] == "forbidden"
    }
    assert stated == checked


# Functions that do the same for another type may have one name.
THE_SAME_OF_ANOTHER_TYPE = {"from_json", "to_json"}


def test_no_name_stands_twice() -> None:
    """Whoever searches for a class, a public function or a file below module_utils finds one."""
    places: dict[str, list[str]] = {}
    for file in sorted(UTILS.rglob("*.py")):
        if file.name != "__init__.py":
            names = {
                node.name
                for node in tree(file).body
                if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and node.name[0] != "_")
            }
            for name in (file.name, *names):
                places.setdefault(name, []).append(file.relative_to(UTILS).as_posix())
    assert not {
        name: files for name, files in places.items() if len(files) > 1 and name not in THE_SAME_OF_ANOTHER_TYPE
    }


def test_no_alias_of_a_type_has_the_name_of_a_class() -> None:
    """`Place = tuple[int, int]` in one file and `class Place` in another would be read as one."""
    bodies = [(file, node) for file in sorted(UTILS.rglob("*.py")) for node in tree(file).body]
    classes = {node.name for _file, node in bodies if isinstance(node, ast.ClassDef)}
    assert classes
    assert not [
        f"{file.relative_to(UTILS)}: {name}"
        for file, node in bodies
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for name in members(ast.Module([node], [])).keys() & classes
        if not name.startswith("_")
    ]


def test_every_module_has_a_unit_test_of_its_own() -> None:
    modules = {file.stem for file in (PLUGINS / "modules").glob("*.py")}
    tested = {file.stem.removeprefix("test_") for file in (ROOT / "tests/unit/plugins/modules").glob("test_kafka_*.py")}
    assert modules <= tested
    # What is too much for one file begins with the name of the module.
    assert {name for name in tested if not name.startswith(tuple(modules))} == set()


@pytest.mark.parametrize(
    ("folder", "others"), [("testbed", ("demo", "tests", "extensions")), ("demo", ("tests", "extensions"))]
)
def test_what_programs_share_knows_none_of_them(folder: str, others: tuple[str, ...]) -> None:
    """A reader of the demo needs no test, and one of the testbed neither."""
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    imported = {
        name
        for file in files
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert not {name for name in imported if name.split(".")[0] in others}


def test_the_programs_of_stories_need_nothing_of_the_collection(run_tool) -> None:
    """Molecule starts them where the collection is not on the path."""
    start = "import pathlib, runpy, sys; sys.path[:0] = [sys.argv[1]]; [runpy.run_path(str(file)) for file in {}]"
    files = "pathlib.Path(sys.argv[1]).glob('*.py')"
    run_tool("python", "-c", start.format(files), ROOT / "extensions/molecule/story", PYTHONPATH="")


def test_few_files_would_change_for_another_client_of_the_control_plane(known_files):
    texts = {file.as_posix(): (ROOT / file).read_text(encoding="utf-8") for file in known_files if file.suffix == ".py"}
    names = re.compile(r"^\s*(import kafka|from kafka|from [\w.]*\.kafka_library)\b", re.MULTILINE)
    found = {path for path, text in texts.items() if names.search(text)}
    control = "plugins/module_utils/_control"
    assert {path for path in found if not path.startswith("tests/unit/")} == {
        f"{control}/kafka_library.py", f"{control}/admin_client.py", f"{control}/reasons.py",
        "testbed/clients.py",
        "plugins/module_utils/_migration/_connect/topic.py",  # Kafka's partitioner
    }  # fmt: skip
