"""In the tasks of a role, the messages of modules name its variables; in any other task, the options of the module."""

import json
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import role_options
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import option_names
from tests.support.playbooks import NOWHERE, Controller, failed

ROOT = Path(__file__).parents[4]
SNAPSHOT, COMMIT = "kafka_group_offsets", "kafka_offset_commit"
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))


def names(module, role, phase=None):
    return option_names(module, role, phase, role_options(role))


@pytest.mark.parametrize(
    ("module", "role", "phase", "option", "variable"),
    [
        # The snapshot is about the source's groups, the commit about the destination's.
        (SNAPSHOT, "group_migration", "migrate", "on_active_group", "on_active_source"),
        (COMMIT, "group_migration", "migrate", "on_active_group", "on_active_group"),
        # Other variables count in other phases, or none.
        (SNAPSHOT, "group_migration", "cut_over", "on_active_group", "on_not_ready"),
        (COMMIT, "group_migration", "cut_over", "on_blocked", "on_not_ready"),
        (COMMIT, "group_migration", "sync", "on_blocked", None),
        (SNAPSHOT, "group_migration", "sync", "on_active_group", None),
        ("kafka_migration_info", "group_migration", "sync", "verify", "verify_rounds"),
        ("kafka_migration_info", "mirror_maker_group_sync", "sync", "verify", "verify"),
        ("kafka_offset_verify", "group_migration", "migrate", "limit", "verify_limit"),
        (COMMIT, "group_clone", "rollback", "everything", "rollback_all"),
        ("kafka_backlog_copy", "backlog_migration", "migrate", "state: absent", "phase: remove"),
        ("kafka_topic_promotion", "topic_promotion", None, "exclude_topic_patterns", "exclude_topic_patterns"),
        ("kafka_topic_promotion", "group_migration", "plan", "exclude_topic_patterns", "repartitioned"),
        (COMMIT, "mirror_maker_group_sync", "cut_over", "on_blocked", "on_not_ready"),
        # Not every variable takes every value.
        (COMMIT, "group_migration", "migrate", "on_active_source: warn", "on_active_source: warn"),
        (COMMIT, "group_migration", "cut_over", "on_active_source: warn", None),
        (COMMIT, "mirror_maker_group_sync", "cut_over", "on_active_source: warn", None),
        # No variable of this role says that.
        (COMMIT, "mirror_maker_group_sync", "sync", "on_blocked", None),
        (COMMIT, "group_migration", "migrate", "on_misplaced", None),
    ],
)
def test_other_names(module, role, phase, option, variable):
    """variable: without the role's name."""
    assert names(module, role, phase).get(option) == (variable and f"{role}_{variable}")


def test_every_module_has_an_action():
    assert sorted(path.stem for path in (ROOT / "plugins/action").glob("*.py")) == MODULES


@pytest.fixture
def play(tmp_path):
    """``play(*tasks)`` -> what ansible-playbook says of tasks of which one fails."""
    controller = Controller(tmp_path, onprem=NOWHERE, cloud=NOWHERE)

    def played(*tasks, words=()):
        return failed(controller.run_play(*words, tasks=list(tasks)))

    return played


def role(name, **given):
    return {
        "ansible.builtin.include_role": {"name": f"streamshift.kafka.{name}"},
        "vars": {f"{name}_{option}": value for option, value in given.items()},
    }


def migration(tmp_path, **given):
    return role("group_migration", source="onprem", destination="cloud", directory=str(tmp_path), **given)


def rolled_back(tmp_path, **more):
    task = {"cluster": NOWHERE, "receipt": f"{tmp_path}/receipt.json", "state": "rolled_back"}
    return {"streamshift.kafka.kafka_offset_commit": {**task, **more}}


NOTHING = "{0}groups or {0}group_patterns as for the migration, or {1} to true"
OPTIONS = NOTHING.format("", "everything")


@pytest.mark.long
def test_two_roles_in_one_play_each_have_their_own_words_however_often_they_run(play, tmp_path):
    first = {"block": [migration(tmp_path, phase="rollback")], "rescue": [{"meta": "clear_host_errors"}]}
    clone = role("group_clone", cluster="cloud", directory=str(tmp_path), phase="rollback")
    said = play(first, {**first, "block": [clone]}, migration(tmp_path, phase="rollback"))
    failures = [line for line in said.splitlines() if line.startswith("fatal:")]
    for name, failure in zip(("group_migration", "group_clone", "group_migration"), failures, strict=True):
        assert NOTHING.format(f"{name}_", f"{name}_rollback_all") in failure


@pytest.mark.parametrize("keywords", [{}, {"loop": [1, 2]}, {"async": 60, "poll": 1}], ids=["plain", "loop", "async"])
def test_a_module_alone_names_its_options(play, tmp_path, keywords):
    assert OPTIONS in play({**rolled_back(tmp_path), **keywords})


def test_a_role_of_somebody_else_changes_nothing(play, tmp_path):
    tasks = tmp_path / "roles" / "common" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text(json.dumps([rolled_back(tmp_path)]))
    task = {"ansible.builtin.include_role": {"name": "common"}, "vars": {"_common_role": "group_migration"}}
    assert OPTIONS in play(task)


def test_secrets_stay_masked(play, tmp_path):
    cluster = {**NOWHERE, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    cluster |= {"sasl_username": "me", "sasl_password": "group_migration_groups"}
    said = play(rolled_back(tmp_path, cluster=cluster), words=["-vvv"])
    assert OPTIONS in said and "group_migration_groups" not in said


@pytest.mark.parametrize(
    ("keywords", "seconds"), [({}, "float"), ({"async": 60, "poll": 1}, "nothing")], ids=["plain", "async"]
)
def test_a_result_says_how_many_seconds_the_module_took(play, tmp_path, keywords, seconds):
    task = {**rolled_back(tmp_path), **keywords, "register": "its", "ignore_errors": True}
    kind = "{{ its.seconds | default | type_debug if its.seconds is defined and its.seconds > 0 else 'nothing' }}"
    assert f"the seconds: {seconds}" in play(task, {"ansible.builtin.fail": {"msg": f"the seconds: {kind}"}})
