"""What playbooks and roles refuse before they ask any cluster for anything."""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.support.playbooks import Controller, ProgramController, failed

ROOT = Path(__file__).parents[3]
NOWHERE = {"bootstrap_servers": ["127.0.0.1:1"]}


@pytest.fixture
def controller(tmp_path):
    """Two clusters that nobody may ask: a test that does fails with another message."""
    return Controller(tmp_path / "infrastructure", onprem=NOWHERE, cloud=NOWHERE)


@pytest.mark.parametrize(
    ("play", "role"),
    [
        ("migrate_groups", "group_migration"),
        ("rollback", "backlog_migration"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_one_that_was_meant(controller, play, role):
    output = failed(controller.play(play, prefix=role, groups=["billing"], verify="none", on_rewnd="rewind"))
    assert f"{role}_on_rewnd is no variable of the role {role}" in output
    assert f"Did you mean {role}_on_rewind?" in output
    assert "cannot connect" not in output


ABSOLUTE = "Give the absolute path of a directory that lasts."


def test_everything_that_is_wrong_with_lists_and_waves_is_told_before_a_cluster_is_asked(controller):
    waves = controller.directory / "waves"
    waves.mkdir()
    (waves / "a.yml").write_text("group_migration_groups: [a, a]\ngroup_migration_group_patterns: ['(']")
    files = ["waves/*.yml", "nowhere/*.yml"]
    output = failed(controller.list_groups(waves=files, group_patterns=["["], directory="/nowhere", hosts="onprem"))
    assert "list_groups_directory is /nowhere, which is no directory of the machine" in output
    assert "list_groups_group_patterns holds '['" in output
    assert "No file matches nowhere/*.yml" in output
    assert "a.yml: group_migration_groups names a twice" in output
    assert "a.yml: group_migration_group_patterns holds '('" in output
    output = failed(controller.migration_status(waves=files, idle_wait="soon", directories=["/nowhere"]))
    assert "There is no directory /nowhere. Correct migration_status_directories." in output
    assert "migration_status_idle_wait is soon" in output and "No file matches nowhere/*.yml" in output
    assert "Finalization" not in output and "cannot connect" not in output


ROLES = {
    "clone_groups": ("group_clone_directory", "kafka-clones/onprem"),
    "migration_status": ("migration_status_directories", "kafka-migrations/onprem-to-cloud"),
}


@pytest.mark.parametrize("playbook", ROLES)
def test_files_are_not_kept_beside_an_inventory_that_a_controller_makes_for_each_job(controller, playbook):
    variable, path = ROLES[playbook]
    output = failed(getattr(controller, playbook)("-e", "awx_job_id=7"))
    why = "a path beside the inventory, which a controller makes anew for each job."
    assert f"{variable} is {path}, {why} {ABSOLUTE}" in output
    assert "cannot connect" not in output


def test_files_are_not_kept_beside_an_inventory_that_is_no_file(controller, tmp_path):
    added = {"name": "{{ item }}", "kafka_cluster": NOWHERE, "ansible_connection": "local"}
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [{"ansible.builtin.add_host": added, "loop": ["here", "there"]}],
        },
        {
            "hosts": "there",
            "gather_facts": False,
            "roles": [{"role": "streamshift.kafka.group_migration"}],
            "vars": {"group_migration_source": "here", "group_migration_destination": "there"},
        },
    ]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    output = failed(controller.run(str(tmp_path / "play.yml")))
    directory = "kafka-migrations/here-to-there"
    why = "a path beside the inventory, and there is in no inventory file"
    assert f"group_migration_directory is {directory}, {why}. {ABSOLUTE}" in output


def test_a_return_is_rolled_back_by_the_playbook_for_that(controller):
    output = failed(controller.play("return_groups", groups=["billing"], phase="rollback"))
    assert (
        "group_migration_phase is rollback, and group_migration_return is true, which the playbook return_groups sets"
        in output
    )
    assert "-e group_migration_source=cloud -e group_migration_destination=onprem" in output
    assert "kafka-migrations/onprem-to-cloud/return" in output and "cannot connect" not in output
    variables = (
        '{"group_migration_return": false, "group_migration_source": "onprem", "group_migration_destination": "cloud"}'
    )
    assert "nothing would be returned" in failed(controller.run("streamshift.kafka.return_groups", "-e", variables))


def test_list_groups_refuses_what_is_wrong_with_a_cluster_as_the_roles_do(controller):
    inventory = json.loads(controller.inventory.read_text())
    inventory["kafka_clusters"]["hosts"] |= {
        "bare": {},
        "address": {"kafka_cluster": "broker1:9092"},
        "misspelt": {"kafka_cluster": {"bootstrap_server": ["127.0.0.1:1"]}},
        "nowhere": {"kafka_cluster": {"bootstrap_servers": "{{ none_of_these }}", "sasl_password": "{{ nor_this }}"}},
        "undefined": {"kafka_cluster": "{{ none_of_these }}"},
        "wrong": {
            "kafka_cluster": {
                "bootstrap_servers": ["127.0.0.1:1"],
                "security_protocol": "SASL_SLL",
                "sasl_password": "s3cret",
                "sasl_mechanism": "{{ nor_this }}",
                "client_config": ["s3cret"],
            }
        },
        "right": {
            "kafka_cluster": "{{ its }}",
            "its": {"bootstrap_servers": "{{ brokers }}"},
            "brokers": ["127.0.0.1:1"],
        },
    }
    controller.inventory.write_text(json.dumps(inventory))
    output = failed(controller.run("streamshift.kafka.list_groups", "--limit", "!onprem,!cloud"))
    assert (
        "bare is a host of this inventory without a variable kafka_cluster. Give it one, such as kafka_cluster: "
        in output
    )
    assert (
        "that have a variable kafka_cluster: address, cloud, misspelt, nowhere, onprem, right, undefined, wrong."
        in output
    )
    assert "kafka_cluster of host address is not a dictionary." in output
    assert "kafka_cluster of host misspelt has the key bootstrap_server, which does not exist." in output
    assert "kafka_cluster of host misspelt has no bootstrap_servers." in output
    assert "kafka_cluster of host nowhere has no bootstrap_servers." in output
    assert "kafka_cluster of host undefined has no value: 'none_of_these' is undefined." in output
    assert "Host wrong: kafka_cluster.security_protocol is SASL_SLL. Did you mean SASL_SSL?" in output
    assert "Host wrong: kafka_cluster.client_config is a list. Give a dictionary." in output and "s3cret" not in output
    assert "kafka_cluster of host right" not in output and "missing required arguments" not in output
    assert (
        output.count('"msg": "cluster right (127.0.0.1:1): cannot connect') == 1
    )  # to the cluster of the host that is right


@pytest.mark.parametrize("playbook", ["migrate_groups", "rollback"])
def test_the_inventory_may_name_the_clusters(controller, playbook):
    variables = controller.directory / "group_vars/all.yml"
    variables.parent.mkdir()
    variables.write_text("group_migration_source: onprem\ngroup_migration_destination: cloud\n")
    given = ("-e", '{"group_migration_groups": ["billing"]}')
    output = failed(controller.run(f"streamshift.kafka.{playbook}", *given))
    assert f"a path beside the inventory, and localhost is in no inventory file. {ABSOLUTE}" in output
    directory = ("-e", f"group_migration_directory={controller.directory}/moved")
    output = failed(controller.run(f"streamshift.kafka.{playbook}", *given, *directory))
    assert "cannot connect" in output or "there is no receipt file" in output, output


def test_the_playbooks_without_a_role_name_their_own_variables(controller):
    output = failed(controller.run("streamshift.kafka.list_groups", "-e", '{"list_groups_group_patterns": ["a["]}'))
    assert "list_groups_group_patterns holds 'a['" in output
    output = failed(controller.migration_status())
    assert (
        "Correct migration_status_directories, or migration_status_source and migration_status_destination, after which"
        in output
    )
    assert (
        "migration_status_wave is no variable of the playbook migration_status. Did you mean migration_status_waves?"
        in failed(controller.migration_status(wave="x"))
    )
    bundle = ("streamshift.kafka.support_bundle", "-e", "support_bundle_directory=elsewhere")
    assert "elsewhere is no directory. Correct support_bundle_directory." in failed(controller.run(*bundle))
    output = failed(controller.run(*bundle, "-e", "support_bundle_destination=clod"))
    assert "clod is no host of this inventory. Did you mean cloud?" in output
    output = failed(controller.run(*bundle, "-e", "support_bundle_archiv=x"))
    assert "no variable of the playbook support_bundle. Did you mean support_bundle_archive?" in output
    both = "-e support_bundle_source=onprem -e support_bundle_destination=cloud"
    assert both in failed(controller.run("streamshift.kafka.support_bundle"))


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


def test_a_variable_that_begins_with_the_name_of_the_playbook_is_refused(controller):
    output = failed(controller.run("streamshift.kafka.restore_offsets", "-e", "restore_offsets_backup=onprem"))
    assert "restore_offsets_backup has no effect" in output and "Did you mean group_clone_backup?" in output
    assert "Name the cluster, as a host of the inventory" in output  # all is told at once


def test_a_restore_names_a_misspelt_variable_before_it_misses_the_backup(controller):
    output = failed(controller.clone_groups(playbook="restore_offsets", groups=["billing"], backpu="x.json"))
    assert "group_clone_backpu is no variable of the role group_clone. Did you mean group_clone_backup?" in output


@pytest.mark.parametrize("play", ["migrate_groups", "rollback"])
def test_a_value_that_is_no_choice_is_told_in_one_line(controller, play):
    output = failed(controller.play(play, groups=["billing"], on_rewind="rewnd"))
    assert "group_migration_on_rewind is rewnd. Did you mean rewind? The choices are fail, keep, rewind." in output
    assert "argument_spec_data" not in output and "cannot connect" not in output


@pytest.mark.parametrize("place", ["kafka-backups", "kafka-backups/onprem"])
def test_a_file_in_place_of_the_directory_of_backups_is_named(controller, place):
    file = controller.directory / place
    file.parent.mkdir(exist_ok=True)
    file.touch()
    output = failed(controller.run("streamshift.kafka.back_up_offsets", "--limit", "onprem"))
    assert "kafka-backups/onprem for the backups of onprem cannot be used: " in output
    assert "another directory in back_up_offsets_directory" in output and "cannot connect" not in output


def test_a_run_that_is_refused_before_it_begins_says_that_nothing_was_written(controller):
    for refused in (
        controller.migrate_groups(phase="rewnd"),
        controller.migrate_groups(groups=[], directory=""),
        controller.migrate_groups(groups=[]),
        controller.rollback(groups=["billing"], phase="plan"),
        controller.rollback(groups=[]),
    ):
        assert "Nothing was written to a cluster." in failed(refused)


def test_a_misspelt_variable_that_names_a_cluster_is_shown(controller):
    output = failed(controller.run("streamshift.kafka.clone_groups", "-e", "group_clone_custer=onprem"))
    assert "group_clone_custer is no variable of the role group_clone. Did you mean group_clone_cluster?" in output


@pytest.mark.parametrize("play", ["migrate_groups", "rollback"])
def test_clusters_that_are_not_named_are_told_once_and_no_known_variable_as_misspelt(controller, play):
    output = failed(controller.run(f"streamshift.kafka.{play}", "-e", '{"group_migration_groups": ["billing"]}'))
    message = "Name both clusters, as hosts of the inventory: -e group_migration_source=onprem -e group_migration_dest"
    assert output.count('"msg": "' + message) == 1 and "misspelt" not in output and "{{ __role" not in output


@pytest.mark.parametrize("play", ["migrate_groups", "rollback"])
def test_clusters_that_are_named_for_a_group_of_hosts_alone_are_told_as_that(controller, play):
    with controller.changed_clusters() as clusters:
        clusters["vars"] |= {
            "group_migration_source": "onprem",
            "group_migration_destination": "cloud",
            "group_migration_groups": ["billing"],
        }
    output = failed(controller.run(f"streamshift.kafka.{play}"))
    assert (
        "group_migration_source and group_migration_destination are set for cloud, onprem, and not for localhost, where this "
        "playbook begins. Set them for all hosts, such as in group_vars/all.yml beside the inventory, or by -e."
        in output
    )


def test_a_misspelt_host_is_named_with_those_that_there_are(controller):
    played = controller.migrate_groups(groups=["billing"], source="clod")
    # What holds for the tests' short way to Ansible holds for the program.
    program = ProgramController(controller.directory, onprem=NOWHERE, cloud=NOWHERE)
    assert program.migrate_groups(groups=["billing"], source="clod") == played
    assert (
        "clod is no host of this inventory. Did you mean cloud? "
        "Hosts of kafka_clusters that have a variable kafka_cluster: cloud, onprem." in failed(played)
    )


def test_a_host_without_a_cluster_is_not_offered_as_one(controller):
    with controller.changed_clusters() as clusters:
        clusters["hosts"]["bare"] = {}
    for limit in ([], ["--limit", "cloud"]):  # the playbook's own look, and the role's
        output = failed(controller.migrate_groups(*limit, groups=["billing"], source="bare"))
        assert "bare is a host of this inventory without a variable kafka_cluster. Give it one" in output
        assert "that have a variable kafka_cluster: cloud, onprem." in output


@pytest.mark.parametrize(
    ("play", "role"),
    [
        ("migrate_groups", "group_migration"),
        ("rollback", "group_migration"),
        ("rollback", "replicator_handover"),
        ("migrate_backlog", "backlog_migration"),
        ("sync_mirror_maker_groups", "mirror_maker_group_sync"),
        ("hand_over_replicator", "replicator_handover"),
    ],
)
def test_a_limit_that_leaves_out_the_destination_is_no_success(controller, play, role):
    output = failed(controller.play(play, "--limit", "onprem", prefix=role))
    assert "--limit onprem leaves out cloud" in output and "Leave out --limit, or add cloud to it" in output


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


def test_a_place_where_no_files_can_be_is_told(controller):
    (controller.directory / "kafka-migrations").write_text("no directory")
    for check in ([], ["--check"]):
        output = failed(controller.migrate_groups(*check, groups=["billing"]))
        assert f"the directory {controller.directory}/kafka-migrations/onprem-to-cloud cannot be used: " in output
        assert (
            f"{controller.directory}/kafka-migrations is no directory. Name another group_migration_directory" in output
        )
        output = failed(controller.migrate_groups(*check, groups=["billing"], directory="kafka-migrations"))
        assert f"{controller.directory}/kafka-migrations cannot be used: " in output


def test_a_tilde_is_the_home_directory(controller, monkeypatch):
    monkeypatch.setenv("HOME", str(controller.directory))
    for place in (controller.directory / "kafka-migrations", controller.directory / "e3"):
        place.write_text("no directory")
    output = failed(controller.migrate_groups("--check", groups=["billing"], directory="~/e3"))
    assert f"the directory {controller.directory}/e3 cannot be used: " in output
    output = failed(controller.migration_status(directories="~/e3"))
    assert f"{controller.directory}/e3 is no directory" in output


def test_a_dry_run_refuses_a_directory_that_cannot_be_made_in_the_words_of_the_run(controller):
    for check in ([], ["--check"]):
        output = failed(controller.migrate_groups(*check, groups=["billing"], directory="/proc/nix"))
        assert "the directory /proc/nix cannot be used: " in output and "group_migration_directory" in output


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


def test_a_limit_that_cannot_be_meant_is_told_before_anything_is_written(controller):
    output = failed(controller.migrate_backlog(groups=["billing"], max_bytes_per_second=0, idle_wait=-1))
    assert "backlog_migration_max_bytes_per_second is 0. Give more than 0" in output
    assert "backlog_migration_idle_wait is -1. Give 0 or more." in output
    assert "cannot connect" not in output and controller.files() == {}


@pytest.mark.parametrize(
    ("play", "role", "phase"),
    [
        ("hand_over_replicator", "replicator_handover", "rollback"),
        ("sync_mirror_maker_groups", "mirror_maker_group_sync", "sync"),
    ],
)
def test_a_missing_policy_is_told_in_one_line(controller, play, role, phase):
    output = failed(getattr(controller, play)(phase=phase))
    assert f"{role}_replication_policy is not set. Give what the configuration of MirrorMaker 2 calls" in output
    assert "argument_spec_data" not in output and "cannot connect" not in output


def test_a_rollback_of_a_sync_needs_no_policy(controller):
    output = failed(controller.sync_mirror_maker_groups(phase="rollback", groups=["billing"]))
    assert "there is no receipt file" in output and "replication_policy" not in output


@pytest.mark.parametrize("play", ["clone_groups", "hand_over_replicator", "promote_topics", "reset_groups"])
def test_a_negative_number_of_runs_to_keep_is_told(controller, play):
    more = {"replication_policy": {"source_alias": "onprem"}} if play == "hand_over_replicator" else {}
    output = failed(getattr(controller, play)(keep_history=-1, **more))
    assert "_keep_history is -1. Give 0 or more." in output
    assert "cannot connect" not in output and controller.files() == {}


def test_a_rollback_says_when_it_does_not_know_whose_it_is(controller):
    assert "-e group_migration_source=onprem" in failed(controller.play("rollback", prefix="no_role_of_ours"))
    both = json.dumps({"backlog_migration_source": "onprem", "backlog_migration_destination": "cloud"})
    output = failed(controller.rollback("-e", both))
    assert "variables of the roles backlog_migration and group_migration" in output
    assert "-e rollback_role=backlog_migration" in output
    output = failed(controller.rollback("-e", both, "-e", "rollback_role=group_migration", on_rewnd="fail"))
    assert "group_migration_on_rewnd is no variable" in output


@pytest.mark.parametrize("phase", ["apply", "migrate"])
def test_a_rollback_with_another_phase_is_refused(controller, phase):
    """With the variables of the run before, which may have been any phase."""
    output = failed(controller.rollback(groups=["billing"], phase=phase))
    assert f"group_migration_phase is {phase}, so that nothing would be rolled back. Leave out" in output
    assert "cannot connect" not in output


def test_a_rollback_minds_no_phase_of_the_inventory(controller):
    with controller.changed_clusters() as clusters:
        clusters["vars"]["group_migration_phase"] = "plan"
    output = failed(controller.rollback(groups=["billing"], on_rewnd="fail"))
    assert "group_migration_on_rewnd is no variable" in output and "would be rolled back" not in output


def test_a_rollback_knows_the_roles_of_one_cluster(controller):
    output = failed(controller.reset_groups(playbook="rollback", groups=["billing"], on_rewnd="keep"))
    assert "group_reset_on_rewnd is no variable of the role group_reset" in output
    output = failed(controller.clone_groups("--limit", "cloud", playbook="rollback", groups=["billing"]))
    assert "--limit cloud leaves out onprem" in output


def test_a_reset_is_refused_before_any_cluster_is_asked(controller):
    asked = {"groups": ["billing"], "resets": [{"to": "earliest"}]}
    for variables, message in [
        ({"phase": "apply"}, "There is no plan file"),
        ({"resets": []}, "there are no resets"),
        ({"resets": [{"to": "offset", "value": "four"}]}, "resets, entry 1: 'four' is no offset"),
    ]:
        output = failed(controller.reset_groups(**{**asked, **variables}))
        assert message in output.replace("\\'", "'") and "cannot connect" not in output
    assert not [name for name in controller.files() if name.endswith(".json")]
