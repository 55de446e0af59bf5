"""Nothing that a cluster tells acts on a terminal, or hides."""

import csv
import io

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import documents
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import GroupBusy, InvalidFile, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_overview import (
    GroupOverview,
    overview_csv,
    overview_table,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.visible_text import (
    names_text,
    quoted,
    quoted_list,
    shortened,
    table,
    visible,
    visible_name,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.wording import first_names
from ansible_collections.streamshift.kafka.plugins.module_utils._module.frame import reporter
from ansible_collections.streamshift.kafka.plugins.module_utils._module.results import diff, text_lines

# ESC and the controls of 8 bits, ends of lines of every kind, a bell, NUL, directions, zero width, other blanks, unassigned.
HOSTILE = [
    "\x1b[2K", "\x9b2K", "\n", "\r", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x07", "\x08", "\0", "\t", "\x7f",
    "\u202e", "\u2066", "\u200e", "\u061c", "\u200b", "\u200d", "\ufeff", "\xad", "\u2060", "\xa0", "\u3000", "\u2003",
    "\ud800", "\ufffe", "\U000e0041",
]  # fmt: skip


def is_harmless(text):
    return all(char == " " or (char.isprintable() and not char.isspace()) for char in text)


@pytest.mark.parametrize("char", HOSTILE)
def test_every_such_character_is_shown_wherever_people_read_it(char, tmp_path):
    name = f"billing{char}Total: 5 exact"
    assert is_harmless(visible(name)) and visible(visible(name)) == visible(name)
    for error in (GroupBusy("it has members", group=name, topic=name, why=name), Refused(name, remedy=f"see {name}")):
        assert is_harmless(str(error))
        assert error.place()["group"] in (name, None)
    made = diff([name], [f"{name} 1"], name, name)
    assert all(is_harmless(line) for side in made.values() for line in side.split("\n"))
    assert made["before"].count("\n") == made["after"].count("\n") == 1
    reporter(str(tmp_path / "progress"))(name)
    lines = (tmp_path / "progress").read_bytes().decode().split("\n")
    assert len(lines) == 2 and is_harmless(lines[0])


def test_other_characters_stay():
    text = "b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher \N{CJK UNIFIED IDEOGRAPH-56FE} \N{GRINNING FACE} a\\b"
    assert visible(text) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (" a", "' a'"),
        ("a ", "'a '"),
        ("a b", "'a b'"),
        ("a,b", "'a,b'"),
        ("a's", '"a\'s"'),
        ("a\t", "a\\u0009"),
        ("", ""),
    ],
)
def test_a_name_is_not_taken_for_several(name, shown):
    assert visible_name(name) == shown
    if name:
        assert f"topic {shown}: gone." in str(Refused("gone", topic=name))


def test_what_a_user_has_written_keeps_its_backslashes():
    assert quoted(r"\2.new") == r"'\2.new'"
    assert quoted_list(["it's", "a"]) == """["it's", 'a']"""
    assert quoted('it\'s "quoted"') == "'it''s \"quoted\"'"


def test_lines_of_a_file_end_at_line_feeds_alone():
    assert text_lines("a\x85b\n\u2028c\r\n") == ["a\x85b", "\u2028c\r"]
    assert text_lines("") == []


@pytest.mark.parametrize("char", HOSTILE)
def test_a_list_of_groups_is_one_line_each(char):
    name = f"billing{char}fatal: nothing"
    groups = [GroupOverview(GroupReading(name, True, "Empty", "classic", "consumer", {}), (), {})]
    assert all(map(is_harmless, overview_table(groups)))
    rows = list(csv.reader(io.StringIO(overview_csv(groups, {}), newline=""), strict=True))
    assert [row[0] for row in rows] == ["group", visible(name)]
    assert groups[0].row()["group"] == name


def test_a_text_that_is_cut_says_so():
    assert shortened("abc", 3) == "abc"
    assert shortened("x" * 1300, 5) == "xxxxx... (1,295 more characters)"
    row = {"group": "billing", "metadata": "m" * 500}
    with pytest.raises(InvalidFile, match=r"m\.\.\. \(\d+ more characters\)"):
        documents.parse("plan", "plan.json", row, lambda its: its["topic"])


def test_names_in_a_list_can_be_told_apart():
    names = ["a", "b, c", "night owl", "Zoe's"]
    assert names_text(names) == "a, 'b, c', 'night owl', \"Zoe's\""
    assert first_names(names, 2) == "a, 'b, c' and 2 more"


def test_a_very_long_name_moves_the_cells_of_its_own_row_alone():
    lines = table(("group", "lag"), [("a", "1"), ("b" * 403, "2")], {"lag"})
    assert lines == ["group" + " " * 57 + "lag", "a" + " " * 63 + "1", "b" * 403 + "    2"]
