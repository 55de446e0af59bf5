"""Take the pictures of docs/report.md from a report, such as .cache/demo/migration/report.html after `make demo KEEP=1`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDTH, HEIGHT, MARGIN = 1280, 900, 16
LARGEST = 150_000  # bytes of a picture


def main() -> int:
    """Take the pictures of the report that the command line names; 0 if both are small enough."""
    parser = argparse.ArgumentParser(description="Take the pictures of docs/report.md from a report.")
    parser.add_argument("report", type=Path, help="a report.html")
    report: Path = parser.parse_args().report.resolve(strict=True)
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.as_uri())
        sizes = [take(page, "h1", "report.png")]
        # By partition, groups that are at different places of one log follow each other.
        page.locator("#partitions th", has_text="Partition").get_by_role("button").click()
        sizes.append(take(page, "h2:text-is('Group-partitions')", "report-partitions.png"))
        browser.close()
    return 0 if max(sizes) <= LARGEST else 1


def take(page: Page, top: str, name: str) -> int:
    """The size of a picture of the page from this element on."""
    page.evaluate("window.scrollTo(0, 0)")  # the place is relative to the window
    place = page.locator(top).first.bounding_box()
    assert place is not None
    clip = {"x": 0, "y": max(0, place["y"] - MARGIN), "width": WIDTH, "height": HEIGHT}
    picture = page.screenshot(path=IMAGES / name, full_page=True, clip=clip)  # type: ignore[arg-type]
    sys.stdout.write(f"{IMAGES / name}: {len(picture):,} bytes\n")
    return len(picture)


if __name__ == "__main__":
    sys.exit(main())
