"""Two runs never overlap: a run whose directory another one holds fails, or leaves, and writes nothing there."""

import subprocess

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import lease
from tests.support.held import lease_of
from tests.support.playbooks import done, failed

POLICY = {"source_alias": "onprem", "target_alias": "cloud"}


@pytest.fixture
def other(controller):
    """The process of another run that holds the directory."""
    process = subprocess.Popen(["sleep", "600"])
    home = controller.directory / "kafka-syncs/onprem-to-cloud"
    home.mkdir(parents=True)
    (home / "lease.json").write_text(lease.to_json(lease_of(process.pid)))
    yield process
    process.kill()
    process.wait()


def sync(controller, *words, **variables):
    its = {"groups": ["billing"], "replication_policy": POLICY, "source_lost": True, **variables}
    return controller.sync_mirror_maker_groups(*words, **its)


def rounds(controller, *words, hosts="cloud", **variables):
    """Play the shared tasks of rounds alone, which ask no cluster before they hold the directory."""
    its = {
        "role": "group_migration",
        "source": "onprem",
        "destination": "cloud",
        "directory": str(controller.directory / "kafka-syncs/onprem-to-cloud"),
        "steps": ["snapshot"],
        "selection": {"groups": ["billing"], "group_patterns": [], "topics": [], "topic_patterns": []},
        "commit_options": {"on_blocked": "fail"},
        "phase": "sync",
        **variables,
    }
    role = {"name": "streamshift.kafka.common", "tasks_from": "rounds"}
    task = {
        "name": "Do rounds",
        "ansible.builtin.include_role": role,
        "vars": {f"_common_{name}": value for name, value in its.items()},
    }
    after = {"name": "Go on", "ansible.builtin.debug": {"msg": "what comes after the role"}}
    return controller.run_play(*words, hosts=hosts, tasks=[task, after])


def test_a_run_whose_directory_is_held_fails_or_leaves(controller, other):
    files = controller.files()
    held = f"another run works in {controller.directory}/kafka-syncs/onprem-to-cloud now: process {other.pid} on "
    left = done(rounds(controller, on_locked="leave"))
    assert held in left.output and "This run ends here, and changes nothing." in left.output
    assert "what comes after the role" in left.output and left.changed == 0
    # Before consumers are started, nobody may take a run that has left for one that has done its work.
    policy = {"groups": ["billing"], "replication_policy": POLICY}
    for played in (
        rounds(controller),
        sync(controller, on_locked="leave"),
        controller.play("rollback", prefix="mirror_maker_group_sync", on_locked="leave", **policy),
    ):
        output = failed(played)
        assert held in output and "cannot connect" not in output
        assert '"kind": "locked"' in output
    assert controller.files() == files
    # A dry run writes nothing there, and asks the clusters.
    assert "cannot connect" in failed(sync(controller, "--check"))
    assert controller.files() == files


def test_a_run_that_was_killed_is_followed_by_the_next_and_a_failed_one_releases_its_directory(controller, other):
    other.kill()
    other.wait()
    taken_over = "ended without releasing it"
    output = " ".join(failed(sync(controller)).split())  # Ansible breaks the lines of warnings
    assert taken_over in output and "cannot connect" in output
    assert "kafka-syncs/onprem-to-cloud/lease.json" not in controller.files()
    assert taken_over not in " ".join(failed(sync(controller)).split())


def test_a_run_that_cannot_hold_its_directory_leaves_it_as_it_is_and_says_why_once(controller):
    home = controller.directory / "kafka-syncs/onprem-to-cloud"
    home.mkdir(parents=True)
    (home / "lease.json").write_text("{")
    (home / "report.md").write_text("another run's")
    output = failed(rounds(controller, report=True, interval=1, run_for=2))
    assert "the lease file" in output and "Remove it, if no run works in the directory." in output
    assert "The run has not ended as it should" not in output and "Report:" not in output
    assert sorted(path.name for path in home.iterdir()) == ["lease.json", "report.md"]
    assert (home / "report.md").read_text() == "another run's"


def test_of_two_hosts_of_a_play_one_works_in_the_directory(controller):
    output = failed(rounds(controller, "--forks", "1", hosts="onprem,cloud"))
    assert "this ansible-playbook works in" in output and "Play the role for one host, or set" in output
    assert output.count("[ERROR]: Task failed: Module failed: cluster onprem") == 1, "the other host begins nothing"
    assert not list(controller.directory.rglob("lease.json"))
