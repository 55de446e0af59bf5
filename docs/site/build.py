"""Build the documentation site: the pages that forges show, and pages for each module, role and playbook.

The pages of the forge lie in the site as they lie in the repository, so that their links hold; none is changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Pages, and the files that they link to.
COPIED = ("*.md", "docs/*.md", "roles/*/README.md", "LICENSE", "docs/schemas/*.json")
PICTURES = "docs/images"
OVERVIEWS = {"index.md": "index.md", "playbooks.md": "playbooks/index.md", "roles.md": "roles/index.md"}


def main() -> None:
    """Build the site in the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("folder", type=Path, help="what it holds is replaced: sources, and the site in html/")
    folder: Path = parser.parse_args().folder.resolve()
    source, site = folder / "source", folder / "html"
    for old in (source, site):
        shutil.rmtree(old, ignore_errors=True)
    for pattern in COPIED:
        for file in ROOT.glob(pattern):
            put(source / file.relative_to(ROOT), file.read_text(encoding="utf-8"))
    (source / PICTURES).mkdir()
    for file in (ROOT / PICTURES).glob("*.png"):
        shutil.copyfile(file, source / PICTURES / file.name)
    for name, place in OVERVIEWS.items():
        put(source / place, (HERE / name).read_text(encoding="utf-8"))
    for playbook in ROOT.glob("playbooks/*.yml"):
        if page := page_of(playbook):
            put(source / f"playbooks/{playbook.stem}.md", page)
    describe_plugins(source / "plugins")
    run("sphinx-build", "-q", "-W", "--keep-going", "-j", "auto", "-c", HERE, "-d", folder / "doctrees", source, site)
    sys.stdout.write(f"The site begins with {site}/index.html\n")


def put(place: Path, text: str) -> None:
    """Write a page."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def page_of(playbook: Path) -> str:
    """The page of a playbook; empty for one that only others import, which plays on no cluster."""
    text = playbook.read_text(encoding="utf-8")
    plays: list[dict[str, t.Any]] = yaml.safe_load(text)
    if plays[-1].get("hosts") == "localhost":
        return ""
    roles = [role["role"].removeprefix("streamshift.kafka.") for role in plays[-1].get("roles", [])]
    links = [
        f"It runs the role [{role}](../roles/{role}/README.md), and takes its variables."
        for role in roles
        if (ROOT / "roles" / role).is_dir()
    ]
    # The comment at its top says how to call it.
    usage = [line.removeprefix("# ") for line in text.split("\n\n")[0].splitlines() if line.startswith("# ")]
    blocks = ["```text", *usage, "```", "", "The playbook itself:", "", "```yaml", text.rstrip(), "```", ""]
    return "\n\n".join([f"# {playbook.stem}", f"{plays[-1]['name']}.", *links, "\n".join(blocks)])


def describe_plugins(folder: Path) -> None:
    """Let antsibull-docs describe modules, roles and look-ups, and adapt its pages to the site."""
    folder.mkdir()
    options: list[str | Path] = ["--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", folder]
    run("antsibull-docs", "collection", *options, "streamshift.kafka")
    for page in folder.glob("*.rst"):
        # The theme shows the contents of a page beside it.
        text = re.sub(r"^\.\. contents::\n(   .*\n)+", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if page.name == "index.rst":
            text = text.replace("Streamshift.Kafka\n=================", "Modules and variables\n=====================")
            # The table of contents has no room for more than names.
            text = re.sub(r"^    (\w+)_(module|role|lookup)$", r"    \1 <\1_\2>", text, flags=re.MULTILINE)
        put(page, text)


def run(program: str, *arguments: str | Path) -> None:
    """Run a program of this virtual environment; its failure is the end."""
    programs = Path(sys.executable).parent
    environment = os.environ | {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    done = subprocess.run([programs / program, *arguments], env=environment, check=False)
    if done.returncode:
        sys.exit(f"{program} has failed: see above.")


if __name__ == "__main__":
    main()
