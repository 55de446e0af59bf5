"""A secured destination, by a user with exactly the rights that the documentation names; its secrets go nowhere."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from testbed.background import Background
from testbed.clients import commit, committed, create_topic, grant, until
from tests.support.consumers import unconsumed
from tests.support.modules import Migration
from tests.support.playbooks import PROGRAMS, ROOT, ProgramController, done, failed
from tests.support.processes import running
from tests.support.replication_tool import copied_topic
from tests.support.rights import rights_of


@pytest.fixture
def orders(source, secured, topic):
    """A topic on the source and on the secured cluster, and a group of its name that has consumed half."""
    return copied_topic(source, secured, topic, 20, 10, partitions=1, junk=1)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"])
def test_with_the_least_rights(source, secured, orders, tmp_path, mechanism):
    grant(secured, rights_of(orders, orders)["destination"] | {f"GROUP DELETE on {orders}"})
    migration = Migration(tmp_path / "migration", source, secured)
    migration.destination = secured.connection_as("migrator", mechanism)
    assert migration.carried_out(orders)[orders, 0]["verdict"] == "exact"
    assert unconsumed(secured, orders, orders) == unconsumed(source, orders, orders)
    if mechanism == "SCRAM-SHA-512":  # Spark's workers log in as the module does
        assert migration.verify(method="records", spark={"master": "local[1]"})["compared"] == 10
    migration.carefully(orders, migration.roll_back)
    assert committed(secured, orders) == {}


def test_a_rollback_keeps_what_the_user_does_not_see(source, secured, orders, tmp_path):
    payments = f"payments-of-{orders}"  # no ACL says anything about it
    create_topic(secured, payments)
    grant(secured, rights_of(orders, orders)["destination"] | {f"GROUP DELETE on {orders}"})
    migration = Migration(tmp_path / "migration", source, secured)
    migration.destination = secured.connection_as("migrator")
    migration.carried_out(orders)
    commit(secured, orders, {(payments, 0): 5})
    migration.carefully(orders, migration.roll_back)
    assert committed(secured, orders) == {(payments, 0): (5, "")}


def test_a_run_that_may_miss_offsets_says_so_before_it_says_start_the_consumers(
    secured, destination, topic, granted, tmp_path
):
    """The source's brokers hide what the group has committed on a topic that the user may not describe."""
    hidden = f"{topic}-hidden"
    for name in (topic, hidden):
        copied_topic(secured, destination, name, 10, 5)
    commit(secured, topic, {(hidden, 0): 5})
    granted(*rights_of(topic, topic)["source"])
    controller = ProgramController(
        tmp_path / "infrastructure", onprem=secured.connection_as("migrator"), cloud=destination
    )
    wanted = {"groups": [topic], "topic_patterns": [f"{topic}.*"]}
    output = done(controller.migrate_groups(**wanted)).output
    assert f"topics that the destination may have copies of: {hidden}. Brokers" in output
    assert (
        "start the consumers at the destination, once you know that no group consumes what the note topics_hidden"
        in output
    )
    granted(f"TOPIC READ on {hidden}", f"TOPIC DESCRIBE_CONFIGS on {hidden}")
    output = done(controller.migrate_groups(**wanted)).output
    assert "topics_hidden" not in output and committed(destination, topic).keys() == {(topic, 0), (hidden, 0)}


def test_with_certificates_alone_as_texts_and_a_key_that_is_encrypted(source, secured, orders, tmp_path):
    grant(secured, rights_of(orders, orders)["destination"], principal=secured.ssl_principal)
    tls = secured.ssl_connection
    migration = Migration(tmp_path / "migration", source, secured)
    migration.destination = {
        "bootstrap_servers": tls["bootstrap_servers"],
        "security_protocol": "SSL",
        "ssl_ca": Path(tls["ssl_cafile"]).read_text(),
        "ssl_cert": Path(tls["ssl_certfile"]).read_text(),
        "ssl_key": Path(secured.paths["encrypted_key"]).read_text(),
        "ssl_key_password": secured.ssl_key_password,
    }
    assert migration.carried_out(orders)[orders, 0]["verdict"] == "exact"


def test_secrets_are_nowhere(source, secured, orders, tmp_path):
    """Not in the output at the highest verbosity, not in diffs, files, command lines or environments."""
    password, wrong = secured.users["admin"], "a-wrong-password-of-somebody"
    key_password = secured.ssl_key_password
    connection = secured.connection_as("admin") | {
        "ssl_keyfile": secured.paths["encrypted_key"],
        "ssl_key_password": key_password,
    }
    controller = ProgramController(
        tmp_path / "infrastructure", onprem=source, cloud=connection, typo=connection | {"sasl_password": wrong}
    )
    shown = []
    with processes() as seen:
        shown.append(done(controller.migrate_groups("-vvv", "--check", "--diff", groups=[orders])).output)
        shown.append(done(controller.migrate_groups("-vvv", "--diff", groups=[orders], verify="records")).output)
        shown.append(failed(controller.migrate_groups("-vvv", "--diff", groups=[orders], destination="typo")))
    assert "invalid credentials" in shown[-1]
    assert committed(secured, orders) == {(orders, 0): (11, "")}
    assert any("ansible-playbook" in each for each in seen)  # it was looked at the right processes
    files = {
        name: content.decode(errors="replace") for name, content in (controller.files() | stored_by_tasks()).items()
    }
    assert {"receipt.json", "report.json"} <= {name.rpartition("/")[2] for name in files}
    for secret in (password, wrong, key_password):
        assert not any(secret in output for output in shown)
        assert not [name for name, content in files.items() if secret in content]
        assert not [line for line in seen if secret in line]


@pytest.mark.parametrize("pipelining", [True, False])
def test_a_run_that_is_killed_leaves_no_secret_with_pipelining(source, secured, orders, tmp_path, pipelining):
    """Without it, Ansible itself leaves the module with its arguments, as SECURITY.md says: this looks at the right place."""
    commit(secured, orders, {(orders, 0): 11})
    connection = secured.connection_as("admin")
    controller = ProgramController(tmp_path / "infrastructure", onprem=connection, cloud=source)
    with controller.changed_clusters() as clusters:
        clusters["vars"]["ansible_pipelining"] = pipelining
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {"source": "onprem", "destination": "cloud", "groups": [orders], "idle_wait": 30}
    extra = json.dumps({f"group_migration_{name}": value for name, value in variables.items()})
    with (tmp_path / "output").open("w") as output:
        playing = subprocess.Popen(
            [
                PROGRAMS / "ansible-playbook",
                "streamshift.kafka.migrate_groups",
                "-i",
                controller.inventory,
                "-e",
                extra,
            ],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_REMOTE_TEMP": str(temporary), "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            until(lambda: "Write down what the groups have committed" in (tmp_path / "output").read_text(), 120)
            # It waits for idle_wait seconds, with the password in its arguments.
            if pipelining:
                time.sleep(4)
                assert playing.poll() is None, (tmp_path / "output").read_text()
            else:
                until(lambda: files_with(connection["sasl_password"], temporary), 120)
        finally:
            playing.kill()
            playing.wait()
            kill_those_with(f"TMPDIR={temporary}")
    assert bool(files_with(connection["sasl_password"], temporary)) is not pipelining


def files_with(secret, folder):
    return [file for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


def kill_those_with(variable):
    """Kill what has this in its environment: each task of Ansible has a session of its own."""
    for each in running(variable):
        with contextlib.suppress(OSError):  # ended meanwhile
            os.kill(each.pid, signal.SIGKILL)


def stored_by_tasks():
    """What is still there of the files by which Ansible hands options to modules."""
    found = {}
    for folder, _folders, names in os.walk(
        Path.home() / ".ansible/tmp"
    ):  # it goes on where another run removes its own
        for name in names:
            with contextlib.suppress(OSError):  # another run has just removed it
                found[f"{folder}/{name}"] = Path(folder, name).read_bytes()
    return found


@contextlib.contextmanager
def processes():
    """The command lines and environments of everything that Ansible runs meanwhile."""
    seen = set()

    def look(over):
        while not over.wait(0.05):
            its = [each for each in running() if "ansible" in each.words or "AnsiballZ" in each.words]
            seen.update(f"{each.words} {each.environment}" for each in its)

    with Background(look):
        yield seen
