"""The clusters that a story plays on, and what plays the step that its command line names.

A story imports this file first, because it lets it import the collection's testbed.
"""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "roles/kafka_sandbox/files")]

from kafka_sandbox import describe

PAIR = ("staging", "production")


def play(
    steps: t.Iterable[t.Callable[..., None]],
    environments: t.Sequence[str],
    arguments: t.Callable[..., tuple[t.Any, ...]] = lambda *given: given[:-1],
) -> None:
    """Play the step of the command line, SANDBOX NAME STEP.

    arguments: what steps take, of the clusters, the name and the folder of the sandbox; all but the folder if nothing is said.
    """
    sandbox, name, what = sys.argv[1:]
    step = {each.__name__: each for each in steps}[what]
    found = [describe(each, sandbox) for each in environments]
    running = [each for each in found if each is not None]
    if len(running) < len(environments):
        sys.exit(f"{', '.join(environments)}: not all of them run in {sandbox}")
    step(*arguments(*running, name, Path(sandbox)))
