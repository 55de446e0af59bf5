"""The play of docs/handlers.md, word by word: its handlers post to a chat what was planned, written, or not verified."""

import hashlib
import json
import re

import pytest

from testbed.clients import commit, committed
from tests.support.bad_http import BadServer, answers
from tests.support.playbooks import ROOT, done, failed
from tests.support.replication_tool import copied_topic


@pytest.fixture
def orders(source, destination, topic):
    """A topic with a partition of 20 records, copied after two others; a group of its name has consumed 5."""
    return copied_topic(source, destination, topic, 20, 5, partitions=1, junk=2)


@pytest.fixture
def chat(controller, orders):
    """Play the documented play with a phase; gives what it has posted, and how it went."""
    (play,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/handlers.md").read_text(), re.DOTALL)
    playbook = controller.directory / "tell.yml"
    playbook.write_text(play)

    def played(phase, *words, check=done, **variables):
        its = {"phase": phase, "groups": [orders], "verify": "anchors", "idle_wait": 0, **variables}
        with BadServer(answers(b"")) as server:
            extra = {
                "chat_webhook": f"http://{server.address}/hook",
                **{f"group_migration_{name}": value for name, value in its.items()},
            }
            result = check(controller.run(str(playbook), "-e", json.dumps(extra), *words))
        return [json.loads(request.partition(b"\r\n\r\n")[2])["text"] for request in server.received], result

    return played


def test_a_chat_hears_of_plans_of_written_offsets_and_of_failed_verifications(
    source, destination, orders, controller, chat
):
    posted, dry = chat("migrate", "--check")
    assert posted == []  # uri has no check mode
    posted, _ = chat("plan")
    file = controller.directory / "kafka-migrations/onprem-to-cloud/plan.json"
    planned = file.read_bytes()
    digest = hashlib.sha256(planned).hexdigest()
    (said,) = posted
    assert said.startswith("Planned: ") and "'exact': 1" in said and said.endswith(f"Digest of the plan: {digest}")

    plan = json.loads(planned)
    plan["entries"][0]["offset"] -= 5  # by somebody who knows better
    file.write_text(json.dumps(plan))
    posted, output = chat("apply", check=failed)
    (said,) = posted
    assert said.startswith(f"Verification failed ({file.parent}): ") and "repeated 1" in said
    # What is verified is no reason to call a run changed, and a handler is none to hide that it has failed.
    assert "failed=1" in output and committed(destination, orders) == {}

    file.write_bytes(planned)
    posted, real = chat("apply")
    assert posted == ["Written to cloud: 1 offsets."]
    assert committed(destination, orders) == {(orders, 0): (7, "")}
    posted, again = chat("migrate")
    assert (posted, again.changed) == ([], 0)
    assert dry.changed > 0 and real.changed > 0

    # Of rounds, a chat hears once, of the one that has written; on a slow machine there is no second one.
    commit(source, orders, {(orders, 0): 9})
    posted, rounds = chat("sync", interval=4, run_for=12)
    assert "Round 1: 1 of 1" in rounds.output
    assert [text.split(":")[0] for text in posted] == ["Planned", "Written to cloud"]
    assert posted[1] == "Written to cloud: 1 offsets."


def test_a_chat_that_does_not_answer_fails_no_migration(destination, orders, chat):
    posted, played = chat("migrate", "-e", "chat_webhook=http://127.0.0.1:1/")
    assert posted == [] and "127.0.0.1:1/" not in played.output
    assert committed(destination, orders) == {(orders, 0): (7, "")}
