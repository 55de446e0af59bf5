"""On which conditions tasks of a role or a playbook run, without the tasks before them."""

import json
import re

import pytest
import yaml
from jinja2 import Environment

from tests.support.playbooks import ROOT, done, failed


@pytest.fixture
def played(controller):
    """``played(task, **of_the_play)`` -> what a play of this one task prints, which succeeds."""

    def run(task, **of_the_play):
        return done(controller.run_play(tasks=[task], **of_the_play)).output

    return run


@pytest.fixture
def runs(played):
    """``runs(file, task, **variables)`` -> whether Ansible would run this task of a file, with these variables."""

    def run(file, name, **variables):
        task = {"name": name, "ansible.builtin.debug": {"msg": "it runs"}, "when": named(file, name)["when"]}
        return "it runs" in played(task, vars=variables)

    return run


def named(file, name):
    """The task of this name, in whatever play or block of the file it is."""
    tasks = [task for each in yaml.safe_load((ROOT / file).read_text()) for task in each.get("tasks", [each])]
    for task in tasks:  # grows meanwhile
        if task.get("name") == name:
            return task
        tasks += task.get("block", [])
    raise LookupError(name)


def evaluated(expression, **variables):
    """For conditions that need nothing of Ansible's own."""
    return Environment(autoescape=False).compile_expression(expression)(**variables)


@pytest.mark.parametrize("returns", [False, True])
def test_the_plan_of_a_return_does_not_replace_the_run_book_of_the_migration(runs, returns):
    its = {"group_migration_runbook": True, "group_migration_phase": "plan", "__group_migration_returns": returns}
    assert runs("roles/group_migration/tasks/migrate.yml", "Write the run-book", **its) is not returns


@pytest.mark.parametrize(
    ("results", "sets"),
    [
        ({"verified": {"verified": 3}, "ahead": {"written": 3}}, True),
        ({"verified": {"skipped": True}, "ahead": {"written": 0}}, True),
        ({}, True),
        ({"verified": {"failed": True}, "ahead": {"written": 3}}, False),
        ({"ahead": {"failed": True}}, False),
        ({"verified": {"verified": 3}, "ahead": {"written": 3}, "looked": {"failed": True}}, False),
    ],
)
def test_a_play_that_ignores_errors_sets_no_group_to_what_was_not_verified(runs, results, sets):
    its = {f"__backlog_migration_{name}": result for name, result in results.items()}
    its["__backlog_migration_commits"] = True
    assert runs("roles/backlog_migration/tasks/migrate.yml", "Set the groups", **its) is sets


def test_a_play_that_ignores_errors_verifies_a_plan_though_the_preview_of_its_commit_has_failed(played, controller):
    its = {
        "role": "group_migration",
        "phase": "migrate",
        "source": "onprem",
        "destination": "cloud",
        "directory": str(controller.directory / "migration"),  # without a plan, so that no cluster is asked
        "steps": ["verify", "commit"],
        "selection": {"groups": ["billing"], "group_patterns": [], "topics": [], "topic_patterns": []},
        "verify_options": {"method": "records", "on_absent": "fail"},
        "commit_options": {"on_blocked": "fail", "on_rewind": "fail", "on_active_group": "fail", "idle_wait": 0},
    }
    task = {
        "name": "Migrate",
        "ansible.builtin.import_role": {"name": "streamshift.kafka.common", "tasks_from": "round"},
        "vars": {f"_common_{name}": value for name, value in its.items()},
    }
    output = played(task, ignore_errors=True)
    for step in ("See what would be written", "Verify the plan before anything is written", "Set the groups"):
        said = output.partition(f"{step}] ")[2].partition("TASK [")[0]
        assert "...ignoring" in said and "plan.json" in said, output


def test_a_return_that_does_not_know_its_groups_ends_as_any_run(played, controller):
    """In a play that ignores errors, after a look at clusters that do not answer."""
    its = {"source": "onprem", "destination": "cloud", "groups": ["billing"], "return": True, "directory": "wave"}
    task = {
        "name": "Return",
        "ansible.builtin.import_role": {"name": "streamshift.kafka.group_migration"},
        "vars": {f"group_migration_{name}": value for name, value in its.items()},
    }
    output = played(task, ignore_errors=True)
    said = output.partition("End the run] ")[2]
    assert said.partition("TASK [")[0].strip("* \n").startswith("changed: [cloud]")
    assert "Next: remove the cause of the failure" in said and "start the consumers" not in said
    assert not [name for name in controller.files() if "lease" in name]


@pytest.mark.parametrize("result", [{"skipped": True}, {"changed": True}, {"failed": True, "msg": "no broker answers"}])
@pytest.mark.parametrize(
    ("file", "task", "before"),
    [
        pytest.param(
            "read_back",
            "Verify what is committed by the records beside every offset",
            "commit",
            id="nothing was committed",
        ),
        pytest.param("rollback", "Restore what was committed before", "restored", id="the old group has not come back"),
    ],
)
def test_a_play_that_ignores_errors_does_not_go_on_after_a_task_that_has_failed(runs, file, task, before, result):
    goes_on = runs(f"roles/common/tasks/{file}.yml", task, **{f"__common_{before}": result})
    assert goes_on is not result.get("failed", False)


@pytest.mark.parametrize(
    ("phase", "policy", "snapshot"),
    [
        ("plan", "fail", "warn"),
        ("apply", "fail", "fail"),
        ("apply", "skip_group", "warn"),
        (None, "skip_group", "skip_group"),
    ],
)
@pytest.mark.parametrize(("role", "task"), [("group_migration", "migrate"), ("group_clone", "clone")])
def test_a_plan_is_applied_to_a_snapshot_with_the_groups_in_use_that_its_commit_leaves_out(
    role, task, phase, policy, snapshot
):
    variables = named(f"roles/{role}/tasks/{task}.yml", task.capitalize())["vars"]
    expression = variables["_common_snapshot_options"]["on_active_group"].strip("{} ")
    its = {f"{role}_phase": phase or task, f"{role}_on_active_source": policy}
    assert evaluated(expression, **its, __group_migration_policies={"on_active_source": policy}) == snapshot


def test_a_round_does_not_warn_of_groups_that_consume_on_as_they_should():
    of_migration = named("roles/group_migration/tasks/migrate.yml", "Migrate")["vars"]["_common_snapshot_options"]
    policy = of_migration["on_active_group"].strip("{} ")
    assert evaluated(policy, group_migration_phase="sync") == "include"
    of_sync = named("roles/mirror_maker_group_sync/tasks/sync.yml", "Sync")["vars"]["_common_snapshot_options"]
    gate, phase = {"on_active_group": "fail"}, "mirror_maker_group_sync_phase"
    for value, on_active_group in (("sync", "include"), ("cut_over", "fail")):
        options = evaluated(of_sync[2:-2], **{phase: value}, __mirror_maker_group_sync_gate=gate)
        assert options["on_active_group"] == on_active_group


@pytest.mark.parametrize(
    ("words", "has_failed", "moved"),
    [
        (["--check"], False, ["billing", "late"]),  # a dry run has committed nothing
        ([], False, ["billing"]),
        ([], True, []),  # a play that ignores errors
    ],
)
def test_a_cut_over_names_the_groups_whose_consumers_may_start(controller, words, has_failed, moved):
    groups = {"billing": (0, {}), "late": (1, {}), "blocked": (0, {"blocked": 1}), "kept": (0, {}), "objected": (0, {})}
    its = {
        "__common_readiness": {
            "readiness": [
                {"group": name, "not_committed": count, "verdicts": {"exact": 1, **verdicts}}
                for name, (count, verdicts) in groups.items()
            ]
        },
        "__common_commit": {"may_start": ["billing", "late"]},
        "__common_failed": has_failed,
        **yaml.safe_load((ROOT / "roles/common/tasks/cut_over.yml").read_text())[0]["vars"],
    }
    task = {"name": "Say", "ansible.builtin.debug": {"msg": "moved: {{ __common_moved | sort | join(',') }};"}}
    assert f"moved: {','.join(moved)};" in done(controller.run_play(*words, vars=its, tasks=[task])).output


def test_a_cut_over_that_moves_no_group_tells_the_same_next_steps_as_its_report(played):
    """Another tool has moved the only group after the commit."""
    block = yaml.safe_load((ROOT / "roles/common/tasks/cut_over.yml").read_text())[0]["block"]
    (task,) = [task for task in block if task["name"] == "Say that consumers may start"]
    moved = {"not_ready": ["billing"], "not_started": ["billing"]}
    its = {
        "_common_next": "{{ query('streamshift.kafka.said', 'next') }}",
        "_common_results": {"commit": {"may_start": ["billing"], "stands": 1, "receipt": "r"}, "readiness": moved},
        "_common_commit_options": {"on_blocked": "skip_group"},
        "_common_plan_options": {},
        "_common_phase": "cut_over",
        "_common_role": "group_migration",
        "_common_source": "onprem",
        "_common_destination": "cloud",
        **dict.fromkeys(["_common_returns", "_common_source_lost", "__common_failed"], False),
        "__common_moved": [],
        "__common_dry_run": [],
        "__common_started": 0,
    }
    output = played(task, vars=its)
    assert "No group was cut over." in output and "do not start consumers at the destination. To roll back" in output


@pytest.mark.parametrize(("phase", "looks"), [("sync", False), ("cut_over", True)])
def test_the_cut_over_of_a_sync_looks_for_producers_at_the_source_and_a_round_does_not(played, phase, looks):
    role = "mirror_maker_group_sync"
    its = {
        name: value
        for name, value in named(f"roles/{role}/tasks/sync.yml", "Sync")["vars"].items()
        if name == "_common_commit_options" or name.startswith(f"__{role}")
    }
    for file in ("defaults", "vars"):
        its |= yaml.safe_load((ROOT / f"roles/{role}/{file}/main.yml").read_text())
    shown = {
        "name": "Show",
        "ansible.builtin.debug": {"msg": "{{ _common_commit_options.on_still_written | default('no') }}"},
    }
    output = played(shown, vars=its | {f"{role}_phase": phase})
    assert f'"msg": "{"note" if looks else "no"}"' in output


@pytest.mark.parametrize(
    "written, active_groups, has_plan, verified",
    [
        (3, [], True, True),
        (0, ["billing"], True, True),  # it may have no members any more when the commit looks
        (0, [], False, True),
        (0, [], True, False),
    ],
)
def test_a_copied_backlog_is_verified_unless_nothing_may_be_set(written, active_groups, has_plan, verified):
    task = named("roles/backlog_migration/tasks/migrate.yml", "Compare all that was copied on both clusters")
    ahead = {"written": written, "active_groups": active_groups}
    left = {"results": [None, {"stat": {"exists": has_plan}}]}
    its = {"__backlog_migration_ahead": ahead, "__backlog_migration_left": left}
    assert evaluated(task["when"], **its) == verified
    its = task["streamshift.kafka.kafka_offset_verify"]
    assert its["scope"] == "to_commit" and "receipt" in its  # what groups have consumed need not be at the destination


@pytest.mark.parametrize(
    ("verified", "options", "looks"),
    [
        ({"verified": 3}, {}, True),
        ({"verified": 3}, {"live": True}, False),
        ({"skipped": True}, {}, False),  # nothing is to be set, or the copy has just looked
        ({"skipped": True}, {"restore_retention": True}, True),  # which asks the destination only
    ],
)
def test_the_source_is_looked_at_once_more_before_groups_are_set(runs, verified, options, looks):
    its = {"live": False, "restore_retention": False, **options, "commits": True, "verified": verified}
    prefixes = {name: "" if name in ("live", "restore_retention") else "__" for name in its}
    variables = {f"{prefixes[name]}backlog_migration_{name}": value for name, value in its.items()}
    name = "See that the source has not grown since everything was copied"
    assert runs("roles/backlog_migration/tasks/migrate.yml", name, **variables) is looks


@pytest.mark.parametrize("check", [False, True])
def test_the_status_needs_no_directory_that_a_dry_run_does_not_make(check):
    task = named("playbooks/migration_status.yml", "Look what has become of the groups")
    status = task["streamshift.kafka.kafka_group_readiness"]["status"].strip("{} ")
    path = evaluated(status, __write_to="new", omit="omitted", ansible_check_mode=check)
    assert path == ("omitted" if check else "new/status.json")


@pytest.mark.parametrize("directory", [None, "kafka-migrations/onprem-to-cloud", "/srv/billing"])
def test_the_status_prints_a_command_with_this_inventory_and_this_directory(controller, directory):
    """Whoever copies it works on the clusters, and with the files, that the status is about."""
    (look,) = [
        play for play in yaml.safe_load((ROOT / "playbooks/migration_status.yml").read_text()) if "hosts" in play
    ]
    task = named("playbooks/migration_status.yml", "Show what to do next")
    given = {"migration_status_source": "onprem", "migration_status_destination": "cloud"}
    given |= {} if directory is None else {"group_migration_directory": directory}
    show = {"name": "Show", "ansible.builtin.debug": {"msg": "{{ __how }}"}}
    its = {**look["vars"], **task["vars"]}
    output = done(controller.run_play("-e", json.dumps(given), vars=its, tasks=[show])).output
    (said,) = re.findall(r"NAME -i (\S+) .*group_migration_destination=cloud(.*), and the groups", output)
    assert (ROOT / said[0]).resolve() == controller.inventory.resolve()
    assert said[1] == (" -e group_migration_directory=/srv/billing" if directory == "/srv/billing" else "")


BOOK = ROOT / "roles/group_migration/templates/runbook.md.j2"


def test_the_commands_of_a_run_book_take_the_variables_that_rounds_were_given(controller):
    role = ROOT / "roles/group_migration"
    (task, *_others) = yaml.safe_load((role / "tasks/runbook.yml").read_text())
    written = {"name": "Write", **{name: task[name] for name in ("ansible.builtin.copy",)}}
    its = {"groups": ["billing"], "interval": 60, "run_for": 600, "phase": "plan"}
    its |= {"source": "onprem", "destination": "cloud", "idle_wait": 0}
    given = {f"group_migration_{name}": value for name, value in its.items()}
    wave = controller.directory / "wave"
    wave.mkdir()
    extra = json.dumps({**given, "group_migration_directory": str(wave)})
    files = [str(role / "defaults/main.yml"), str(role / "vars/main.yml")]
    done(controller.run_play("-e", extra, tasks=[written], vars_files=files))
    book = f"@{wave}/runbook.json"
    assert "cannot connect" in failed(controller.run("streamshift.kafka.migrate_groups", "-e", book))
    assert "there is no receipt file" in failed(controller.run("streamshift.kafka.rollback", "-e", book))
    (line,) = re.findall(r"^ansible-playbook streamshift\.kafka\.list_groups .*'(.*)'$", BOOK.read_text(), re.MULTILINE)
    chosen = re.sub("{% (end)?raw %}", "", line)
    wrong = json.dumps({"group_migration_groups": [""]})
    output = failed(controller.run("streamshift.kafka.list_groups", "-e", book, "-e", chosen, "-e", wrong))
    assert "list_groups_groups" in output


def play_of_waves() -> tuple[dict, dict]:
    """The play of the page about waves, and its block that has a rescue."""
    (text,) = re.findall(r"```yaml\n(- name: Move billing\n.*?)```", (ROOT / "docs/waves.md").read_text(), re.DOTALL)
    (play,) = yaml.safe_load(text)
    return play, play["tasks"][0]["block"][1]


@pytest.mark.parametrize("tagged", ["at the block", "at the task"])
def test_the_play_of_the_page_about_waves_cuts_over_with_its_tag(controller, tagged):
    """The tasks of an included role inherit no tag of the task that includes it: they are left out without a word."""
    play, cut_over = play_of_waves()
    if tagged == "at the task":
        (task,) = [task for task in cut_over["block"] if "ansible.builtin.include_role" in task]
        task |= {"tags": play["tasks"][0].pop("tags")}
        task["ansible.builtin.include_role"] |= {"apply": {"tags": task["tags"]}}
    inventory = json.loads(controller.inventory.read_text())
    controller.inventory.write_text(json.dumps({**inventory, "billing": {"hosts": {}}}))
    assert "cannot connect" in failed(controller.run_play("--tags", "billing", **play))


@pytest.mark.parametrize(
    ("begin", "failing", "ran"),
    [
        ([], "See that all hosts answer", []),
        ([], "Stop the consumers", ["See that all hosts answer", "Start the consumers"]),
        ([], "Cut over", ["See that all hosts answer", "Stop the consumers", "Start the consumers"]),
        ([], "Point the consumers to the new cluster", ["See that all hosts answer", "Stop the consumers", "Cut over"]),
        (
            ["--start-at-task", "Point the consumers to the new cluster"],
            None,
            ["Point the consumers to the new cluster", "Start the consumers"],
        ),
    ],
)
def test_the_play_of_the_page_about_waves_starts_no_consumers_at_two_clusters(controller, begin, failing, ran):
    play, cut_over = play_of_waves()
    for tasks in (play["tasks"][0]["block"], cut_over["block"], cut_over["rescue"]):
        for task in tasks:
            if "block" not in task and "ansible.builtin.fail" not in task:
                name = task["name"]
                task.clear()
                task |= {
                    "name": name,
                    "ansible.builtin.assert": {"that": name != failing, "success_msg": f"ran {name}"},
                }
    played = controller.run_play(*begin, **play)
    assert bool(played.code) == bool(failing) and re.findall(r"ran ([A-Z][a-z ]+)", played.output) == ran, played.output
