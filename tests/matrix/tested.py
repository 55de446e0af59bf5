"""What has run, in tested.json, and README's table of it."""

import json
import re
import typing as t
from pathlib import Path

from tests.matrix.columns import COLUMNS

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("tested.json")
README = ROOT / "README.md"
BEGIN, END = "<!-- make matrix writes this table -->\n", "<!-- end of the table -->\n"
HEAD = {
    "ansible-core": "ansible-core",
    "Python": "Python",
    "source": "Kafka, source",
    "destination": "Kafka, destination",
    "kafka-python": "kafka-python",
    "confluent-kafka": "confluent-kafka",
    "pyspark": "PySpark",
    "pandas": "pandas",
}

Results = dict[str, dict[str, str]]


def load() -> Results:
    """By column, the versions with which it has last succeeded. A column that is not in the list any more is forgotten."""
    known: Results = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {column.name: known[column.name] for column in COLUMNS if column.name in known}


def save(results: Results) -> None:
    """Write the results in the order of the columns, and README's table."""
    ordered = {column.name: results[column.name] for column in COLUMNS if column.name in results}
    FILE.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), ordered), encoding="utf-8")


def with_table(readme: str, results: Results) -> str:
    """README with the table of these results."""
    before, _begin, rest = readme.partition(BEGIN)
    _table, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md has no lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


def table(results: Results) -> str:
    """One row for each column."""
    lines: list[t.Iterable[str]] = [HEAD.values(), ["---"] * len(HEAD)]
    lines += [[versions.get(key, "-") for key in HEAD] for versions in sorted(results.values(), key=_order)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _order(versions: dict[str, str]) -> list[tuple[int, ...]]:
    return [tuple(map(int, re.findall(r"\d+", versions[key]))) for key in ("ansible-core", "Python")]
