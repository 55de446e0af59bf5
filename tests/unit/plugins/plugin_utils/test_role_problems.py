"""What roles refuse before any cluster is asked: variables that cannot be meant, or not together."""

import pytest

from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import (
    Given,
    HostCluster,
    Inventory,
    role_options,
)
from ansible_collections.streamshift.kafka.plugins.plugin_utils._role_problems import of_role

INVENTORY = Inventory({"all": ["onprem", "cloud"]}, lambda _host: HostCluster(), lambda _host, _name: None)
NEEDED = {
    "group_clone": {"group_map": [{"name": "billing", "to": "billing-v2"}]},
    "mirror_maker_group_sync": {"replication_policy": {"source_alias": "onprem"}},
    "replicator_handover": {"replication_policy": {"source_alias": "onprem"}},
}


def problems(role="group_migration", *, others=(), metrics_at="", plan_at="", looked=(), **variables):
    """variables: without the role's name, besides the defaults and what the role needs. others: of other roles."""
    declared = role_options(role)
    its = {name: option["default"] for name, option in declared.items() if "default" in option}
    chosen = {"source": "onprem", "destination": "cloud", "directory": "/srv/here", **NEEDED.get(role, {}), **variables}
    its |= {
        f"{role}_{name}": value for name, value in chosen.items() if name in variables or f"{role}_{name}" in declared
    }
    around = {"inventory_hostname": "cloud", "inventory_dir": "/srv", **dict(others)}
    hosts = ["onprem", "cloud"]
    return list(
        of_role(Given(role, "role", declared, {**around, **its}), INVENTORY, hosts, metrics_at, plan_at, looked)
    )


ROLES = [
    "backlog_migration",
    "group_clone",
    "group_migration",
    "group_reset",
    "migration_assessment",
    "mirror_maker_group_sync",
    "replicator_handover",
    "topic_fence",
    "topic_promotion",
]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_refuses_nothing_of_its_defaults(role):
    assert problems(role) == []


@pytest.mark.parametrize("role", ROLES)
def test_a_directory_without_a_name_is_no_directory(role):
    assert problems(role, directory="") == [
        f"{role}_directory is empty. Name the directory of this migration's files, or leave the variable out."
    ]


def test_a_relative_directory_is_refused_where_the_inventory_does_not_last():
    (line,) = problems(directory="files", others={"awx_job_id": 7}.items())
    assert line.startswith(
        "group_migration_directory is files, a path beside the inventory, which a controller makes anew"
    )


def test_all_that_is_wrong_is_told_at_once():
    lines = problems(
        directory="", search_limit=-1, interval=5, metrics_at="x", source="x", destination="x", on_rewnd="fail"
    )
    about = ("on_rewnd", "search_limit", "directory", "interval", "metrics", "source", "interval")
    assert len(lines) == len(about)
    assert all(line.startswith(f"group_migration_{name} ") for name, line in zip(about, lines, strict=True))


@pytest.mark.parametrize(
    ("role", "limit", "value", "line"),
    [
        *(("group_migration", f"{each}_limit", -1, "is -1. Give 0 or more.") for each in ("verify", "search", "spark")),
        ("group_migration", "idle_wait", "-0.5", "is -0.5. Give 0 or more."),
        ("backlog_migration", "idle_wait", -1, "is -1. Give 0 or more."),
        *((role, "keep_history", -1, "is -1. Give 0 or more.") for role in ROLES if "assessment" not in role),
        *(
            ("backlog_migration", "max_bytes_per_second", none, "is 0. Give more than 0, or leave it out for no limit.")
            for none in (0, "0")
        ),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused(role, limit, value, line):
    assert problems(role, **{limit: value}) == [f"{role}_{limit} {line}"]


@pytest.mark.parametrize("limit", [1, "1000", None])
def test_a_limit_that_can_be_meant_is_none_to_refuse(limit):
    assert problems("backlog_migration", max_bytes_per_second=limit) == []


@pytest.mark.parametrize(
    ("interval", "run_for", "is_refused"),
    [
        (0, 0, False),
        (60, 600, False),
        ("60", "59999", False),
        (60, 0, True),
        (0, 60, True),
        (1, 1000, True),
        (1, 999, False),
    ],
)
def test_rounds_have_an_end(interval, run_for, is_refused):
    lines = problems("mirror_maker_group_sync", interval=interval, run_for=run_for)
    said = (
        f"mirror_maker_group_sync_interval is {interval} and mirror_maker_group_sync_run_for is {run_for}: give both of them, "
        "and 1000 rounds at most. To sync for days, let cron or systemd start the playbook again and again."
    )
    assert lines == ([said] if is_refused else [])


def looked(path, **stat):
    return {"item": path, "stat": {"exists": True, "isdir": True, "writeable": True, **stat}}


@pytest.mark.parametrize(
    ("metrics", "results", "is_refused"),
    [
        ("/srv/kafka.prom", [looked("/srv")], False),
        ("/kafka.prom", [looked("/")], False),
        ("/srv/kafka.txt", [looked("/srv")], True),
        ("kafka.prom", [], True),
        ("srv/kafka.prom", [looked("srv")], True),
        ("/srv/kafka.prom", [looked("/srv", isdir=False)], True),
        ("/srv/kafka.prom", [looked("/srv", writeable=False)], True),
        ("/srv/kafka.prom", [{"item": "/srv", "stat": {"exists": False}}], True),
    ],
)
def test_metrics_need_a_directory(metrics, results, is_refused):
    lines = problems(metrics_at=metrics, looked=[looked("/srv/plan.json", isdir=False), *results])
    said = (
        f"group_migration_metrics is {metrics}. Name an absolute path that ends in .prom, in a directory that is there and "
        "that this user may write to."
    )
    assert lines == ([said] if is_refused else [])


def test_a_plan_that_is_applied_has_to_be_there():
    plan = "/srv/here/plan.json"
    assert problems(plan_at=plan, looked=[looked(plan, isdir=False)]) == []
    assert problems(plan_at=plan, looked=[looked(plan, exists=False)]) == [
        (
            f"There is no plan file {plan}. Make it with group_migration_phase=plan and look at it, or set "
            "group_migration_directory to where it is."
        )
    ]


POLICY = {"source_alias": "onprem"}
RENAMED = [{"name": "orders", "to": "sales"}]


@pytest.mark.parametrize(
    "more",
    [
        {"destination": "cloud"},
        {"group_map": RENAMED},
        {"topic_map": RENAMED},
        {"replication_policy": POLICY},
        {"phase": "rollback"},
    ],
)
def test_one_cluster_for_both_needs_new_names(more):
    (line,) = problems(source="onprem", destination="onprem")
    assert line == (
        "group_migration_source and group_migration_destination are both onprem, and without group_migration_group_map every "
        "group would stay as it is. Name two clusters, or new names for the groups."
    )
    assert problems(**{"source": "onprem", "destination": "onprem", **more}) == []


@pytest.mark.parametrize("more", [{"strategy": "mirror_maker"}, {"phase": "rollback"}, {"topic_map": []}])
def test_a_topic_map_beside_a_policy_is_for_mirror_maker_alone(more):
    both = {"topic_map": RENAMED, "replication_policy": POLICY}
    (line,) = problems(**both)
    assert line.startswith(
        "group_migration_topic_map and group_migration_replication_policy both name the topics at the"
    )
    assert problems(**{**both, **more}) == []


@pytest.mark.parametrize(
    ("phase", "is_refused"), [("migrate", True), ("return", True), ("sync", False), ("plan", False)]
)
def test_a_command_for_rounds_without_its_phase_is_refused(phase, is_refused):
    lines = problems(phase=phase, interval="60", run_for="600")
    said = (
        f"group_migration_interval and group_migration_run_for are for rounds, and the phase {phase} commits at once. Set "
        "group_migration_phase to sync, or leave them out."
    )
    assert lines == ([said] if is_refused else [])
    assert problems(phase=phase, interval="0", run_for=0) == []


@pytest.mark.parametrize(("directory", "home"), [("files", "/srv/files/return"), ("/mnt/files", "/mnt/files/return")])
def test_a_return_is_rolled_back_by_the_playbook_for_that(directory, home):
    (line,) = problems(phase="rollback", directory=directory, **{"return": "true"})
    assert (
        "run the playbook streamshift.kafka.rollback with -e group_migration_source=cloud -e group_migration_dest"
        in line
    )
    assert f"-e group_migration_directory={home} and group_migration_groups as they are called on cloud." in line
    assert problems(phase="rollback", directory=directory, **{"return": "false"}) == []
    assert problems(phase="return", directory=directory, **{"return": True}) == []


@pytest.mark.parametrize("option", ["on_blocked", "on_active_group", "on_active_source"])
def test_a_cut_over_has_one_variable_for_what_is_not_ready(option):
    assert problems(phase="cut_over", **{option: "skip_group"}) == [
        (
            f"group_migration_{option} is skip_group. In the phase cut_over, group_migration_on_not_ready takes its place: "
            "leave it out, and set that to fail or to skip_group."
        )
    ]
    assert problems(phase="migrate", **{option: "skip_group"}) == []


@pytest.mark.parametrize(
    ("phase", "is_refused"), [("sync", True), ("cut_over", True), ("return", True), ("apply", False)]
)
def test_a_backup_is_of_one_time(phase, is_refused):
    lines = problems(phase=phase, backup="x.json")
    said = (
        f"group_migration_backup is what groups had committed once, and the phase {phase} is about what they commit now. Set "
        "group_migration_phase to plan, apply or migrate, or leave the backup out."
    )
    assert lines == ([said] if is_refused else [])


@pytest.mark.parametrize(
    ("option", "value"), [("on_active_group", "skip_group"), ("on_rewind", "keep"), ("on_advance", "keep")]
)
@pytest.mark.parametrize(
    ("phase", "is_refused"), [("clone", True), ("apply", True), ("plan", False), ("rollback", False)]
)
def test_an_old_group_is_not_removed_where_its_new_one_may_be_left_out(option, value, phase, is_refused):
    lines = problems("group_clone", phase=phase, remove_source_groups=True, **{option: value})
    said = (
        f"group_clone_{option} is {value}, and may leave a new group without the offsets of an old one that "
        f"group_clone_remove_source_groups removes. Set group_clone_{option} to another value, or keep the old groups."
    )
    assert lines == ([said] if is_refused else [])
    assert problems("group_clone", phase=phase, remove_source_groups=False, **{option: value}) == []


def test_a_backup_removes_no_groups():
    assert problems("group_clone", backup="x.json", remove_source_groups="yes", group_map=[]) == [
        (
            "group_clone_backup gives groups back what they had committed, and group_clone_remove_source_groups would remove "
            "groups. Leave one of them out."
        )
    ]


@pytest.mark.parametrize(("groups", "name"), [([], "billing"), (["shop", "billing"], "shop")])
def test_a_clone_needs_new_names(groups, name):
    assert problems("group_clone", group_map=[], groups=groups) == [
        (
            "group_clone_group_map is empty, so every group would keep its name. Give each selected group another name, such "
            f"as {{name: {name}, to: {name}-v2}}."
        )
    ]
    assert problems("group_clone", group_map=[], groups=groups, phase="rollback") == []
    assert problems("group_clone", group_map=[], groups=groups, backup="x.json") == []


@pytest.mark.parametrize(
    ("role", "phase", "is_refused"),
    [
        ("mirror_maker_group_sync", "sync", True),
        ("mirror_maker_group_sync", "cut_over", True),
        ("mirror_maker_group_sync", "rollback", False),
        ("replicator_handover", "handover", True),
        ("replicator_handover", "rollback", True),
    ],
)
def test_a_missing_policy_is_told_with_an_example(role, phase, is_refused):
    lines = problems(role, phase=phase, replication_policy=None)
    said = (
        f"{role}_replication_policy is not set. Give what the configuration of MirrorMaker 2 calls the clusters, such as "
        f'-e \'{{"{role}_replication_policy": {{"source_alias": "onprem", "target_alias": "cloud"}}}}\'.'
    )
    assert lines == ([said] if is_refused else [])


def test_a_sync_needs_two_clusters():
    assert problems("mirror_maker_group_sync", source="cloud") == [
        (
            "mirror_maker_group_sync_source and mirror_maker_group_sync_destination are both cloud. Name the two clusters that "
            "MirrorMaker 2 copies between."
        )
    ]


def test_a_cut_over_reads_the_source():
    assert problems("mirror_maker_group_sync", phase="cut_over", source_lost="true") == [
        "mirror_maker_group_sync_source_lost is set, and a cut-over reads the source. Leave out one of them."
    ]
    assert problems("mirror_maker_group_sync", phase="sync", source_lost=True) == []
    assert problems("mirror_maker_group_sync", phase="cut_over", source_lost=False) == []


def test_an_assessment_decides_itself_what_it_plans():
    others = {"group_migration_phase": "apply", "group_migration_return": False, "group_migration_source": ""}
    assert problems("migration_assessment", others=others.items()) == [
        (
            "The assessment itself decides what it plans, and writes to no cluster. Leave out group_migration_phase, "
            "group_migration_return."
        )
    ]


def test_an_assessment_plans_for_a_destination():
    assert problems("migration_assessment", plan=True) == []
    assert problems("migration_assessment", plan=False, destination="") == []
    assert problems("migration_assessment", plan="true", destination=None) == [
        "migration_assessment_plan needs a destination. Set migration_assessment_destination, or leave the plan out."
    ]
