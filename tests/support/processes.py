"""What runs on this machine, as anybody on it may see, and how it ends."""

import subprocess
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


def let_end(process: subprocess.Popen[str], seconds: float) -> None:
    """End a program that ends when its standard input does; kill it after so many seconds."""
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
