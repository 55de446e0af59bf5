"""The page of an assessment leads from what to decide to what is seen, and no name becomes anything else than a name."""

import re

import pytest
from markdown_it import MarkdownIt

from ansible_collections.streamshift.kafka.plugins.module_utils._model.assessment import Assessment, merged
from ansible_collections.streamshift.kafka.plugins.module_utils._model.risks import RISKS, Risk, RiskKind
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.assessment_story import assessment_story
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.page import html_page
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.ticket import markdown
from tests.support.chromium import chromium, needs_chromium, watched

HEAD = {"source": "onprem", "destination": None, "source_id": "x", "read": "2026-11-26T00:00:00Z"}
HOSTILE = ["a\\|b", "a\\\\|", "`|`", "|", "\\", "two\nlines", "\u202eturned", "<b>", "x" * 249]


@pytest.fixture(scope="module")
def story():
    """Of an assessment with a risk of each kind about groups with such names."""
    risks = [Risk(kind, f"about {name}", name) for kind in RISKS for name in HOSTILE]
    return assessment_story(merged([Assessment(HEAD, (), (), tuple(risks))]))


def test_each_kind_leads_to_its_risks(story):
    page = html_page(story)
    links = re.findall(r'href="#([^"]*)"', page)
    assert links == [kind.value for kind in RISKS]
    assert set(links) == set(re.findall(r' id="([^"]*)"', page))


def test_each_row_of_a_table_has_the_cells_of_its_header(story):
    """Also where programs take a bar after a backslash for the end of a cell."""
    text = markdown(story)
    for line in text.splitlines():
        if line.startswith("|"):
            # The strict reading: a bar is part of the cell after an odd number of backslashes.
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in (3, 5)
    for table in re.findall(r"<table>.*?</table>", MarkdownIt("commonmark").enable("table").render(text), re.DOTALL):
        counts = {len(re.findall(r"<t[hd][ >]", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)}
        assert len(counts) == 1


def test_where_the_destination_does_not_answer_no_group_is_without_blockers():
    row = {"group": "billing", "use": "application", "state": "Empty", "topics": ["orders"], "partitions": 1, "lag": 0}
    row |= {"movable": True, "why_not": None, "next_record": None}
    for risks, unconcerned, movable in (
        ((), "1", "yes"),
        ((Risk(RiskKind.OBSTACLE, "cloud does not answer."),), "0", "no: obstacle"),
        ((Risk(RiskKind.ACL_MISSING, "missing ACL TOPIC READ on orders."),), "1", "yes"),
    ):
        story = assessment_story(merged([Assessment(HEAD, (row,), (), risks)]))
        assert (unconcerned, "of these without blockers and warnings") in story.figures
        assert f"| {movable} |" in markdown(story).replace("\\", "")


def test_a_group_with_partitions_without_a_committed_offset_is_none_with_exact_offsets_only():
    row = {"use": "application", "state": "Empty", "topics": [], "partitions": 2, "lag": 0, "movable": True}
    row |= {"why_not": None, "next_record": None, "risks": 0}
    counts = [(2, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 1), (0, 1, 1, 1)]
    groups = tuple(
        row | {"group": f"g{number}"} | dict(zip(("exact", "safe", "blocked", "uncommitted"), its, strict=True))
        for number, its in enumerate(counts)
    )
    assert (
        "4 groups planned: 1 with exact offsets only, 1 with safe offsets, which may repeat records, 1 with exact offsets and "
        "partitions without a committed offset, and 1 with blocked partitions."
    ) in markdown(assessment_story(Assessment(HEAD, groups, (), ())))


@needs_chromium
@pytest.mark.parametrize("width", [360, 1400])
def test_no_kind_is_broken_and_no_page_is_wider_than_the_screen(story, tmp_path, width):
    file = tmp_path / "assessment.html"
    file.write_text(html_page(story), encoding="utf-8")
    said: list[str] = []
    with chromium() as browser:
        page = watched(browser, said, viewport={"width": width, "height": 800})
        page.goto(file.as_uri())
        heights = page.eval_on_selector_all("td.code a", "links => links.map(link => link.getClientRects().length)")
        assert heights == [1] * len(RISKS)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        page.get_by_role("link", name="topic_missing", exact=True).click()
        assert page.evaluate("location.hash") == "#topic_missing"
        page.context.close()
    assert said == []
