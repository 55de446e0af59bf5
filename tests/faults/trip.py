"""There and back as users play it: a fence, a cut-over, a return, the end of the fence; ansible-playbook is killed in each."""

import json
import os
import random
import signal
import subprocess
import time
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import list_acls
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import Message, commit, committed, create_topic, delete_groups, delete_topic, produce
from tests.faults.bed import Bed
from tests.faults.judge import numbered
from tests.faults.tally import Fault, Tally
from tests.support.playbooks import Played, ProgramController

PARTITIONS, RECORDS, JUNK = 3, 300, 17  # records of each partition, and those that only the destination has before them
KILL = "ansible-playbook killed"
_SECONDS = 8.0  # about how long a playbook runs, where nobody has measured it yet
_PLAY = "- hosts: onprem\n  gather_facts: false\n  roles: [streamshift.kafka.topic_fence]\n"
_QUICK: dict[str, t.Any] = {"verify": "anchors", "idle_wait": 0, "write_report": False, "keep_history": 0}


class Mortal(ProgramController):
    """One whose ansible-playbook is killed with all that it has started, after so many seconds, if it runs as long."""

    after: float | None = None

    def _run(self, words: list[str], environment: dict[str, str]) -> tuple[int, str]:
        process = self._begun(words, environment, start_new_session=True)
        try:
            output = process.communicate(timeout=self.after)[0]
        except BaseException as ended:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
            if not isinstance(ended, subprocess.TimeoutExpired):
                raise
        return process.returncode, output


class Trip:
    """One group goes there and back. seconds: how long each step has taken, by its name; trips of one run share it."""

    def __init__(self, bed: Bed, tally: Tally, seed: int, folder: Path, seconds: dict[str, float]) -> None:
        self.bed, self.tally, self.seed, self._seconds = bed, tally, seed, seconds
        self.chance = random.Random(f"trip {seed}")
        self.topic, self.group = f"trip-{seed}", f"trip-{seed}-billing"
        self.ansible = Mortal(folder, onprem=bed.source.connection, cloud=bed.destination.connection)
        (folder / "fence.yml").write_text(_PLAY)

    def play(self) -> None:
        """All of its steps, each killed once and then run to its end. What is wrong is in the tally."""
        there = {at: self.chance.randrange(RECORDS) for at in range(PARTITIONS)}
        back = {at: self.chance.randrange(offset, RECORDS + 1) for at, offset in there.items()}
        self._prepare(there)
        before = self._denied()
        self._killed("fence", self._fence, lambda: self._known(before), lambda: len(self._denied() - before) == 1)
        expected = {at: offset + JUNK for at, offset in there.items()}
        self._killed("cut_over", self._cut_over, lambda: self._is_at(self.bed.destination, expected, {}), None)
        commit(self.bed.destination, self.group, {(self.topic, at): offset + JUNK for at, offset in back.items()})
        self._killed("return", self._return, lambda: self._is_at(self.bed.source, back, there), None)
        if self._standing(self.bed.source) != back:
            self._violated([], "misplaced", "return", f"{self._standing(self.bed.source)} instead of {back}")
        self._killed("lift", self._lift, lambda: self._known(before), lambda: self._denied() == before)
        for side in (self.bed.source, self.bed.destination):
            delete_groups(side, [self.group])
            delete_topic(side, self.topic)

    def _prepare(self, there: t.Mapping[int, int]) -> None:
        records = [record for at in range(PARTITIONS) for record in numbered(at, RECORDS)]
        junk = [Message(b"junk", partition=at) for at in range(PARTITIONS) for _unused in range(JUNK)]
        for side, before in ((self.bed.source, []), (self.bed.destination, junk)):
            create_topic(side, self.topic, PARTITIONS, retention_ms=-1)
            produce(side, self.topic, [*before, *records])
        commit(self.bed.source, self.group, {(self.topic, at): offset for at, offset in there.items()})

    def _killed(
        self, step: str, play: t.Callable[[], Played], always: t.Callable[[], bool], done: t.Callable[[], bool] | None
    ) -> None:
        """Kill a step at any time, look what it has left, and run it again. always, done: whether all is as it must be."""
        self.ansible.after = self.chance.uniform(0.3, self._seconds.get(step, _SECONDS))
        begun = time.monotonic()
        played = play()
        faults: list[Fault] = []
        if played.code == -signal.SIGKILL:
            faults = [self.tally.fault(KILL, step, self.seed)]
            self.tally.say(f"{faults[0].number:4} {step}, {time.monotonic() - begun:.1f} s after its start: {KILL}")
        if not always():
            self._violated(faults, "other", step, "it has left what it must not")
        self.ansible.after, begun = None, time.monotonic()
        again = play()
        self._seconds[step] = time.monotonic() - begun
        if again.code:
            self._violated(faults, "other", step, f"the next run fails: {again.output[-3000:]}")
        elif not (done or always)():
            self._violated(faults, "other", step, "the next run has not completed it")
        else:
            self.tally.came(faults, "mended by re-run")

    def _violated(self, faults: t.Sequence[Fault], what: str, step: str, text: str) -> None:
        self.tally.violated(faults, what, text, self.seed, step)

    def _fence(self, **variables: str) -> Played:
        its = {"topic_fence_cluster": "onprem", "topic_fence_topics": [self.topic], "topic_fence_idle_wait": 0.1}
        return self.ansible.run(str(self.ansible.directory / "fence.yml"), "-e", json.dumps({**its, **variables}))

    def _lift(self) -> Played:
        return self._fence(topic_fence_phase="lift")

    def _cut_over(self) -> Played:
        return self._migration("migrate_groups", phase="cut_over")

    def _return(self) -> Played:
        return self._migration("return_groups")

    def _migration(self, playbook: str, **variables: t.Any) -> Played:
        return self.ansible.play(playbook, **_QUICK, groups=[self.group], **variables)

    def _standing(self, side: t.Any) -> dict[int, int]:
        return {at: its[0] for (_topic, at), its in committed(side, self.group).items()}

    def _is_at(self, side: t.Any, expected: t.Mapping[int, int], before: t.Mapping[int, int]) -> bool:
        """Whether each partition is where it was before, or where it is to be."""
        found = self._standing(side)
        return all(found.get(at) in (offset, before.get(at)) for at, offset in expected.items())

    def _denied(self) -> set[str]:
        connection = connection_from({"bootstrap_servers": self.bed.source.bootstrap_servers})
        return {str(acl) for acl in list_acls(connection) if acl.name == self.topic}

    def _known(self, before: set[str]) -> bool:
        """Whether the receipt of the fence knows every ACL that is there."""
        path = self.ansible.directory / "kafka-fences/onprem/topics-receipt.json"
        written = path.read_text() if path.exists() else ""
        return not self._denied() - before or self.topic in written
