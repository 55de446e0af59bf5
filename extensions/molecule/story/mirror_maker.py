"""What happens around a group sync in molecule's scenario: a real MirrorMaker 2 copies, groups move on and back.

NAME-billing and NAME-shipping consume NAME-orders, and so does console-consumer-NAME, which MirrorMaker 2 leaves out.

mirror_maker.py SANDBOX NAME fill    the topic is copied to production, and the groups stand somewhere on staging
mirror_maker.py SANDBOX NAME move    more is produced and copied; one group moves on, one is moved back
mirror_maker.py SANDBOX NAME groups  print the groups of this story on production and their commits
mirror_maker.py SANDBOX NAME proof   fail unless each group gets at production exactly what it had not consumed
mirror_maker.py SANDBOX NAME end     end a MirrorMaker 2 that a step has left running, for it was killed
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from stage import PAIR, Story, play

from testbed.clients import Message, commit, committed, create_topic, list_groups, produce, produce_in_transactions
from testbed.mirror_maker import ALIAS, MirrorMaker
from testbed.sandbox import configured_below, end
from tests.support.consumers import unconsumed


class Copied(Story):
    """By MirrorMaker 2, which has the folder while it runs."""

    @property
    def groups(self) -> list[str]:
        return [f"{self.name}-billing", f"{self.name}-shipping", f"console-consumer-{self.name}"]


def fill(story: Copied) -> None:
    create_topic(story.staging, story.topic, 2, retention_ms=-1)
    _produce(story, 600)
    billing, shipping, console = story.groups
    commit(story.staging, billing, {(story.topic, 0): (120, "día 3"), (story.topic, 1): 300})
    commit(story.staging, shipping, {(story.topic, 0): 0, (story.topic, 1): 250})
    commit(story.staging, console, {(story.topic, 0): 301})
    _copy(story)


def move(story: Copied) -> None:
    billing, shipping, _console = story.groups
    _produce(story, 200)
    commit(story.staging, billing, {(story.topic, 0): (222, "día 4"), (story.topic, 1): 399})
    commit(story.staging, shipping, {(story.topic, 0): 0, (story.topic, 1): 11})
    _copy(story)


def groups(story: Copied) -> None:
    existing = [group for group in story.groups if group in list_groups(story.production)]
    print(
        json.dumps(
            {
                group: sorted([*where, *at] for where, at in committed(story.production, group).items())
                for group in existing
            }
        )
    )


def proof(story: Copied) -> None:
    copy = f"{ALIAS}.{story.topic}"
    for group in story.groups:
        source, destination = committed(story.staging, group), committed(story.production, group)
        assert {where[1]: at[1] for where, at in source.items()} == {
            where[1]: at[1] for where, at in destination.items()
        }
        left, gets = unconsumed(story.staging, group, story.topic), unconsumed(story.production, group, copy)
        assert gets == left, f"{group}: {len(left)} records are left, and it gets {len(gets)}"


def _produce(story: Copied, count: int) -> None:
    """Half of them in transactions, every third of which is aborted: so offsets differ at production."""
    messages = [Message(b"order %d" % number) for number in range(count // 2)]
    writes = [(messages[at : at + 10], at % 30 != 0) for at in range(0, len(messages), 10)]
    produce_in_transactions(story.staging, story.topic, writes)
    produce(story.staging, story.topic, [message._replace(partition=1) for message in messages])


def _copy(story: Copied) -> None:
    more = {"src.consumer.isolation.level": "read_committed"}
    with MirrorMaker(
        story.folder, story.staging, story.production, topics=story.topic, identity=False, sync_groups=False, more=more
    ) as mirror_maker:
        mirror_maker.wait_until_caught_up([story.topic])
    shutil.rmtree(story.folder)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) / "mirror-maker"
    if sys.argv[3] == "end":
        end(configured_below(folder.resolve()))
    else:
        play(
            (fill, move, groups, proof),
            PAIR,
            lambda staging, production, name, _sandbox: (Copied(staging, production, name, folder),),
        )
