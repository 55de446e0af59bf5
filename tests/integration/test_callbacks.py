"""Whatever callback prints the results, the plan, the totals and what to do next are in its output."""

import json
import re

import pytest

from tests.support.playbooks import ProgramController, done, loaded
from tests.support.replication_tool import copied_topic


@pytest.fixture
def orders(source, destination, topic):
    """A topic with 20 records, copied; a group of its name stands at 5."""
    return copied_topic(source, destination, topic, 20, 5, partitions=1)


def messages(output):
    """The messages of the tasks of a role, of a callback that prints each result as JSON, after the host and its state."""
    decoder = json.JSONDecoder()
    starts = [found.end() for found in re.finditer(r"^cloud \| (?:SUCCESS|CHANGED) => ", output, re.MULTILINE)]
    results = [decoder.raw_decode(output, start)[0] for start in starts]
    return [line for result in results if isinstance(result.get("msg"), list) for line in result["msg"]]


def test_a_callback_that_prints_json_shows_the_plan_and_the_totals(source, destination, orders, tmp_path, monkeypatch):
    controller = ProgramController(tmp_path / "infrastructure", onprem=source, cloud=destination)
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "minimal")
    said = messages(done(controller.migrate_groups("--check", *loaded(), groups=[orders])).output)
    planned = "Total: 1 group, 1 group-partition: 1 exact, 0 safe, 0 blocked; at most 0 records repeated."
    assert re.fullmatch(rf"{orders} +1 +1 +0", said[1]) and said[2] == planned, said
    assert "Total: 1 group, 1 group-partition: 1 changed, 0 left out." in said
    assert said[-2].startswith("It took: ") and said[-1].startswith("Next: look at the offsets, and run "), said
