"""What runs on this machine, as anybody on it may see."""

from pathlib import Path


def command_lines(word: str = "") -> list[str]:
    """The command lines that hold this word."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes().decode(errors="replace"))
        except OSError:  # it has just ended
            continue
    return [line for line in found if word in line]
