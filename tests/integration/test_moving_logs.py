"""A plan ends where look-ups by time tell of what is not in the log, and where brokers have none to tell."""

import json

import pytest

from testbed.clients import Message
from tests.support.consumers import open_transaction
from tests.support.two_logs import BEGIN, Answer, TwoLogs, unlike

YEAR_1 = -62_135_596_800_000  # the lowest date of .NET, in milliseconds since the epoch


@pytest.fixture
def logs(source, destination, topic, tmp_path):
    return TwoLogs(source, destination, topic, tmp_path / "migration")


def test_a_transaction_is_open_at_the_destination(destination, logs):
    """The last record that it hides answers look-ups, and no consumer of the rule sees it: this went round for ever."""
    messages = unlike(range(400))
    logs.create()
    logs.write(messages, messages[:345])
    committed = (345, 353, 354, 390, 400)
    with open_transaction(destination, logs.topic, messages[345:]):
        answers = logs.answers(*committed)
    assert answers == [Answer("exact", 345), *[Answer("blocked", None, None, "destination_lags")] * 4]
    entries = json.loads(logs.migration.plan_file.read_text())["entries"]
    assert [entry["lossless"] for entry in entries] == [None, 345, 345, 345, 345]
    assert all("transaction that is open at the destination hides" in entry["detail"] for entry in entries[1:])


@pytest.mark.parametrize("copied", [1000, 510], ids=["all are copied", "the tool lags"])
def test_records_of_negative_times(logs, copied):
    """They are found by their content."""
    times = dict.fromkeys(range(495, 521), YEAR_1)
    messages = [Message(b"p%d" % at, b"key", (), times.get(at, BEGIN + at)) for at in range(1000)]
    logs.create()
    logs.write(messages, [*unlike(range(5000, 5300)), *messages[:copied]])
    assert logs.answers(480, 500, 505) == [Answer("exact", 780), Answer("exact", 800), Answer("exact", 805)]
    assert logs.objections() == {}


@pytest.mark.parametrize("newer", ["source", "destination"])
def test_a_topic_in_a_message_format_without_times(request, old, newer, topic, tmp_path):
    """The broker refuses all look-ups by time in it."""
    sides = {"source": old, "destination": old} | {newer: request.getfixturevalue(newer)}
    logs = TwoLogs(*sides.values(), topic, tmp_path / "migration")
    messages, settings = unlike(range(400)), {"message_format_version": "0.9.0"}
    logs.create(None if newer == "source" else settings, None if newer == "destination" else settings)
    logs.write(messages, messages[:300])
    assert logs.answers(200, 300) == [Answer("exact", 200), Answer("exact", 300)]
