"""The documentation site as ``make docs`` builds it: complete, without dead links, and without a network."""

import fcntl
import json
import os
import shutil
import typing as t
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from playwright.sync_api import expect
from sphinx.search.en import SearchEnglish

from tests.support.chromium import chromium, needs_chromium, watched

# Building takes less than a minute where nothing else runs; other test processes wait for it.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
ROOT = Path(__file__).parents[2]
PRIVATE_PLAYBOOKS = {"clusters_known"}
# What a browser fetches by itself, by element; it follows <a> only if a person clicks.
FETCHED = {
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
}


class Page(HTMLParser):
    """The links, the anchors and the fetched files of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in FETCHED and FETCHED[tag] in named:
            self.fetched.append(named[FETCHED[tag]])


@pytest.fixture(scope="session")
def site(run_tool, tmp_path_factory) -> Path:
    """The site, built once for all test processes; a warning of Sphinx is an error of the program."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            said = run_tool("python", "docs/site/build.py", folder)
            assert "warning" not in said.lower()
            (folder / "built").touch()
    return folder / "html"


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in sorted(site.rglob("*.html"))}


def inside(page: Path, link: str) -> tuple[Path, str] | None:
    """The file and the anchor that a link leads to, unless it leads out of the site."""
    target, _, anchor = link.partition("#")
    if ":" in target:
        return None
    return (page.parent / unquote(target)).resolve() if target else page, unquote(anchor)


def test_every_page_is_reached_from_the_first_one(site, pages):
    reached, waiting = set(), [site.resolve() / "index.html"]
    by_place = {file.resolve(): page for file, page in pages.items()}
    while waiting:
        file = waiting.pop()
        if file in by_place and file not in reached:
            reached.add(file)
            # The index of all terms links to everything, and is no way that a reader takes.
            if file.name != "genindex.html":
                waiting += [target[0] for link in by_place[file].links if (target := inside(file, link))]
    names = {file.relative_to(site.resolve()).as_posix() for file in reached}
    modules = {f"plugins/{file.stem}_module.html" for file in (ROOT / "plugins/modules").glob("kafka_*.py")}
    lookups = {f"plugins/{file.stem}_lookup.html" for file in (ROOT / "plugins/lookup").glob("[!_]*.py")}
    playbooks = {file.stem for file in (ROOT / "playbooks").glob("*.yml")} - PRIVATE_PLAYBOOKS
    roles = {folder.name for folder in (ROOT / "roles").glob("[!.]*")}
    guides = {f"docs/{file.stem}.html" for file in (ROOT / "docs").glob("*.md")}
    expected = modules | lookups | guides | {f"playbooks/{name}.html" for name in playbooks}
    expected |= {f"roles/{name}/README.html" for name in roles}
    expected |= {f"plugins/{name}_role.html" for name in roles - {"common"}}  # which has no variables for users
    assert len(modules) > 10 and len(playbooks) > 5
    assert expected | {"README.html", "CHANGELOG.html", "SECURITY.html"} <= names


def test_every_link_leads_somewhere(pages):
    anchors = {file.resolve(): page.anchors for file, page in pages.items()}
    dead = []
    for file, page in pages.items():
        for link in page.links:
            place, anchor = inside(file.resolve(), link) or (file.resolve(), "")
            if not place.exists() or (anchor and place in anchors and anchor not in anchors[place]):
                dead.append(f"{file.name}: {link}")
    assert not dead


def test_no_page_fetches_anything_from_a_network(site, pages):
    fetched = {(file.name, link) for file, page in pages.items() for link in page.fetched}
    assert len(fetched) > len(pages)
    assert not {(name, link) for name, link in fetched if link.startswith(("http:", "https:", "//"))}
    styles = {file: file.read_text(encoding="utf-8") for file in site.rglob("*.css")}
    assert styles and not [
        file for file, text in styles.items() if "@import" in text or "url(http" in text or "url(//" in text
    ]


def test_every_figure_is_drawn(site, known_files):
    """One SVG for each, with its words."""
    pages = [file for file in known_files if file.suffix == ".md" and file.parts[0] == "docs"]
    figures = sum((ROOT / file).read_text(encoding="utf-8").count("```mermaid\n") for file in pages)
    drawn = [file.read_text(encoding="utf-8") for file in site.rglob("mermaid-*.svg")]
    assert figures and len(drawn) == figures
    assert all(text.startswith("<svg") and "<text" in text for text in drawn)


def test_the_guides_of_the_package_are_the_pages_of_the_site(run_tool, tmp_path):
    """antsibull-docs finds all of them, and each link in them leads somewhere."""
    collection = tmp_path / "ansible_collections/streamshift/kafka"
    run_tool("python", "docs/site/docsite.py", collection / "docs/docsite")
    shutil.copy(ROOT / "galaxy.yml", collection)
    run_tool("antsibull-docs", "lint-collection-docs", "--no-plugin-docs", collection)
    rst = collection / "docs/docsite/rst"
    chosen = ["root_doc=choosing-a-path", "suppress_warnings=toc.not_included"]
    options = [word for each in chosen for word in ("-D", each)]
    run_tool("sphinx-build", "-C", "-n", "-W", "--keep-going", *options, rst, tmp_path / "html")
    sections = yaml.safe_load((collection / "docs/docsite/extra-docs.yml").read_text(encoding="utf-8"))["sections"]
    listed = [name for section in sections for name in section["toctree"]]
    assert sorted(listed) == sorted(file.stem for file in rst.glob("*.rst"))
    assert {file.stem for file in (ROOT / "docs").glob("*.md")} - set(listed) == {"README", "architecture"}


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("group_migration_on_rewind", "plugins/group_migration_role"),
        ("destination_lags", "docs/troubleshooting"),
        ("search_limit", "plugins/kafka_offset_translate_module"),
    ],
)
def test_the_search_knows_options_and_reasons(site, word, page):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index: dict[str, t.Any] = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    stem = SearchEnglish({}).stem(word.lower())
    # The words of texts and of headings; one page is a number, several are a list.
    found = [index[words][stem] for words in ("terms", "titleterms") if stem in index[words]]
    numbers = {number for each in found for number in (each if isinstance(each, list) else [each])}
    assert page in {index["docnames"][number] for number in numbers}


@needs_chromium
def test_the_search_works_without_a_server(site):
    said: list[str] = []
    with chromium() as browser:
        page = watched(browser, said)
        page.goto((site / "index.html").as_uri())
        page.get_by_placeholder("Search").fill("group_migration_on_rewind")
        page.keyboard.press("Enter")
        # The page shows one result after the other.
        result = page.locator("#search-results li a[href*='plugins/group_migration_role.html']").first
        expect(result).to_be_visible(timeout=30_000)
        result.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("group_migration role")
        page.context.close()
    assert said == []


@needs_chromium
@pytest.mark.parametrize("width", [360, 1400])
def test_no_page_is_wider_than_the_screen(site, width):
    said: list[str] = []
    with chromium() as browser:
        page = watched(browser, said, viewport={"width": width, "height": 800})
        for name in ("index", "README", "docs/the-rule", "plugins/kafka_offset_translate_module"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        page.context.close()
    assert said == []
