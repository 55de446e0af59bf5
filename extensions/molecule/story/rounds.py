"""What happens around rounds and a cut-over: a company produces, consumes and copies all the time.

NAME-billing and NAME-shipping consume NAME-orders, whose records are numbers, each its own offset on staging.

rounds.py SANDBOX NAME fill        the topic is copied to production, and the groups stand somewhere on staging
rounds.py SANDBOX NAME live        begin to produce and to copy, and have NAME-billing consume on staging
rounds.py SANDBOX NAME stop        have NAME-billing stop in a second or so
rounds.py SANDBOX NAME restarted   when the next plan is made, have NAME-shipping consume on staging
rounds.py SANDBOX NAME quiet       have NAME-shipping stop again
rounds.py SANDBOX NAME groups      print the groups of this story on production and their commits
rounds.py SANDBOX NAME proof       fail unless each group gets at production exactly what it had not consumed
rounds.py SANDBOX NAME end         end the company
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from confluent_kafka import Consumer
from stage import PAIR, Story, play

from testbed.clients import Message, commit, committed, create_topic, list_groups, produce, read
from testbed.live_tool import LiveTool
from tests.support.replication_tool import copy

PARTITIONS = range(2)
RECORDS = 300  # of each partition, before the company goes on
JUNK = 17  # records that only production has
SECONDS = 900.0  # after which the company ends by itself


class Company(Story):
    """In the folder, processes in the background look for the words that end them."""

    @property
    def billing(self) -> str:
        return f"{self.name}-billing"

    @property
    def shipping(self) -> str:
        return f"{self.name}-shipping"

    @property
    def plan(self) -> Path:
        return self.folder.parent / "files" / self.name / "plan.json"

    def say(self, word: str) -> None:
        (self.folder / f"{self.name}.{word}").touch()

    def is_said(self, word: str) -> bool:
        return (self.folder / f"{self.name}.{word}").exists()

    def in_background(self, step: t.Callable[[Company], None]) -> None:
        subprocess.Popen(
            [sys.executable, __file__, str(self.folder), self.name, step.__name__],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def fill(story: Company) -> None:
    for cluster in (story.staging, story.production):
        create_topic(cluster, story.topic, len(PARTITIONS), retention_ms=-1)
    _produce(story, 0, RECORDS)
    copy(story.staging, story.production, story.topic, junk=JUNK)
    commit(story.staging, story.billing, {(story.topic, 0): 100, (story.topic, 1): 150})
    commit(story.staging, story.shipping, {(story.topic, 0): 0, (story.topic, 1): 299})


def live(story: Company) -> None:
    for file in story.folder.glob(f"{story.name}.*"):
        file.unlink()
    before = committed(story.staging, story.billing)
    story.in_background(company)
    deadline = time.monotonic() + 60
    while committed(story.staging, story.billing) == before:
        assert time.monotonic() < deadline, "nobody consumes"
        time.sleep(0.2)


def company(story: Company) -> None:
    """Runs in the background. When a cluster is stopped, this fails, and so ends."""
    number, deadline = RECORDS, time.monotonic() + SECONDS
    consumer: Consumer | None = Consumer(
        {
            "bootstrap.servers": ",".join(story.staging.bootstrap_servers),
            "group.id": story.billing,
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
        }
    )
    assert consumer is not None
    consumer.subscribe([story.topic])
    with LiveTool(story.staging, story.production, story.topic, begin=dict.fromkeys(PARTITIONS, RECORDS)):
        while not story.is_said("end") and time.monotonic() < deadline:
            _produce(story, number, number + 1)
            number += 1
            if consumer is None:
                time.sleep(0.3)
            elif story.is_said("stop"):
                consumer.close()
                consumer = None
            elif consumer.consume(20, 0.3):
                consumer.commit(asynchronous=False)


def stop(story: Company) -> None:
    story.say("stop")


def restarted(story: Company) -> None:
    _consume_more(story)  # so that there is a new plan
    story.in_background(shipping)


def shipping(story: Company) -> None:
    """Runs in the background: a consumer with assign(), which no broker counts as a member."""
    plan, deadline = story.plan.read_bytes(), time.monotonic() + SECONDS
    while not story.is_said("quiet") and time.monotonic() < deadline:
        if story.plan.read_bytes() != plan:
            _consume_more(story)
        time.sleep(0.1)


def quiet(story: Company) -> None:
    story.say("quiet")


def _consume_more(story: Company) -> None:
    """One record more of partition 0."""
    offset, _metadata = committed(story.staging, story.shipping)[story.topic, 0]
    commit(story.staging, story.shipping, {(story.topic, 0): offset + 1})


def groups(story: Company) -> None:
    found = {
        group: sorted([*where, *at] for where, at in committed(story.production, group).items())
        for group in list_groups(story.production)
        if group.startswith(f"{story.name}-")
    }
    print(json.dumps(found))


def proof(story: Company) -> None:
    for group in (story.billing, story.shipping):
        source, destination = committed(story.staging, group), committed(story.production, group)
        assert source.keys() == destination.keys(), (group, source, destination)
        for (topic, partition), (offset, _metadata) in source.items():
            at, _metadata = destination[topic, partition]
            records = read(story.production, topic, [partition], start={partition: at})
            # A group that has consumed nothing starts at the start, where records are that were never on staging.
            gets = [int(record.value or b"") for record in records if not (record.value or b"").startswith(b"junk")]
            assert gets == list(range(offset, offset + len(gets))), (group, partition, offset, gets)
            assert offset + len(gets) > RECORDS, f"{group} misses the end of {partition}"


def end(story: Company) -> None:
    story.say("end")


def _produce(story: Company, start: int, stop: int) -> None:
    yesterday = int(time.time() * 1000) - 86_400_000
    messages = [
        Message(b"%d" % number, timestamp=yesterday + number, partition=partition)
        for number in range(start, stop)
        for partition in PARTITIONS
    ]
    produce(story.staging, story.topic, messages)


if __name__ == "__main__":
    play(
        (fill, live, company, stop, restarted, shipping, quiet, groups, proof, end),
        PAIR,
        lambda *given: (Company(*given),),
    )
