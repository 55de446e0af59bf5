"""The report in a real browser: it sorts, searches, follows the keyboard, and keeps the rules of accessibility."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from ansible_collections.streamshift.kafka.plugins.module_utils._model.run_record import Step
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.page import html_page
from tests.support.chromium import chromium, needs_chromium, watched
from tests.support.reported import ENTRIES, entry, logs_of, texts_of, told

pytestmark = needs_chromium

MARKUP = "<b onclick=alert(1)>bold</b></script>"
OTHERS = [entry("many", f"topic-{number}", number, offset=number) for number in range(150)]
ENTRIES_SHOWN = [
    *ENTRIES,
    entry("fraud-eu", "orders", 0),
    entry(MARKUP, "orders", 0, Verdict.SAFE, reason=Reason.EXPIRED, repeats=7),
    *OTHERS,
]

KNOWN = logs_of(ENTRIES_SHOWN)
LOGS = dataclasses.replace(KNOWN, destination={**(KNOWN.destination or {}), OTHERS[4].partition: (6, 6)})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """``opened(**settings of the browser)`` is the page; whatever it says on the console, or asks a network, fails the test."""
    file = tmp_path / "report.html"
    steps = [Step("plan", 2.5, counts={"compared": 9000}), Step("commit", 1.0)]
    made = told(texts_of(ENTRIES_SHOWN, committed=True, skipped=2), LOGS, ran_by="mia", steps=steps)
    file.write_text(html_page(made), encoding="utf-8")
    said: list[str] = []
    pages = []

    def page(**settings: object) -> Page:
        pages.append(watched(browser, said, **settings))
        pages[-1].goto(file.as_uri())
        return pages[-1]

    yield page
    for made in pages:
        made.context.close()
    assert said == []


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#partitions tbody tr td:nth-child({number})").all_inner_texts()


def test_rows_are_sorted_searched_filtered_and_turned(opened):
    page = opened()
    rows = page.locator("#partitions tbody tr")
    expect(rows).to_have_count(100)
    page.locator("#partitions").get_by_role("button", name="Next").click()
    expect(rows).to_have_count(57)
    page.locator("#partitions").get_by_role("button", name="Destination offset").click()
    assert column(page, 6)[:4] == ["0", "1", "2", "3"]
    page.locator("#partitions").get_by_role("button", name="Destination offset").click()
    assert column(page, 6)[:2] == ["1046", "149"]
    page.get_by_label("Search group-partitions").fill("FRAUD equal")
    expect(rows).to_have_count(1)
    assert column(page, 1) == ["fraud"] and column(page, 9) == ["66"]
    page.get_by_label("Search group-partitions").fill("")
    page.locator("#partitions").get_by_label("Verdict").select_option("blocked")
    expect(rows).to_have_count(1)
    assert column(page, 2) == ["clicks-0"]


def test_where_a_group_is_in_its_logs_is_drawn_and_said(opened):
    page = opened()
    page.get_by_label("Search group-partitions").fill("billing orders-0")
    row = page.locator("#partitions tbody tr")
    expect(row).to_have_count(1)
    expect(row.get_by_role("img", name="offset 41 of 1 to 120, 79 after it")).to_be_visible()
    expect(row.get_by_role("img", name="offset 46 of 6 to 126, 80 after it")).to_be_visible()
    assert column(page, 4) == ["79"]
    passed = row.locator("svg.log rect.passed").first
    assert float(passed.get_attribute("width") or 0) == pytest.approx(100 * 40 / 119)
    page.get_by_role("button", name="Details of billing orders-0").click()
    expect(page.locator("#partitions tr.more")).to_contain_text(
        "Log at the source: offset 41 of 1 to 120, 79 after it."
    )
    # Blocked, so there is no offset at the destination to draw.
    page.get_by_label("Search group-partitions").fill("billing clicks-0")
    expect(row.locator("svg.log")).to_have_count(1)


def test_offsets_outside_of_their_logs_are_at_its_edges(opened):
    page = opened()
    page.get_by_label("Search group-partitions").fill("billing orders-1")
    mark = page.get_by_role("img", name="offset 1046, after the log from 6 to 126").locator("rect.mark")
    expect(mark).to_have_attribute("x", "96")
    for number, log in ((3, "6 to 126"), (4, "6 to 6")):  # the second one is empty
        page.get_by_label("Search group-partitions").fill(f"topic-{number}-{number}")
        mark = page.get_by_role("img", name=f"offset {number}, before the log from {log}").locator("rect.mark")
        expect(mark).to_have_attribute("x", "0")


def test_groups_have_their_lag_and_are_sorted_by_it(opened):
    page = opened()
    header = page.locator("#groups th", has_text="Lag")
    header.get_by_role("button").click()
    header.get_by_role("button").click()
    assert page.locator("#groups tbody tr td:nth-child(1)").all_inner_texts()[:2] == ["many", "billing"]
    assert page.locator("#groups tbody tr td:nth-child(9)").all_inner_texts()[:2] == ["11,850", "237"]


def test_names_with_markup_are_texts(opened):
    page = opened()
    page.get_by_label("Search group-partitions").fill("bold")
    expect(page.locator("#partitions tbody tr")).to_have_count(1)
    assert column(page, 1) == [MARKUP] and page.locator("b").count() == 0


def test_the_partitions_of_a_group_are_none_of_a_group_that_is_called_alike(opened):
    page = opened()
    page.get_by_role("button", name="Partitions of fraud", exact=True).click()
    assert page.get_by_label("Search group-partitions").input_value() == "fraud"
    expect(page.locator("#partitions tbody tr")).to_have_count(2)
    page.get_by_label("Search group-partitions").fill("fraud orders")
    expect(page.locator("#partitions tbody tr")).to_have_count(3)


def test_the_details_of_one_row_at_a_time_are_open(opened):
    page = opened()
    first, second = (page.get_by_role("button", name=f"Details of billing orders-{number}") for number in (0, 1))
    more = page.locator("#partitions tr.more")
    first.click()
    expect(more).to_contain_text("source offset 40, destination offset 45")
    second.click()
    expect(more).to_have_count(1)
    expect(first).to_have_attribute("aria-expanded", "false")
    expect(first).to_have_text("Show")
    expect(second).to_have_attribute("aria-expanded", "true")
    # After the rows were made anew, none of them is open.
    page.get_by_label("Search group-partitions").fill("billing orders")
    expect(more).to_have_count(0)
    first.click()
    expect(more).to_have_count(1)
    expect(first).to_have_text("Hide")
    first.click()
    expect(more).to_have_count(0)


def test_everything_can_be_done_by_keyboard(opened):
    page = opened()
    page.get_by_label("Search groups", exact=True).focus()
    page.keyboard.type("billing")
    expect(page.locator("#groups tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Partitions of billing").focus()
    page.keyboard.press("Enter")
    assert page.get_by_label("Search group-partitions").input_value() == "billing"
    expect(page.locator("#partitions tbody tr")).to_have_count(3)
    details = page.get_by_role("button", name="Details of billing orders-0")
    details.focus()
    page.keyboard.press("Enter")
    expect(details).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#partitions tr.more")).to_contain_text("source offset 40, destination offset 45")
    page.keyboard.press("Enter")
    expect(page.locator("#partitions tr.more")).to_have_count(0)
    header = page.locator("#partitions th", has_text="Verdict")
    header.get_by_role("button").focus()
    page.keyboard.press("Space")
    expect(header).to_have_attribute("aria-sort", "ascending")


@pytest.mark.parametrize(
    "settings",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_no_violation(opened, settings):
    page = opened(**settings)
    page.get_by_role("button", name="Details of billing orders-0").click()
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    # Only the regions that say so scroll sideways.
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_on_paper_there_are_no_controls(opened):
    page = opened()
    page.emulate_media(media="print")
    expect(page.get_by_label("Search groups", exact=True)).to_be_hidden()
    expect(page.get_by_role("heading", name="The way back")).to_be_visible()
