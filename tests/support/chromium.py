"""A real browser for pages that people open as files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no program chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium without a window, until the end of the block."""
    with sync_playwright() as playwright:
        # Containers have no sandbox for root, and little shared memory.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


def watched(browser: Browser, said: list[str], **settings: object) -> Page:
    """A new page; what it writes on the console, its errors, and what it asks a network for go to ``said``."""
    page = browser.new_context(**settings).new_page()  # type: ignore[arg-type]
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    return page
