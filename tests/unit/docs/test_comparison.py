"""docs/comparison.md repeats figures that the benchmark has printed, and the commands that measure them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
PRINTED = "".join((ROOT / file).read_text(encoding="utf-8") for file in ("docs/speed.md", "tests/benchmark/RESULTS.md"))
# Measured figures have a unit or a separator; what was measured (50 groups, 100 bytes) stands in the text around them.
FIGURES = sorted(set(re.findall(r"\d+,\d{3}|\d+\.\d+(?= s)|\d+(?= s\b)", PAGE)))
BENCHMARKS = sorted(set(re.findall(r"tests/benchmark/run\.py (\w+)", PAGE)))


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_one_of_the_last_run(figure: str) -> None:
    assert re.search(rf"(?<![\d,.]){re.escape(figure)}(?![\d,])", PRINTED)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_exists(name: str) -> None:
    assert f'"{name}": ' in (ROOT / "tests/benchmark/questions.py").read_text(encoding="utf-8")


def test_there_are_figures() -> None:
    assert len(FIGURES) >= 9 and BENCHMARKS
