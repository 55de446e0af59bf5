"""What files say: who owns them, what is private, and that the names and commands in the documentation exist."""

import re
import tokenize
from pathlib import Path

import yaml

THIS_FILE = Path("tests/quality/test_texts.py")
ROOT = Path(__file__).parents[2]
LICENCE = "# SPDX-License-Identifier: GPL-3.0-or-later"
# Hosts that a text may point to. Package registries and machines of our own are not among them.
HOSTS = re.compile(
    r"([\w-]+|127\.0\.0\.1|(.+\.)?(example(\.(com|net|org))?|invalid|test)|www\.gnu\.org|www\.w3\.org|semver\.org|json-schema\.org"
    r"|docs\.ansible\.com|github\.com|(kafka|maven|cwiki|issues)\.apache\.org|docs\.confluent\.io|docs\.aws\.amazon\.com"
    r"|docs\.streamnative\.io|kubernetes\.io)"
)
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:root|home/\w+|Users/\w+|work)/")


def lines_of(file: Path) -> list[str]:
    return (ROOT / file).read_text(encoding="utf-8").splitlines()


def documents(files: list[Path]) -> list[Path]:
    return [file for file in files if file.suffix == ".md" and file.name != "CHANGELOG.md"]


def test_programs_of_the_package_name_their_licence(known_files):
    packaged = [file for file in known_files if file.parts[0] in {"plugins", "roles"}]
    programs = [file for file in packaged if file.suffix == ".py" and (ROOT / file).stat().st_size]
    without = [file for file in programs if LICENCE not in lines_of(file)[:6]]
    assert programs and not without


def test_private_plugin_files_say_so(known_files):
    private = [
        file
        for file in known_files
        if file.parts[0] == "plugins"
        and file.suffix == ".py"
        and file.name != "__init__.py"
        and any(part.startswith("_") for part in file.parts)
    ]
    assert private
    assert not [file for file in private if not any("PRIVATE" in line for line in lines_of(file)[:6])]


def test_init_files_are_empty(known_files):
    assert not [file for file in known_files if file.name == "__init__.py" and (ROOT / file).stat().st_size]


def test_commands_in_the_documentation_exist(known_files):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = {
        command
        for file in documents(known_files)
        for command in re.findall(r"\bmake ([a-z-]+)\b(?=[`\s=A-Z]|$)", code_of(file))
    }
    assert {"demo", "test"} <= commands <= targets


def code_of(file: Path) -> str:
    """The text between back-ticks, inline or as a block."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", (ROOT / file).read_text(encoding="utf-8"), re.DOTALL))


def test_names_in_the_documentation_exist(known_files):
    names = {
        name for file in documents(known_files) for name in re.findall(r"streamshift\.kafka\.([a-z]\w+)", code_of(file))
    }
    handlers = yaml.safe_load((ROOT / "roles/common/handlers/main.yml").read_text())
    topics = {topic.rpartition(".")[2] for handler in handlers for topic in handler["listen"]}
    missing = [
        name
        for name in sorted(names - topics)
        if not any(
            (ROOT / place).exists()
            for place in (
                f"plugins/modules/{name}.py",
                f"plugins/lookup/{name}.py",
                f"roles/{name}",
                f"playbooks/{name}.yml",
            )
        )
    ]
    assert names and not missing


def test_links_in_the_documentation_lead_somewhere(known_files):
    dead = [
        f"{file}: {link}"
        for file in documents(known_files)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / file).read_text(encoding="utf-8"))
        if not (ROOT / file.parent / link).exists()
    ]
    assert not dead


def test_files_in_the_documentation_exist(known_files):
    """Those between back-ticks that begin with a folder of the repository, as in SECURITY.md's table of tests."""
    folders = {file.parts[0] for file in known_files if len(file.parts) > 1}
    paths = {
        (file, path)
        for file in documents(known_files)
        for path in re.findall(r"`((?:\w[\w.-]*/)+[\w.-]+\.\w+)`", (ROOT / file).read_text(encoding="utf-8"))
        if path.split("/")[0] in folders
    }
    missing = [f"{file}: {path}" for file, path in sorted(paths) if not (ROOT / path).exists()]
    assert paths and not missing


def test_anchors_in_the_documentation_exist(known_files):
    dead = [
        f"{file}: {link}#{anchor}"
        for file in documents(known_files)
        for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", (ROOT / file).read_text(encoding="utf-8"))
        if anchor not in anchors_of(ROOT / file.parent / link if link else ROOT / file)
    ]
    assert not dead


def anchors_of(file: Path) -> set[str]:
    """The anchors that forges give the headings of a page: a repeated one gets a number."""
    text = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    slugs = [
        re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    ]
    return {
        f"{slug}-{earlier}" if earlier else slug
        for number, slug in enumerate(slugs)
        for earlier in [slugs[:number].count(slug)]
    }


def test_offsets_are_before_or_after_others(known_files):
    """Kafka's tools say of a group that lags that it is behind; of an offset the word has been taken for both directions."""
    found = [
        f"{file}:{number}: {line.strip()}"
        for file in known_files
        if is_text(file) and file != THIS_FILE and file.suffix != ".lock"
        if file.parts[0] not in ("changelogs", "CHANGELOG.md")  # which say what names were
        for number, line in enumerate(lines_of(file), 1)
        if re.search(r"(?<![a-z])(left_?)?behind(?![a-z])", line, re.IGNORECASE)
    ]
    assert not found


def test_the_two_clusters_are_source_and_destination(known_files):
    """Which cluster "here" and "there" mean depends on who reads the name. What is in a file or a message may say them."""
    programs = [file for file in known_files if file.parts[:2] == ("plugins", "module_utils") and file.suffix == ".py"]
    assert programs
    found = []
    for file in programs:
        with tokenize.open(ROOT / file) as text:
            found += [
                f"{file}:{token.start[0]}: {token.string}"
                for token in tokenize.generate_tokens(text.readline)
                if token.type == tokenize.NAME and {"here", "there"} & set(token.string.split("_"))
            ]
    assert not found


def test_texts_point_to_no_machine(known_files):
    found = []
    for file in known_files:
        for number, line in enumerate(lines_of(file) if is_text(file) else [], 1):
            hosts = re.findall(r"https?://([\w.-]+)", line)
            if MACHINE_PATHS.search(line) or any(not HOSTS.fullmatch(host) for host in hosts):
                found.append(f"{file}:{number}: {line.strip()}")
    assert not found


def is_text(file: Path) -> bool:
    return file.parts[0] not in {"LICENSE", "LICENSES"} and b"\0" not in (ROOT / file).read_bytes()[:1000]
