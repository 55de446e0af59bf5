"""What playbooks and roles refuse before they ask any cluster for anything: that they look, where, and how they say it.

Each text has its tests beside the code that makes it, in tests/unit/plugins/plugin_utils.
"""

import json
import os
from pathlib import Path

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import role_options
from tests.support.playbooks import NOWHERE, ProgramController, done, failed

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("play", ["migrate_groups", "rollback"])
def test_what_is_wrong_with_variables_is_told_at_once_with_what_was_meant(controller, play):
    output = failed(controller.play(play, groups=["billing"], on_rewnd="rewind", on_rewind="rewnd", keep_history=-1))
    assert "group_migration_on_rewnd is no variable of the role group_migration" in output
    assert "Did you mean group_migration_on_rewind?" in output
    assert "group_migration_on_rewind is rewnd. Did you mean rewind? The choices are fail, keep, rewind." in output
    assert "group_migration_keep_history is -1. Give 0 or more." in output
    assert "Nothing was written to a cluster." in output
    assert "argument_spec_data" not in output and "cannot connect" not in output


def test_each_playbook_leaves_the_check_of_variables_to_the_role():
    ran = {}
    for path in (ROOT / "playbooks").glob("*.yml"):
        for task in (task for play in yaml.safe_load(path.read_text()) for task in play.get("tasks", ())):
            for name in ("ansible.builtin.import_role", "ansible.builtin.include_role"):
                if name in task:
                    ran[path.stem] = task[name].get("rolespec_validate")
    assert len(ran) > 10 and set(ran.values()) == {False}, ran


def test_a_value_that_the_host_does_not_have_is_refused_before_the_task_that_needs_it(controller):
    wanted = {"groups": ["billing"], "phase": "cut_over", "watch_start": "{{ later }}", "topic_map": ["{{ x }}"]}
    output = failed(controller.migrate_groups(**wanted))
    for name, value in {"watch_start": "later", "topic_map": "x"}.items():
        why = f"'{value}' is undefined. Define what it is made of for this host."
        assert f"group_migration_{name} has no value: {why}" in output
    assert "Nothing was written to a cluster." in output and "cannot connect" not in output


ABSOLUTE = "Give the absolute path of a directory that lasts."


def test_playbooks_without_a_role_look_at_their_variables_and_waves_before_a_cluster_is_asked(controller):
    waves = {"waves": ["nowhere/*.yml"]}
    output = failed(controller.list_groups(**waves, group_patterns=["["], directory="nowhere", hosts="onprem"))
    assert f"list_groups_directory is {controller.directory}/nowhere, which is no directory of the machine" in output
    assert "list_groups_group_patterns holds '['" in output and "No file matches nowhere/*.yml" in output
    output = failed(controller.migration_status(**waves, wave="x", idle_wait="soon", directories=["/nowhere"]))
    assert "migration_status_wave is no variable of the playbook migration_status." in output
    assert "There is no directory /nowhere. Correct migration_status_directories." in output
    assert "migration_status_idle_wait is soon" in output and "No file matches nowhere/*.yml" in output
    assert "Finalization" not in output and "cannot connect" not in output


def test_files_are_not_kept_beside_an_inventory_that_a_controller_makes_for_each_job(controller):
    output = failed(controller.migration_status("-e", "awx_job_id=7", metrics="own.prom"))
    why = "a path beside the inventory, which a controller makes anew for each job."
    assert f"migration_status_metrics is own.prom, {why} {ABSOLUTE}" in output
    assert f"migration_status_directories is kafka-migrations/onprem-to-cloud, {why} {ABSOLUTE}" in output
    output += failed(controller.list_groups("-e", "awx_job_id=7", directory="own"))
    assert f"list_groups_directory is own, {why} {ABSOLUTE}" in output
    assert "cannot connect" not in output


def test_the_playbook_that_returns_groups_takes_no_variable_that_lets_it_do_something_else(controller):
    variables = (
        '{"group_migration_return": false, "group_migration_source": "onprem", "group_migration_destination": "cloud"}'
    )
    assert "nothing would be returned" in failed(controller.run("streamshift.kafka.return_groups", "-e", variables))


def test_list_groups_refuses_what_is_wrong_with_a_cluster_as_the_roles_do(controller):
    wrong = {**NOWHERE, "sasl_password": "s3cret", "sasl_mechanism": "{{ nor_this }}", "client_config": ["s3cret"]}
    its = {**NOWHERE, "bootstrap_servers": "{{ brokers }}"}
    with controller.changed_clusters() as clusters:
        clusters["hosts"] |= {
            "undefined": {"kafka_cluster": "{{ none_of_these }}"},
            "wrong": {"kafka_cluster": wrong},
            "right": {"kafka_cluster": "{{ its }}", "its": its, "brokers": NOWHERE["bootstrap_servers"]},
        }
    output = failed(controller.run("streamshift.kafka.list_groups", "--limit", "!onprem,!cloud"))
    assert "kafka_cluster of host undefined has no value: 'none_of_these' is undefined." in output
    assert "Host wrong: kafka_cluster.client_config is a list. Give a dictionary." in output and "s3cret" not in output
    assert "kafka_cluster of host right" not in output and "missing required arguments" not in output
    assert output.count('"msg": "cluster right (127.0.0.1:1): cannot connect') == 1  # the others are not asked


@pytest.mark.parametrize(
    ("playbook", "role", "said"),
    [
        ("migrate_groups", "group_migration", "cannot connect"),
        ("rollback", "group_migration", "there is no receipt file"),
        ("promote_topics", "topic_promotion", "topic_promotion_overrides, entry 1"),
        ("assess_migration", "migration_assessment", "migration_assessment_overrides is no variable of the role"),
    ],
)
def test_a_cluster_that_the_inventory_names_has_its_own_variables_and_a_place_for_files(
    controller, playbook, role, said
):
    variables = controller.directory / "group_vars/all.yml"
    variables.parent.mkdir()
    variables.write_text(f"{role}_source: onprem\n{role}_destination: cloud\n")
    played_on = "onprem" if playbook == "assess_migration" else "cloud"
    with controller.changed_clusters() as clusters:
        if playbook not in ("migrate_groups", "rollback"):
            clusters["hosts"][played_on][f"{role}_overrides"] = [1]
    given = json.dumps({"group_migration_groups": ["billing"]})
    output = failed(controller.run(f"streamshift.kafka.{playbook}", "--check", "-e", given))
    assert said in output and f"[{played_on}]: FAILED!" in output


def test_the_playbooks_without_a_role_name_their_own_variables(controller):
    output = failed(controller.migration_status()) + failed(controller.migration_status(metrics="own.txt"))
    assert f"migration_status_metrics is {controller.directory}/own.txt" in output
    assert (
        "Correct migration_status_directories, or migration_status_source and migration_status_destination, after which"
        in output
    )
    bundle = ("streamshift.kafka.support_bundle", "-e", "support_bundle_directory=elsewhere")
    assert "elsewhere is no directory. Correct support_bundle_directory." in failed(controller.run(*bundle))
    output = failed(controller.run(*bundle, "-e", "support_bundle_destination=clod"))
    assert "clod is no host of this inventory. Did you mean cloud?" in output
    output = failed(controller.run(*bundle, "-e", "support_bundle_archiv=x"))
    assert "no variable of the playbook support_bundle. Did you mean support_bundle_archive?" in output
    both = "-e support_bundle_source=onprem -e support_bundle_destination=cloud"
    assert both in failed(controller.run("streamshift.kafka.support_bundle"))


def test_a_dry_run_of_a_support_bundle_does_not_say_that_it_can_be_sent(controller):
    (controller.directory / "plan.json").write_text('{"entries": []}')
    bundle = ("streamshift.kafka.support_bundle", "-e", "support_bundle_directory=.")
    said = controller.run(*bundle, "--check").output
    assert "Dry run: without --check, you get this to send: " in said and "And this to keep, which says" in said
    assert f'"Send this: {controller.directory}/kafka-support-' in controller.run(*bundle).output


def test_the_playbooks_without_a_role_look_where_the_inventory_says_that_migrations_are_kept(controller):
    with controller.changed_clusters() as clusters:
        clusters["vars"]["group_migration_directory"] = f"{controller.directory}/kept/{{{{ group_migration_source }}}}"
    assert f"{controller.directory}/kept/onprem" in failed(controller.migration_status())
    both = ["-e", "support_bundle_source=onprem", "-e", "support_bundle_destination=cloud"]
    bundled = controller.run("streamshift.kafka.support_bundle", *both)
    assert f"{controller.directory}/kept/onprem is no directory" in failed(bundled)
    with controller.changed_clusters() as clusters:  # they do not look elsewhere where it cannot be worked out
        clusters["vars"]["group_migration_directory"] = "/srv/{{ wave_name }}"
    for played in (controller.migration_status(), controller.run("streamshift.kafka.support_bundle", *both)):
        assert "'wave_name' is undefined" in failed(played)


def test_an_empty_destination_of_an_assessment_is_none(controller):
    output = failed(controller.assess_migration(destination=""))
    assert "cannot connect" in output and "Name both clusters" not in output


def test_an_assessment_that_cannot_be_written_is_told_before_a_cluster_is_asked(controller):
    (controller.directory / "file").touch()
    output = failed(controller.assess_migration(directory="file/assessment"))
    assert "file is no directory. Name another migration_assessment_directory" in output
    assert "cannot connect" not in output


def test_an_assessment_decides_itself_what_it_plans(controller):
    """Whatever stands in the inventory: only -e is stronger than the assessment."""
    names = [f"group_migration_{name}" for name in ("backup", "destination", "directory", "phase", "return", "source")]
    given = json.dumps(dict.fromkeys(names, "/srv"))
    output = failed(controller.assess_migration("-e", given, plan=True, destination="cloud"))
    assert f"decides what it plans, and writes to no cluster. Leave out {', '.join(names)}." in output
    assert "cannot connect" not in output
    inventory = json.loads(controller.inventory.read_text())
    inventory["kafka_clusters"]["vars"] |= dict.fromkeys(names[1:], "/srv")
    controller.inventory.write_text(json.dumps(inventory))
    output = failed(controller.assess_migration(plan=True, destination="cloud"))
    assert "decides what it plans" not in output and "cannot connect" in output


def test_a_restore_tells_all_that_is_wrong_with_variables_before_it_misses_the_backup(controller):
    wrong = '{"restore_offsets_backup": "onprem", "group_clone_backpu": "x.json"}'
    output = failed(controller.run("streamshift.kafka.restore_offsets", "-e", wrong))
    assert "restore_offsets_backup has no effect" in output
    assert "group_clone_backpu is no variable of the role group_clone. Did you mean group_clone_backup?" in output
    assert "Name the cluster, as a host of the inventory: -e group_clone_cluster=onprem." in output
    assert "There is no backup" not in output


def test_a_file_in_place_of_the_directory_of_backups_is_named(controller):
    (controller.directory / "kafka-backups").touch()
    output = failed(controller.run("streamshift.kafka.back_up_offsets", "--limit", "onprem"))
    assert "kafka-backups/onprem for the backups of onprem cannot be used: " in output
    assert "another directory in back_up_offsets_directory" in output and "cannot connect" not in output


def test_a_fence_is_not_lifted_with_another_directory_and_makes_none(controller):
    fence = {"cluster": "onprem", "topics": ["orders"], "phase": "lift", "directory": "kafka-fences/onprme"}
    role = {"role": "streamshift.kafka.topic_fence"} | {f"topic_fence_{name}": value for name, value in fence.items()}
    assert "there is no receipt file" in failed(controller.run_play(hosts="onprem", roles=[role]))
    assert not (controller.directory / "kafka-fences").exists()


def test_clusters_that_are_named_for_a_group_of_hosts_alone_are_told_as_that(controller):
    with controller.changed_clusters() as clusters:
        clusters["vars"] |= {"group_migration_source": "onprem", "group_migration_destination": "cloud"}
    output = failed(controller.run("streamshift.kafka.migrate_groups"))
    assert "group_migration_source and group_migration_destination are set for cloud, onprem, and not for loc" in output


def test_a_misspelt_host_is_named_with_those_that_there_are(controller):
    played = controller.migrate_groups(groups=["billing"], source="clod")
    # What holds for the tests' short way to Ansible holds for the program.
    program = ProgramController(controller.directory, onprem=NOWHERE, cloud=NOWHERE)
    assert program.migrate_groups(groups=["billing"], source="clod") == played
    assert (
        "clod is no host of this inventory. Did you mean cloud? "
        "Hosts of kafka_clusters that have a variable kafka_cluster: cloud, onprem." in failed(played)
    )


@pytest.mark.parametrize(("play", "role"), [("migrate_groups", "group_migration"), ("rollback", "replicator_handover")])
def test_a_limit_that_leaves_out_the_destination_is_no_success(controller, play, role):
    output = failed(controller.play(play, "--limit", "onprem", prefix=role))
    assert "--limit onprem leaves out cloud" in output and "Leave out --limit, or add cloud to it" in output


def test_a_cluster_that_is_no_host_fails_a_run_and_no_look_at_the_playbook(controller):
    for option in ("--syntax-check", "--list-hosts"):
        done(controller.migrate_groups(option, groups=["billing"], destination="clod"))
    assert "clod is no host of this inventory" in failed(controller.migrate_groups(destination="clod"))
    output = failed(controller.migrate_groups("--limit", "onprem", destination="clod"))
    assert (
        "No host of the inventory matches clod, so that nothing would be done. Name the clusters in the playbook's"
        in output
    )


@pytest.mark.parametrize("play", ["back_up_offsets", "list_groups", "migrate_groups"])
def test_a_playbook_that_is_given_tags_does_nothing_and_says_so_once(controller, play):
    output = done(controller.run(f"streamshift.kafka.{play}", "--tags", "plan")).output
    assert output.count("Nothing in this playbook has a tag: with --tags plan, nothing of it runs") == 1
    assert "cannot connect" not in output


@pytest.mark.parametrize("play", ["back_up_offsets", "list_groups"])
def test_a_pattern_that_matches_no_cluster_is_no_success(controller, play):
    output = failed(controller.run(f"streamshift.kafka.{play}", "-e", f"{play}_hosts=onprm"))
    assert (
        f"No host of the inventory matches onprm, so that nothing would be done. Name the clusters in {play}_hosts"
        in output
    )
    controller.inventory.write_text(controller.inventory.read_text().replace("kafka_clusters", "kafka"))
    output = failed(controller.run(f"streamshift.kafka.{play}"))
    assert "No host of the inventory matches kafka_clusters" in output
    output = failed(controller.run(f"streamshift.kafka.{play}", "-e", f"{play}_hosts=cloud", "--limit", "onprem"))
    assert "--limit onprem leaves out cloud" in output and "add cloud to it" in output
    output = failed(
        controller.run(f"streamshift.kafka.{play}", "-e", json.dumps({f"{play}_hosts": ["cloud", "onprm"]}))
    )
    assert "cannot connect" in output
    controller.inventory.write_text('{"all": {}}')
    done(controller.run(f"streamshift.kafka.{play}", "--syntax-check"))
    assert "localhost is no host of this inventory" in failed(controller.run(f"streamshift.kafka.{play}"))


@pytest.mark.parametrize("limit", ["@{}", "localhost,@{}"])
def test_a_limit_in_a_file_that_leaves_out_the_destination_is_no_success(controller, limit):
    file = controller.directory / "hosts"
    file.write_text("onprem\n")
    output = failed(controller.migrate_groups("--limit", limit.format(file), groups=["billing"]))
    assert f"--limit {limit.format(file)} leaves out cloud" in output


@pytest.mark.parametrize("limit", ["kafka_clusters:!onprem", "@{}", "@{},localhost", "@{relative}"])
def test_a_limit_with_the_destination_is_no_hindrance(controller, limit):
    file = controller.directory / "hosts"
    file.write_text("localhost\ncloud\n")
    limit = limit.format(file, relative=os.path.relpath(file))
    output = failed(controller.migrate_groups("--limit", limit, groups=["billing"], on_rewnd="fail"))
    assert "group_migration_on_rewnd is no variable" in output and "leaves out" not in output


def test_a_place_where_no_files_can_be_is_told(controller, monkeypatch):
    """A dry run, which would write none, tells it in the words of the run."""
    home = controller.directory
    monkeypatch.setenv("HOME", str(home))
    (home / "kafka-migrations").write_text("no directory")
    output = failed(controller.migrate_groups(groups=["billing"]))
    assert f"the directory {home}/kafka-migrations/onprem-to-cloud cannot be used: " in output
    assert f"{home}/kafka-migrations is no directory. Name another group_migration_directory" in output
    output = failed(controller.migrate_groups("--check", groups=["billing"], directory="/proc/nix"))
    assert "the directory /proc/nix cannot be used: " in output and "group_migration_directory" in output
    output = failed(controller.migrate_groups("--check", groups=["billing"], directory="~/kafka-migrations"))
    assert f"the directory {home}/kafka-migrations cannot be used: " in output
    output = failed(controller.migration_status(directories="~/kafka-migrations"))
    assert f"{home}/kafka-migrations is no directory" in output


def test_damaged_files_are_named_where_they_are_though_a_dry_run_works_on_copies(controller):
    folder = controller.directory / "kafka-migrations/onprem-to-cloud"
    folder.mkdir(parents=True)
    for name in ("plan", "receipt"):
        (folder / f"{name}.json").write_text("{")
    for check in ([], ["--check"]):
        output = failed(controller.migrate_groups(*check, groups=["billing"]))
        assert f"the plan file {folder}/plan.json is damaged" in output
        assert "Correct what was edited, or remove it and let the plan be made again" in output
        assert f"the receipt file {folder}/receipt.json is damaged" in output
        assert ".kafka-migration/" not in output
    assert controller.files()["kafka-migrations/onprem-to-cloud/plan.json"] == b"{"


def test_a_rollback_says_when_it_does_not_know_whose_it_is(controller):
    assert "-e group_migration_source=onprem" in failed(controller.play("rollback", prefix="no_role_of_ours"))
    both = json.dumps({"backlog_migration_source": "onprem", "backlog_migration_destination": "cloud"})
    output = failed(controller.rollback("-e", both))
    assert "variables of the roles backlog_migration and group_migration" in output
    assert "-e rollback_role=backlog_migration" in output
    output = failed(controller.rollback("-e", both, "-e", "rollback_role=group_migration", on_rewnd="fail"))
    assert "group_migration_on_rewnd is no variable" in output


def test_a_rollback_with_another_phase_is_refused(controller):
    """With the variables of the run before, which may have been any phase."""
    output = failed(controller.rollback(groups=["billing"], phase="apply"))
    assert "group_migration_phase is apply, so that nothing would be rolled back. Leave out" in output
    assert "Nothing was written to a cluster." in output
    assert "cannot connect" not in output


def test_a_rollback_minds_no_phase_of_the_inventory(controller):
    with controller.changed_clusters() as clusters:
        clusters["vars"]["group_migration_phase"] = "plan"
    output = failed(controller.rollback(groups=["billing"], on_rewnd="fail"))
    assert "group_migration_on_rewnd is no variable" in output and "would be rolled back" not in output


def test_a_rollback_knows_the_roles_of_one_cluster(controller):
    output = failed(controller.clone_groups(playbook="rollback", groups=["billing"], on_rewnd="keep"))
    assert "group_clone_on_rewnd is no variable of the role group_clone" in output
    output = failed(controller.clone_groups("--limit", "cloud", playbook="rollback", groups=["billing"]))
    assert "--limit cloud leaves out onprem" in output


def test_variables_of_a_users_own_role_called_common_are_left_alone(controller):
    shared = yaml.safe_load((ROOT / "roles/common/defaults/main.yml").read_text())
    with controller.changed_clusters() as clusters:
        clusters["vars"] |= {name.lstrip("_"): "/opt/company" for name in [*shared, "_common_role", "_common_steps"]}
    output = failed(
        controller.clone_groups(groups=["billing"], group_map=[{"name": "billing", "to": "b2"}], phase="apply")
    )
    assert "There is no plan file " in output
    assert "/opt/company" not in output


@pytest.fixture
def own_play(controller):
    """``own_play(role, *words)`` -> what a user's play says that stops the consumers, and has a role after that."""

    def played(role, *words, **given):
        its = {"source": "onprem", "destination": "cloud", "cluster": "cloud", "groups": ["billing"], **given}
        tasks = [
            {"name": "Look at the consumers", "ansible.builtin.fail": {"msg": "this has not been left out"}},
            {"name": "Stop the consumers", "ansible.builtin.assert": {"that": True}},
            {"name": "Do it", "ansible.builtin.import_role": {"name": f"streamshift.kafka.{role}"}},
        ]
        variables = {f"{role}_{name}": value for name, value in its.items() if f"{role}_{name}" in role_options(role)}
        return failed(controller.run_play(*words, vars=variables, tasks=tasks))

    return played


@pytest.mark.parametrize(
    ("role", "task", "given"),
    [
        ("group_migration", "Roll back", {"phase": "rollback"}),
        ("group_migration", "Hold the directory", {}),
        ("group_migration", "See what would be written", {}),
        ("group_migration", "Set the groups", {}),
        ("group_migration", "End the run", {}),
        ("group_migration", "Say what was done", {}),
        ("group_clone", "Clone", {}),
        ("group_reset", "Reset", {}),
        ("backlog_migration", "Migrate", {}),
        ("mirror_maker_group_sync", "Sync", {}),
        ("replicator_handover", "Let MirrorMaker 2 go on where Replicator has stopped, or take it back", {}),
        ("topic_promotion", "Do the rounds", {}),
        ("topic_fence", "Deny writing, or allow it again", {}),
        ("migration_assessment", "Check that the assessment can be written", {}),
    ],
)
def test_no_role_starts_in_its_middle(own_play, role, task, given):
    output = own_play(role, "--start-at-task", task, **given)
    assert f"started in its middle (--start-at-task {task}), without the checks that come first." in output
    assert "Run it whole: it goes on where it stopped. Nothing was written to a cluster." in output
    assert "Next:" not in output and "It took" not in output and "cannot connect" not in output


def test_whoever_starts_at_a_task_before_the_role_is_not_refused(own_play):
    assert "cannot connect" in own_play("group_migration", "--start-at-task", "Stop the consumers")
