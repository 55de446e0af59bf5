"""Which options the messages of a module name, found in the code: what a module may call, as far as names tell.

More than it really calls, never less: a method counts for every class that the module can import and that has one of its name.
"""

import ast
import collections
import functools
import itertools
import re
import typing as t
from pathlib import Path

PLUGINS = Path(__file__).parents[2] / "plugins"

Named = t.TypeVar("Named")


class Part(t.NamedTuple):
    """A function, a method, or all that a file does when it is imported. place: ``_migration.quiet.watch``."""

    file: str
    place: str
    node: ast.AST


@functools.cache
def named_options(module: str) -> dict[str, set[str]]:
    """The options that messages of this module may name outside of ways(), with the places that name them."""
    return _by_what_is_named((part.place, _options_of(part)) for part in _reached(f"modules.{module}"))


@functools.cache
def named_values(module: str) -> dict[tuple[str, str], set[str]]:
    """The same for an option with a value: ``set {option_name('on_absent')} to warn``."""
    return _by_what_is_named((part.place, _values_of(part)) for part in _reached(f"modules.{module}"))


def _by_what_is_named(places: t.Iterable[tuple[str, t.Iterable[Named]]]) -> dict[Named, set[str]]:
    found = collections.defaultdict(set)
    for place, its in places:
        for each in its:
            found[each].add(place)
    return dict(found)


# Modules share most of what they call: a part is looked through once for all of them.
@functools.cache
def _options_of(part: Part) -> frozenset[str]:
    return frozenset(_options(part.node))


@functools.cache
def _values_of(part: Part) -> frozenset[tuple[str, str]]:
    return frozenset(_values(part.node))


def _values(node: ast.AST, guard: str = "") -> t.Iterator[tuple[str, str]]:
    """ways() leaves out a pair of an option with a value, and a text, where the user cannot set the option to that."""
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
        guard = str(node.elts[0].value)
    if isinstance(node, ast.JoinedStr):
        for part, text in itertools.pairwise(node.values):
            value = re.match(r"(?: to|:) (\w+)", str(text.value)) if isinstance(text, ast.Constant) else None
            if value and isinstance(part, ast.FormattedValue):
                yield from ((option, value[1]) for option in _options(part) if guard != f"{option}: {value[1]}")
    for child in ast.iter_child_nodes(node):
        yield from _values(child, guard)


def _options(node: ast.AST, guards: frozenset[str] = frozenset()) -> t.Iterator[str]:
    """Of a pair of an option and a text, ways() leaves out both where the user cannot set the option."""
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
        guards |= {str(node.elts[0].value).partition(":")[0]}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "option_name":
        (option,) = node.args
        if isinstance(option, ast.Constant) and option.value not in guards:
            yield str(option.value)
    for child in ast.iter_child_nodes(node):
        yield from _options(child, guards)


@functools.cache
def _reached(module: str) -> tuple[Part, ...]:
    files = _imported(module)
    todo = [*_parts(module).values(), *(_parts(file)[""] for file in files)]
    seen: dict[str, Part] = {}
    while todo:
        part = todo.pop()
        if part.place not in seen:
            seen[part.place] = part
            functions, methods = _called(part)
            todo += functions
            todo += (its for name in methods for its in _methods()[name] if its.file in files)
    return tuple(seen.values())


@functools.cache
def _called(part: Part) -> tuple[list[Part], set[str]]:
    """Functions and classes, and the names of methods of whatever class."""
    own, names = _parts(part.file), _names(part.file)
    functions: list[Part] = []
    methods: set[str] = set()
    for node in ast.walk(part.node):
        if isinstance(node, ast.Name):
            file, name = names.get(node.id, (part.file, node.id))
            functions += _function_or_class(_parts(file) if file else own, name)
        elif isinstance(node, ast.Attribute):
            file, name = names.get(node.value.id, ("", "")) if isinstance(node.value, ast.Name) else ("", "")
            if file and not name:
                functions += _function_or_class(_parts(file), node.attr)
            else:
                methods.add(node.attr)
    return functions, methods


def _function_or_class(parts: t.Mapping[str, Part], name: str) -> t.Iterator[Part]:
    """The function, or what runs of a class without being called by name."""
    yield from (its for at, its in parts.items() if name and (at == name or at.startswith(f"{name}.__")))


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse((PLUGINS / f"{_path(file)}.py").read_text())


@functools.cache
def _files() -> frozenset[str]:
    found = [*PLUGINS.glob("module_utils/**/*.py"), *PLUGINS.glob("modules/*.py")]
    return frozenset(".".join(path.relative_to(PLUGINS).with_suffix("").parts) for path in found)


def _path(file: str) -> str:
    return file.replace(".", "/")


@functools.cache
def _parts(file: str) -> dict[str, Part]:
    """By name; a method as ``Class.method``; what is neither, under an empty name."""
    found: dict[str, ast.AST] = {}
    rest = []
    for node in _tree(file).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{its.name}": its for its in node.body if isinstance(its, ast.FunctionDef)}
        else:
            rest.append(node)
    own = file.removeprefix("module_utils.").removeprefix("modules.")
    found[""] = ast.Module(rest, [])
    return {name: Part(file, f"{own}.{name}", node) for name, node in found.items()}


@functools.cache
def _methods() -> dict[str, list[Part]]:
    found = collections.defaultdict(list)
    for file in _files():
        for name, part in _parts(file).items():
            if "." in name:
                found[name.partition(".")[2]].append(part)
    return found


@functools.cache
def _names(file: str) -> dict[str, tuple[str, str]]:
    """What a file imports from the collection: {name: (file, name there)}; the second is empty for a file itself."""
    found = {}
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*file.split(".")[: -node.level], *([node.module] if node.module else [])]
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                found[alias.asname or alias.name] = (whole, "") if whole in _files() else (".".join(base), alias.name)
    return {name: (its, part) for name, (its, part) in found.items() if its in _files()}


@functools.cache
def _imported(file: str) -> frozenset[str]:
    seen, todo = {file}, [file]
    while todo:
        new = {its for its, _name in _names(todo.pop()).values()} - seen
        seen |= new
        todo += new
    return frozenset(seen)
