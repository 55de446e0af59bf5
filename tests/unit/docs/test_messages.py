"""The messages that the documentation quotes, in tables with a column "message", are messages that the code prints."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md"))}
# Texts that are split over several lines of a program are one text.
CODE = re.sub(
    r"\"\s*\n\s*f?\"",
    "",
    "\n".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "plugins").rglob("*.py"))),
)


def quoted() -> list[tuple[str, str]]:
    tables = [
        (page, table)
        for page, text in PAGES.items()
        for table in re.findall(r"^\| message \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
    ]
    cells = [(page, row.split("|")[1]) for page, table in tables for row in table.splitlines()[2:]]
    return [(page, message) for page, cell in cells for message in re.findall(r"`([^`]+)`", cell)]


def test_messages_are_quoted():
    assert {"migrating-groups.md", "migrating-backlogs.md", "from-replicator-to-mirror-maker.md"} <= {
        page for page, _message in quoted()
    }


@pytest.mark.parametrize(("page", "message"), quoted())
def test_a_quoted_message_is_one_that_the_code_prints(page, message):
    fixed = [part.strip(" .") for part in re.split(r"\.\.\.|\d+|\bgroup x\b", message)]
    assert any(fixed)
    assert not [part for part in fixed if part not in CODE], f"{page} quotes what the code does not print"
