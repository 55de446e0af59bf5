"""Write the guides of the documentation site as antsibull-docs takes them from a collection: docs/docsite in the package.

The pages of docs/ are the one source: index.md beside this file says which of them are guides, and in which order. Whatever
builds a documentation with antsibull-docs, such as docs.ansible.com, then shows them beside the modules.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import posixpath
import re
import typing as t
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COLLECTION = "streamshift.kafka"
SECTIONS = ("Start here", "Guides", "Concepts")
UNDERLINES = '=-~^"'
_TOCTREE = re.compile(r"```\{toctree\}\n:caption: (.+)\n:maxdepth: 1\n\n((?:.+\n)+)```")
_INLINE = {"text", "code_inline", "link", "strong", "em", "softbreak", "hardbreak", "image", "html_inline"}


def main() -> None:
    """Write extra-docs.yml and the guides in the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Write the guides for antsibull-docs.")
    parser.add_argument("folder", type=Path, help="docs/docsite of a collection")
    write(parser.parse_args().folder)


def write(folder: Path) -> None:
    """Write extra-docs.yml, and rst/NAME.rst for each guide."""
    sections = guides()
    pages = {page for names in sections.values() for page in names}
    repository = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["repository"]
    (folder / "rst").mkdir(parents=True, exist_ok=True)
    for name in sorted(pages):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        (folder / "rst" / f"{name}.rst").write_text(Guide(name, pages, repository).rst(text), encoding="utf-8")
    listed = [{"title": title, "toctree": names} for title, names in sections.items()]
    (folder / "extra-docs.yml").write_text(yaml.safe_dump({"sections": listed}, sort_keys=False), encoding="utf-8")


def guides() -> dict[str, list[str]]:
    """The pages of docs/ in each section of the site, in its order."""
    found = dict(_TOCTREE.findall((HERE / "index.md").read_text(encoding="utf-8")))
    wanted = {title: re.findall(r"^docs/([a-z-]+)$", found[title], re.MULTILINE) for title in SECTIONS}
    return {title: names for title, names in wanted.items() if names}


@dataclasses.dataclass
class Guide:
    """A page that becomes reStructuredText, once. pages: those that links lead to; repository: where all other files are."""

    name: str
    pages: t.Collection[str]
    repository: str
    headings: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def rst(self, text: str) -> str:
        """The page. Raises ValueError for Markdown that no guide has had so far."""
        tree = Node(MarkdownIt("commonmark").enable("table").parse(text))
        return "\n".join(line for child in tree.children for line in self._block(child)).rstrip() + "\n"

    def label(self, page: str, anchor: str = "") -> str:
        """What other pages call a page, or a heading of it by the anchor that forges give it."""
        return f"ansible_collections.{COLLECTION}.docsite.{page}{'.' if anchor else ''}{anchor}"

    def _block(self, node: Node) -> t.Iterator[str]:
        match node.type:
            case "heading":
                yield from self._heading(node)
            case "paragraph" | "inline":
                yield from (self._inline(node).rstrip(), "")
            case "fence":
                yield from (f".. code-block:: {_language(node.info)}", "", *_indented(node.content.splitlines(), 3), "")
            case "bullet_list" | "ordered_list":
                for number, item in enumerate(node.children, 1):
                    mark = "* " if node.type == "bullet_list" else f"{number}. "
                    lines = [line for child in item.children for line in self._block(child)]
                    first, *rest = _indented(lines, len(mark))
                    yield from (mark + first.lstrip(), *rest)
            case "table":
                yield from (".. list-table::", "   :header-rows: 1", "")
                for row in (row for part in node.children for row in part.children):
                    for number, cell in enumerate(row.children):
                        text = " ".join(self._inline(child) for child in cell.children)
                        yield f"   {'*' if number == 0 else ' '} - {text}".rstrip()
                yield ""
            case "html_block":  # comments
                return
            case _:
                raise ValueError(f"{self.name}: no guide has had {node.type} so far")

    def _heading(self, node: Node) -> t.Iterator[str]:
        level = int(node.tag[1:])
        title = self._inline(node.children[0])
        anchor = re.sub(r"[^\w\- ]", "", _plain(node)).strip().lower().replace(" ", "-")
        self.headings[anchor] += 1
        if self.headings[anchor] > 1:
            anchor += f"-{self.headings[anchor] - 1}"
        yield from (f".. _{self.label(self.name, '' if level == 1 else anchor)}:", "")
        yield from (title, UNDERLINES[level - 1] * len(title), "")

    def _inline(self, node: Node) -> str:
        """A sentence: markup is set apart from the letters beside it, as reStructuredText wants it."""
        text = ""
        for child in node.children if node.type not in _INLINE else [node]:
            piece = self._piece(child)
            is_markup = child.type not in ("text", "softbreak", "hardbreak")
            if (
                piece
                and text
                and not text[-1].isspace()
                and not piece[0].isspace()
                and (is_markup or text.endswith("\0"))
            ):
                text = text.rstrip("\0") + "\\ "
            text = text.rstrip("\0") + piece + ("\0" if is_markup else "")
        return text.replace("\0", "")

    def _piece(self, node: Node) -> str:
        match node.type:
            case "inline":
                return self._inline(node)
            case "text":
                return _escaped(node.content)
            case "softbreak" | "hardbreak":
                return " "
            case "code_inline":
                return f"``{node.content}``"
            case "strong" | "em":
                mark = "**" if node.type == "strong" else "*"
                return f"{mark}{_escaped(_plain(node))}{mark}"
            case "link":
                return self._link(_plain(node), str(node.attrs["href"]))
            case "image":
                return _escaped(_plain(node))
            case "html_inline":
                return ""
            case _:
                raise ValueError(f"{self.name}: no guide has had {node.type} so far")

    def _link(self, text: str, target: str) -> str:
        path, _, anchor = target.partition("#")
        shown = re.sub(r"([\\`<>])", r"\\\1", text)
        if ":" in target:
            return f"`{shown} <{target}>`__"
        place = posixpath.normpath(posixpath.join("docs", path)) if path else f"docs/{self.name}.md"
        page = place.removeprefix("docs/").removesuffix(".md")
        if page in self.pages:
            return f":ref:`{shown} <{self.label(page, anchor)}>`"
        return f"`{shown} <{self.repository}/{place}{'#' if anchor else ''}{anchor}>`__"


def _plain(node: Node) -> str:
    """What is to be read of it, without markup."""
    return (
        node.content
        if node.type in ("text", "code_inline")
        else "".join(map(_plain, node.children)) or " " * (node.type in ("softbreak", "hardbreak"))
    )


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*|]|_(?!\w))", r"\\\1", text)


def _language(info: str) -> str:
    """What colors the block: plain text for figures, and where the page names no language."""
    return info if info in ("yaml", "json", "ini", "python", "properties", "sql") else "text"


def _indented(lines: t.Iterable[str], width: int) -> list[str]:
    return [" " * width + line if line else "" for line in lines]


if __name__ == "__main__":
    main()
