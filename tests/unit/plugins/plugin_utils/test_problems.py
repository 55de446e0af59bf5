"""What playbooks and roles refuse before any cluster is asked: names of variables, hosts, clusters, paths."""

import collections
import dataclasses
import datetime
import math

import pytest
from ansible.errors import AnsibleUndefinedVariable

from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import (
    Given,
    HostCluster,
    Inventory,
    cut_at_blanks,
    playbooks,
    role_options,
)
from ansible_collections.streamshift.kafka.plugins.plugin_utils._problems import cluster_options, of_clusters, of_play
from ansible_collections.streamshift.kafka.plugins.plugin_utils._waves import read_waves

GOOD = HostCluster(("bootstrap_servers",))
INVENTORY_FILE = {"inventory_hostname": "cloud", "inventory_dir": "/srv"}


def given(name="group_migration", kind="role", known=(), **variables):
    """variables: with all of their name."""
    known = (
        role_options(name)
        if kind == "role"
        else {f"{name}_{option}": {"type": kind, "elements": "str"} for option, kind in dict(known).items()}
    )
    return Given(name, kind, known, {**INVENTORY_FILE, **variables})


def inventory(*, in_group=True, elsewhere=(), **clusters):
    """clusters: what kafka_cluster of each host is, None for a host without one. elsewhere: hosts that have every variable."""
    groups = {"all": ["localhost", *clusters]}
    if in_group:
        groups["kafka_clusters"] = list(clusters)

    def value_of(host, name):
        return clusters.get(host) if name == "kafka_cluster" else "set" if host in elsewhere else None

    return Inventory(groups, clusters.get, value_of)


BOTH = inventory(onprem=GOOD, cloud=GOOD)


SIDES = ("source", "destination")
SOURCE, DESTINATION = "group_migration_source", "group_migration_destination"
CLUSTERS = {SOURCE: "onprem", DESTINATION: "cloud"}


@pytest.mark.parametrize(
    "variables",
    [
        {"groups": ["billing"]},
        {  # as the command line gives them
            "groups": "billing,fraud", "verify_limit": "500", "idle_wait": "2.5", "write_report": "yes", "on_rewind": "keep",
            "topic_map": [{"pattern": "a", "to": "b"}],
        },
        dict.fromkeys(("replication_policy", "backup", "metrics", "plan_digest")),  # null is no value
        # A text of patterns that begins and ends with a class is no list in a text.
        *({"group_patterns": text} for text in ("[Pp]ay.*[0-9]", "[a-z][0-9]", "[Pp]ay,[Bb]ill[0-9]", "shop-[0-9]")),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_right_is_no_problem(variables):
    right = given(
        group_clone_unknown=1, **CLUSTERS, **{f"group_migration_{name}": its for name, its in variables.items()}
    )
    places = {"group_migration_directory": ["kafka-migrations"]}
    assert (
        list(of_play(right, BOTH, hosts=["onprem", "cloud"], places=places))
        == list(of_clusters(right, BOTH, SIDES))
        == []
    )


def test_each_misspelt_variable_is_named_with_the_one_that_was_meant():
    misspelt = given(group_migration_on_rewnd="fail", group_migration_grups=["billing"], group_migration_groups=[])
    meant = {"group_migration_grups": "group_migration_groups", "group_migration_on_rewnd": "group_migration_on_rewind"}
    assert list(of_play(misspelt, BOTH)) == [
        f"{wrong} is no variable of the role group_migration. Did you mean {right}? "
        "All of them: ansible-doc -t role streamshift.kafka.group_migration"
        for wrong, right in meant.items()
    ]


@pytest.mark.parametrize(
    ("role", "wrong", "meant"),
    [
        ("backlog_migration", "on_rewnd", "on_rewind"),
        ("group_clone", "backpu", "backup"),
        ("group_clone", "group_maps", "group_map"),
        ("mirror_maker_group_sync", "on_rewnd", "on_rewind"),
        ("kafka_sandbox", "cluster", "clusters"),
        ("group_migration", "something_else", None),
    ],
)
def test_the_nearest_name_is_the_one_that_was_meant(role, wrong, meant):
    (line,) = of_play(given(role, **{f"{role}_{wrong}": 1}), BOTH)
    assert f"Did you mean {role}_{meant}" in line if meant else "Did you mean" not in line


@pytest.mark.parametrize("name", ["dry_run", "dryrun", "check", "check_mode"])
def test_a_variable_for_a_dry_run_is_answered_with_what_makes_one(name):
    (line,) = of_play(given(**{f"group_migration_{name}": True}), BOTH)
    assert "For a dry run, add --check to the command. All of them: " in line


@pytest.mark.parametrize(
    ("kind", "role", "name", "meant"),
    [
        ("role", "group_migration", "group_migraton_on_blocked", "group_migration_on_blocked"),
        ("role", "group_migration", "groups_migration_on_blokced", "group_migration_on_blocked"),
        ("playbook", "list_groups", "list_group_patterns", "list_groups_group_patterns"),
        ("role", "group_migration", "group_clone_directory", None),  # that of another role
        ("role", "group_migration", "migrate_groups_on_blocked", None),  # misplaced() says more of it
        # Somebody's own, which a play may pass on.
        ("role", "group_migration", "migration_exclude_group_patterns", None),
        ("role", "group_migration", "app_migration_exclude_group_patterns", None),
        ("role", "group_migration", "my_group_migration_source", None),
        ("role", "group_migration", "group_migrations_xyz", None),
    ],
)
def test_a_variable_of_the_command_whose_beginning_is_misspelt_is_told(kind, role, name, meant):
    its = given(role, kind, {"hosts": "raw", "group_patterns": "list"})
    lines = [*of_play(dataclasses.replace(its, extra=[name]), inventory())]
    assert [line.split(" All of them")[0] for line in lines] == [
        f"{name} is no variable of the {kind} {role}. Did you mean {meant}? If it is a variable of your own, rename it."
        for _ in [name]
        if meant
    ]


def given_by(*extra_vars, **variables):
    """extra_vars: the arguments of -e. variables: what Ansible makes of them, besides the words that it leaves out."""
    whole = given(**variables)
    return Given(whole.name, whole.kind, whole.options, whole.variables, cut_at_blanks(extra_vars))


@pytest.mark.parametrize(
    ("value", "taken", "left_out"),
    [
        ("billing ledger", "billing", "ledger"),
        ("billing, ledger", "billing,", "ledger"),
        ("[billing, ledger]", "[billing,", "ledger]"),
        ("['billing', 'ledger']", "['billing',", "'ledger']"),
    ],
)
def test_a_list_that_ansible_has_cut_at_a_blank_is_told_once_and_given_whole(value, taken, left_out):
    cut = given_by(
        "@vars.yml",
        '{"group_migration_phase": "plan"}',
        f"group_migration_source=onprem group_migration_groups={value}",
        group_migration_source="onprem",
        group_migration_destination="cloud",
        group_migration_groups=taken,
    )
    line = (
        f"Ansible takes group_migration_groups={taken} and leaves out {left_out}, because name=value ends at a blank. Give "
        """all of it as JSON: -e '{"group_migration_groups": ["billing", "ledger"]}'."""
    )
    assert list(of_play(cut, BOTH)) == [line]
    assert list(of_clusters(cut, BOTH, ["source", "destination"])) == [line]


@pytest.mark.parametrize(
    ("extra_vars", "said"),
    [
        (["group_migration_groups = billing"], "words of -e that are not name=value"),
        (["kafka_password=open group_migration_phase = plan"], "words after kafka_password="),
        (["group_migration_groups=billing group_migration_phase = plan"], "words after group_migration_groups="),
    ],
)
def test_words_that_ansible_leaves_out_elsewhere_are_not_shown_because_they_may_be_secret(extra_vars, said):
    (line,) = of_play(given_by(*extra_vars, group_migration_groups="billing"), BOTH)
    assert line == (
        f"Ansible leaves out {said}, because name=value ends at a blank. Put no blanks around =, and give a value that has "
        """blanks as JSON, such as -e '{"name": "two words"}'."""
    )


@pytest.mark.parametrize(
    ("extra_vars", "groups"),
    [
        pytest.param(["note=hello world"], ["billing"], id="of another variable"),
        pytest.param(["hello"], ["billing"], id="of no variable"),
        pytest.param(
            ["group_migration_groups=a b", '{"group_migration_groups": ["a", "b"]}'],
            ["a", "b"],
            id="and given right after it",
        ),
    ],
)
def test_words_that_ansible_leaves_out_are_nothing_to_a_role_whose_variables_are_whole(extra_vars, groups):
    assert list(of_play(given_by(*extra_vars, group_migration_groups=groups), BOTH)) == []


def test_the_files_of_waves_are_named_by_whatever_text(tmp_path):
    (tmp_path / "1").write_text("group_migration_groups: [billing]")
    assert [wave["name"] for wave in read_waves([1], str(tmp_path)).waves] == ["1"]
    assert len(read_waves(["1, "], str(tmp_path)).waves) == 1
    said = f"No file matches 2 in the inventory's directory {tmp_path}."
    assert read_waves(["1,2"], str(tmp_path)).problems == [said]


def test_a_value_in_quotes_of_its_own_is_not_cut():
    assert cut_at_blanks(["note='two words' group_migration_groups=billing,ledger", "{a: 1, b: 2}"]) == {}


def test_variables_that_a_role_sets_itself_are_its_own():
    running = given("kafka_sandbox", kafka_sandbox_running={})
    assert list(of_play(running, BOTH, facts=["kafka_sandbox_running"])) == []
    assert len(list(of_play(running, BOTH))) == 1


def test_a_playbook_names_all_of_its_variables():
    misspelt = given("migration_status", "playbook", {"waves": "list", "metrics": "path"}, migration_status_wave="x")
    (line,) = of_play(misspelt, BOTH)
    assert line == (
        "migration_status_wave is no variable of the playbook migration_status. Did you mean migration_status_waves? "
        "All of them: migration_status_waves, migration_status_metrics"
    )


THOSE = "Hosts of kafka_clusters that have a variable kafka_cluster: cloud, onprem."


@pytest.mark.parametrize(
    ("host", "hint"), [("clod", " Did you mean cloud?"), ("prod", ""), ("kafka_clusters", ""), ("localhosts", "")]
)
def test_a_host_that_is_not_there_is_told_with_those_that_are_called_alike(host, hint):
    (line,) = of_play(given(), BOTH, hosts=["onprem", host])
    assert line == f"{host} is no host of this inventory.{hint} {THOSE}"


@pytest.mark.parametrize("host", ["localhost", "bare"])
def test_a_host_without_a_cluster_is_told_to_get_one_and_not_offered(host):
    (line,) = of_play(given(), inventory(onprem=GOOD, cloud=GOOD, bare=None), hosts=[host, host])
    assert line == (
        f"{host} is a host of this inventory without a variable kafka_cluster. Give it one, such as "
        f"kafka_cluster: {{bootstrap_servers: [broker1:9092]}}. {THOSE}"
    )


def test_without_a_group_of_clusters_all_hosts_are_looked_at():
    (line,) = of_play(given(), inventory(in_group=False, cloud=GOOD), hosts=["onprem"])
    assert line.endswith("Hosts of the inventory that have a variable kafka_cluster: cloud.")
    (line,) = of_play(given(), inventory(in_group=False), hosts=["onprem"])
    assert line.endswith("Hosts of the inventory that have a variable kafka_cluster: none.")


@pytest.mark.parametrize(
    ("cluster", "problems"),
    [
        (
            HostCluster(("bootstrap_server",), has_brokers=False),
            ["has the key bootstrap_server, which does not exist. Did you mean bootstrap_servers? There are: boot", "no b"],
        ),
        (HostCluster((), has_brokers=False), ["has no bootstrap_servers. Give the brokers, such as bootstrap_servers: [b"]),
        (HostCluster(None), ["is not a dictionary. Give one, such as kafka_cluster: {bootstrap_servers: [broker1:9092]}."]),
        (HostCluster(undefined={"kafka_cluster": "'x' is undefined"}), ["has no value: 'x' is undefined. Define "]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_cluster_is_told_once_with_its_host(cluster, problems):
    lines = list(of_play(given(), inventory(onprem=cluster, cloud=GOOD), hosts=["onprem", "cloud", "onprem"]))
    assert all(line.startswith("kafka_cluster of host onprem ") for line in lines)
    assert all(problem in line for problem, line in zip(problems, lines, strict=True))


def test_values_of_a_cluster_that_no_module_takes_are_told_with_their_host():
    values = {
        "bootstrap_servers": {"broker1": "hidden"},
        "security_protocol": "SASL_SLL",
        "sasl_plain_username": ["hidden"],
        "request_timeout": "soon",
        "client_config": ["hidden"],
        "name": "cloud",
    }
    lines = of_play(given(), inventory(cloud=HostCluster(tuple(values), values=values)), hosts=["cloud"])
    assert [line.removeprefix("Host cloud: kafka_cluster.") for line in lines] == [
        "bootstrap_servers is a dictionary. Give a list of texts.",
        (
            "security_protocol is SASL_SLL. Did you mean SASL_SSL? "
            "The choices are PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL."
        ),
        "sasl_plain_username is a list. Give one text.",
        "request_timeout is ***. Give a number.",
        "client_config is a list. Give a dictionary.",
    ]


def test_a_fault_of_one_key_of_a_cluster_hides_none_of_its_others_and_none_of_another_host():
    values = {
        "bootstrap_servers": ["broker1", "broker2:9092"],
        "security_protocol": "sasl_ssl",
        "sasl_mechanism": "PLAIN",
        "client_config": {"log_cb": "it"},
    }
    cloud = {"bootstrap_servers": ["a"], "ssl_cafile": None}
    hosts = inventory(
        onprem=HostCluster((*values, "sasl_pasword", "colour"), values=values),
        cloud=HostCluster(tuple(cloud), undefined={"kafka_cluster.ssl_cafile": "'files' is undefined"}, values=cloud),
    )
    lines = list(of_play(given(**CLUSTERS, group_migration_groups={}), hosts, hosts=["onprem", "cloud"]))
    assert [line.partition(". ")[0] for line in lines] == [
        "group_migration_groups is a dictionary",
        "kafka_cluster.ssl_cafile of host cloud has no value: 'files' is undefined",
        "kafka_cluster of host onprem has the key sasl_pasword, which does not exist",
        "kafka_cluster of host onprem has the key colour, which does not exist",
        "Host onprem: kafka_cluster.security_protocol is sasl_ssl",
        "cluster onprem: bootstrap server 'broker1' is not of the form host:port",
        "cluster onprem: client_config holds log_cb, which the collection sets itself",
        "cluster cloud: bootstrap server 'a' is not of the form host:port",
    ]
    assert "Did you mean sasl_password?" in lines[2] and "There are:" not in lines[2]
    assert "There are: bootstrap_servers, " in lines[3]


@pytest.mark.parametrize(
    ("prefix", "variables", "is_told"),
    [
        ("group_migration", {}, True),
        ("group_migration", {"phase": "rollback"}, False),
        ("backlog_migration", {"phase": "remove"}, False),
        ("mirror_maker_group_sync", {"source_lost": True}, False),
        ("group_migration", {"phase": "rollback", "source": "cloud"}, True),  # inside one cluster
    ],
)
def test_the_login_of_a_source_that_is_not_asked_may_be_gone(prefix, variables, is_told):
    gone = HostCluster(("bootstrap_servers",), undefined={"kafka_cluster.sasl_password": "'vault' is undefined"})
    hosts = inventory(onprem=gone, cloud=gone if "source" in variables else GOOD)
    both = {"source": "onprem", "destination": "cloud", **variables}
    its = given(prefix, **{f"{prefix}_{name}": value for name, value in both.items()})
    assert not [line for line in of_clusters(its, hosts, SIDES) if "sasl_password" in line]
    assert is_told is any("sasl_password" in line for line in of_play(its, hosts, hosts=["onprem", "cloud"]))


def test_for_a_host_that_is_not_there_no_login_of_others_is_worked_out():
    hosts = Inventory({"all": ["cloud"]}, pytest.fail, lambda _host, _name: {})
    (line,) = of_play(given(), hosts, hosts=["clod"])
    assert "Did you mean cloud?" in line


def test_a_side_of_a_wrong_type_does_not_hide_what_is_wrong_with_the_other():
    wrong = given(group_migration_source=["onprem"], group_migration_destination="clod")
    assert [line.partition(". ")[0] for line in of_clusters(wrong, BOTH, SIDES)] == [
        "group_migration_source is a list",
        "clod is no host of this inventory",
    ]


def test_what_is_wrong_in_spark_is_told_as_everything_else():
    spark = {"memry": "4g", "conf": ["spark.ui.enabled=false"], "remote": {"url": "sc://host"}}
    lines = list(of_play(given(group_migration_spark=spark), BOTH))
    assert [line.split(". ")[0] for line in lines] == [
        "group_migration_spark has the key memry, which does not exist",
        "group_migration_spark.conf is a list",
        "group_migration_spark.remote is a dictionary",
    ]
    assert "driver_memory" in lines[0]


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"awx_job_id": 7}, "which a controller makes anew for each job"),
        ({"tower_job_id": "7"}, "which a controller makes anew for each job"),
        ({"inventory_dir": None}, "and cloud is in no inventory file"),
        ({"inventory_dir": "None"}, "and cloud is in no inventory file"),  # as ansible-core 2.19 says it of -i cloud,
    ],
)
def test_files_are_not_kept_beside_an_inventory_that_does_not_last(variables, why):
    places = {"its_directories": ["one", "/srv/two", "", None], "its_file": ["three"], "its_year": [2026]}
    assert list(of_play(given(**variables), BOTH, places=places)) == [
        f"{path}, a path beside the inventory, {why}. Give the absolute path of a directory that lasts."
        for path in ("its_directories is one", "its_file is three", "its_year is 2026")
    ]


NAME_BOTH = f"Name both clusters, as hosts of the inventory: -e {SOURCE}=onprem -e {DESTINATION}=cloud."


@pytest.mark.parametrize(
    ("name", "sides", "variables", "line"),
    [
        ("group_migration", SIDES, {"group_migration_groups": ["x"]}, f"{NAME_BOTH} {SOURCE} and {DESTINATION} are not set."),
        (
            "group_migration", SIDES, {SOURCE: "onprem", DESTINATION: "", "group_migration_to": "cloud"},
            f"{NAME_BOTH} {DESTINATION} is not set.",
        ),
        (
            "group_clone", ["cluster"], {"group_clone_custer": "onprem"},
            "Name the cluster, as a host of the inventory: -e group_clone_cluster=onprem. group_clone_cluster is not set.",
        ),
        (  # a playbook without a role: nobody knows its variables
            "support_bundle", ["source"], {"support_bundle_archive": "x"},
            (
                "Name the cluster, as a host of the inventory: -e support_bundle_source=onprem. support_bundle_source is not "
                "set. These variables are set: support_bundle_archive."
            ),
        ),
    ],
)  # fmt: skip
def test_clusters_that_are_not_named_are_told_with_what_may_be_misspelt(name, sides, variables, line):
    *misspelt, told = of_clusters(given(name, **variables), BOTH, sides)
    assert told == line
    wrong = [variable for variable in ("group_migration_to", "group_clone_custer") if variable in variables]
    assert [problem.split()[0] for problem in misspelt] == wrong


@pytest.mark.parametrize(
    ("variables", "names"), [({}, f"{SOURCE} and {DESTINATION} are"), ({SOURCE: "onprem"}, f"{DESTINATION} is")]
)
def test_clusters_that_are_named_for_other_hosts_alone_are_told_as_that(variables, names):
    hosts = inventory(elsewhere=("onprem", "cloud"), onprem=GOOD, cloud=GOOD)
    (line,) = of_clusters(given(inventory_hostname="localhost", **variables), hosts, SIDES)
    assert line == (
        f"{names} set for cloud, onprem, and not for localhost, where this playbook begins. Set "
        f"{'it' if variables else 'them'} for all hosts, such as in group_vars/all.yml beside the inventory, or by -e."
    )


def test_hosts_that_are_named_are_looked_for_also_where_another_is_not_named():
    missing, misspelt = of_clusters(given(**{SOURCE: "onpremm"}), BOTH, SIDES)
    assert missing.startswith(NAME_BOTH) and misspelt.startswith("onpremm is no host of this inventory. Did")


@pytest.mark.parametrize(
    ("role", "wrong", "meant"),
    [
        ("group_clone", "restore_offsets_backup", "group_clone_backup"),
        ("group_clone", "restore_offsets_cluster", "group_clone_cluster"),
        ("migration_assessment", "assess_migration_source", "migration_assessment_source"),
        ("group_migration", "migrate_groups_groups", "group_migration_groups"),
    ],
)
def test_a_variable_that_begins_with_the_name_of_a_playbook_is_refused(role, wrong, meant):
    variables = {wrong: 1, "rollback_role": role, "restore_offsets_other": 1}
    assert list(of_clusters(given(role, **variables), BOTH, [])) == [
        f"{wrong} has no effect, because this playbook takes the variables of the role {role}. Did you mean {meant}?"
    ]


def test_a_choice_that_another_host_defines_is_left_to_the_role():
    class Undefined(collections.UserDict):
        def __getitem__(self, name):
            if name == "group_migration_on_rewind":
                raise AnsibleUndefinedVariable
            return super().__getitem__(name)

    variables = Undefined(INVENTORY_FILE, group_migration_on_rewind="{{ elsewhere }}")
    assert list(of_clusters(dataclasses.replace(given(), variables=variables), BOTH, [])) == []


def test_the_playbooks_are_those_of_the_collection():
    assert {"migrate_groups", "rollback", "restore_offsets"} <= {*playbooks()}
    assert not [name for name in playbooks() if "." in name]


def test_what_has_another_value_than_its_default_is_known():
    # Backup and csv have no default; the last one is a default as -e gives it.
    changed = {"backup": "x.json", "csv": "", "on_blocked": "skip_group"}
    others = {"on_rewind": "fail", "unknown": 1, "search_limit": "100000", "runbook": "false"}
    its = given(**{f"group_migration_{name}": value for name, value in {**changed, **others}.items()})
    assert its.changed() == {f"group_migration_{name}": value for name, value in changed.items()}


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("verify_limit", "yes", " is yes. Give a whole number."),
        ("groups", '["nc-a"', " begins like a list in JSON, and is none. Correct its brackets"),
        ("idle_wait", "nan", " is nan. Give a number."),
        ("stop_timeout", "inf", " is inf. Give a number."),
        ("verify_limit", math.inf, " is inf. Give a whole number."),
        ("idle_wait", 10**400, " is 1000000"),
        ("verify_limit", "1e99", " is 1e99. Give 9223372036854775807 at most."),
        ("idle_wait", 1e99, " is 1e+99. Give 9223372036854775807 at most."),
        ("groups", 1.5, " is 1.5. Give a list of texts."),
        ("groups", None, " has no value. Give a list, such as [], or leave it out."),
        ("topic_map", None, " has no value. Give a list, such as [], or leave it out."),
        ("spark", None, " has no value. Give a dictionary, such as {}, or leave it out."),
        ("write_report", None, " has no value. Give true or false, or leave it out."),
        ("idle_wait", None, " has no value. Give a number, or leave it out."),
        ("wait_for_replication", None, " has no value. Give a number, or leave it out."),
        ("idle_wait", "soon", " is soon. Give a number."),
        ("write_report", "perhaps", " is perhaps. Give true or false."),
        ("spark", "local", " is no dictionary. Give a dictionary with master, "),
        ("source", ["onprem"], " is a list. Give one text."),
        ("directory", {"path": "/srv"}, " is a dictionary. Give one text."),
        ("phase", ["migrate"], " is a list. Give one text."),
        ("groups", True, " is true. Give a list of texts."),
        ("groups", ["a", True], ", entry 2 is true, and no text. Put it in quotes if it is a name."),
        *(
            (option, text, f" is a text, which -e NAME=VALUE makes of a list. Give it in braces: {braces}{also}.")
            for option, text, entries, also in (
                ("group_patterns", "[a-z]", '["PATTERN"]', ", or put the pattern in a list"),
                ("repartitioned", "[a-z]", '["PATTERN"]', ", or put the pattern in a list"),
                ("group_patterns", "[a{1,3}]", '["PATTERN"]', ""),
                ("exclude_group_patterns", " [^_] ", '["PATTERN"]', ", or put the pattern in a list"),
                ("group_patterns", "[billing]", '["billing"]', ", or put the pattern in a list"),
                ("groups", "[orders-test]", '["orders-test"]', ""),
                ("groups", "[billing]", '["billing"]', ""),
                ("groups", "[]", "[]", ""),
                ("topics", " [a, b]\n", '["a", "b"]', ""),
                ("exclude_group_patterns", "[payments-.*]", '["payments-.*"]', ""),
                ("group_patterns", "[shop-[0-9]+, x]", '["shop-[0-9]+", "x"]', ""),
                ("topic_map", '[{"name": "a", "to": "b"}]', '[{"name": "a", "to": "b"}]', ""),
            )
            for braces in [f"-e '{{\"group_migration_{option}\": {entries}}}'"]
        ),
        ("on_rewind", "rewnd", " is rewnd. Did you mean rewind? The choices are fail, keep, rewind."),
        ("on_rewind", "", " is empty. The choices are fail, keep, rewind."),
        ("on_rewind", None, " has no value. Give fail or keep or rewind, or leave it out."),
        ("on_rewind", ["fail"], " is a list. Give one text."),
        ("groups", [1.5], ", entry 1 is 1.5, and no text. Put it in quotes if it is a name."),
        (
            "groups",
            [datetime.date(2026, 1, 31)],
            ", entry 1 is 2026-01-31, and no text. Put it in quotes if it is a name.",
        ),
        ("groups", {"billing": True}, " is a dictionary. Give a list of texts."),
        ("groups", ["billing", ["fraud"]], ", entry 2 is a list. Give one text."),
        ("match_on", ["key", "colour"], ", entry 2 is colour. The choices are key,"),
        ("topic_map", "a:b", ", entry 1 is no dictionary. Give a dictionary with name, pattern, to (required)."),
        (
            "topic_map",
            {"name": "a", "to": "b"},
            " is a dictionary. Give a list of dictionaries with name, pattern, to (required).",
        ),
        (
            "topic_map",
            [{"name": "x", "names": "a", "to": "b"}],
            ", entry 1 has the key names, which does not exist. Did you mean name? There are: name,",
        ),
        (
            "topic_map",
            [{"name": "a", "to": "b"}, {"name": "a", "pattern": "b", "to": "c"}],
            ", entry 2 has both name and pattern. Give one of them.",
        ),
        ("group_map", [{"to": "b"}], ", entry 1 has neither name nor pattern. Give one of them."),
        ("group_map", [{"name": "a", "to": None}], ", entry 1 has no to. Give it."),
        (
            "group_map",
            [{"name": "a", "to": "b", "topics": [["c"]]}],
            ", entry 1: topics, entry 1 is a list. Give one text.",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_told_in_a_line_before_the_role_begins(option, value, told):
    its = given(**CLUSTERS | {f"group_migration_{option}": value})
    (line,) = of_clusters(its, BOTH, SIDES)
    assert line.startswith(f"group_migration_{option}{told}") and "\n" not in line and line.endswith(".")
    assert list(of_play(its, BOTH, hosts=["onprem", "cloud"])) == [line]  # the role in one's own play


def test_wrong_values_of_all_kinds_are_told_together_with_misspelt_variables_and_clusters():
    wrong = given(
        group_migration_grups=[],
        group_migration_source="onpremm",
        group_migration_destination="cloud",
        group_migration_on_rewind="rewnd",
        group_migration_idle_wait=-1,
        group_migration_groups=["zero", None, 7, ["x"]],
    )
    hosts = inventory(onprem=GOOD, cloud=HostCluster(("bootstrap_servers",), values={"request_timeout": "-1"}))
    assert [line.partition(". ")[0] for line in of_clusters(wrong, hosts, SIDES)] == [
        "group_migration_grups is no variable of the role group_migration",
        "group_migration_groups, entry 2 is empty",
        "group_migration_groups, entry 4 is a list",
        "group_migration_on_rewind is rewnd",
        "group_migration_idle_wait is -1",
        "onpremm is no host of this inventory",
        "Host cloud: kafka_cluster.request_timeout is -1",
    ]


def test_patterns_rules_and_clusters_that_cannot_be_meant_are_told_with_the_rest():
    wrong = given(
        **CLUSTERS,
        group_migration_group_patterns="(,fine",
        group_migration_group_map=[{"pattern": "a", "to": "\\1"}, {"name": "b", "to": ["c", "c"], "topics": ["["]}],
        group_migration_search_limit=-1,
    )
    login = {"bootstrap_servers": ["a:9092"], "security_protocol": "SASL_SSL", "ssl_keyfile": "key.pem"}
    clusters = inventory(
        onprem=HostCluster((*login, "sasl_mechanism"), values={**login, "sasl_mechanism": "PLAIN"}),
        cloud=HostCluster(("bootstrap_servers", "sasl_password", "ssl_key"), values={"bootstrap_servers": ["b:9092"]}),
    )
    parts = (
        "cluster onprem: PLAIN needs sasl_username and sasl_password",
        "cluster onprem: ssl_keyfile is given without ssl_certfile",
        "group_migration_group_map, entry 1: '\\1' does not fit",
        "group_migration_group_map, entry 2 has the new name c twice",
        "group_migration_group_map, entry 2, topics holds '['",
        "group_migration_group_patterns holds '('",
        "group_migration_search_limit is -1",
    )
    lines = sorted(of_clusters(wrong, clusters, SIDES))
    assert [line[: len(part)] for line, part in zip(lines, parts, strict=True)] == list(parts)


def test_a_fault_of_one_entry_of_a_list_hides_none_of_the_others():
    rules = [{"pattern": "a"}, {"name": "b", "to": "c"}, {"pattern": "(", "to": "d"}, None, {"name": "e", "to": ""}]
    rules.append({"name": "f", "to": "g/h"})
    wrong = given(group_migration_topic_map=rules, group_migration_group_patterns=["[", {"a": "b"}])
    assert [line.partition(". ")[0] for line in of_play(wrong, BOTH)] == [
        "group_migration_group_patterns, entry 2 is a dictionary",
        "group_migration_group_patterns holds '[', which is no regular expression: unterminated character set at position 0",
        "group_migration_topic_map, entry 1 has no to",
        "group_migration_topic_map, entry 4 is empty",
        (
            "group_migration_topic_map, entry 3 holds '(', which is no regular expression: missing ), unterminated subpattern "
            "at position 0"
        ),
        "group_migration_topic_map, entry 5 has no new name",
        "group_migration_topic_map, entry 6: 'g/h' is no name that a topic can have",
    ]


def test_a_playbook_s_values_have_types_too():
    its = {"migration_status_source": ["a"], "migration_status_idle_wait": "soon"}
    known = {"source": "str", "directories": "list", "idle_wait": "float"}
    lines = ["migration_status_source is a list. Give one text.", "migration_status_idle_wait is soon. Give a number."]
    assert list(of_play(given("migration_status", "playbook", known, **its), BOTH)) == lines
    # Before its variables are known, the clusters' are.
    assert list(of_clusters(given("migration_status", "playbook", {}, **its), BOTH, ["source"])) == lines[:1]


@pytest.mark.parametrize("values", [{"password": ["hunter2"]}, {"password": {"is": "hunter2"}}, ["hunter2"]])
def test_what_has_a_password_in_it_is_not_shown(values):
    wrong = given("replicator_handover", replicator_handover_rest=values)
    assert "hunter2" not in str(list(of_play(wrong, BOTH)))


# But for addresses, which a message has to name.
@pytest.mark.parametrize("key", sorted({*cluster_options()} - {"bootstrap_servers", "name"}))
@pytest.mark.parametrize(
    "value", ["hunter2secret", ["hunter2secret"], "SASL_SSL hunter2secret", "sasl_ssl:hunter2secret"]
)
def test_no_key_of_a_cluster_shows_a_misplaced_secret(key, value):
    values = {"bootstrap_servers": ["broker1:9092"], key: value}
    lines = list(of_play(given(), inventory(cloud=HostCluster(tuple(values), values=values)), hosts=["cloud"]))
    assert "hunter2secret" not in str(lines)
    if key in ("security_protocol", "request_timeout", "ssl_check_hostname"):
        assert f"kafka_cluster.{key} is " in lines[0]
