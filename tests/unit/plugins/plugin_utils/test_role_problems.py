"""What roles refuse before any cluster is asked: variables that cannot be meant, or not together."""

from pathlib import Path

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import (
    Given,
    HostCluster,
    Inventory,
    role_options,
)
from ansible_collections.streamshift.kafka.plugins.plugin_utils._problems import not_taken
from ansible_collections.streamshift.kafka.plugins.plugin_utils._role_problems import of_role

INVENTORY = Inventory({"all": ["onprem", "cloud"]}, lambda _host: HostCluster(), lambda _host, _name: None)
POLICY = {"source_alias": "onprem"}
RENAMED = [{"name": "orders", "to": "sales"}]
NEEDED = {
    "group_clone": {"group_map": RENAMED},
    "group_reset": {"resets": [{"to": "earliest"}]},
    "mirror_maker_group_sync": {"replication_policy": POLICY},
    "replicator_handover": {"replication_policy": POLICY},
}


def problems(role="group_migration", *, others=None, metrics_at="", plan_at="", looked=(), **variables):
    """variables: without the role's name, besides the defaults and what the role needs. others: of other roles."""
    declared = role_options(role)
    its = {name: option["default"] for name, option in declared.items() if "default" in option}
    chosen = {"source": "onprem", "destination": "cloud", "directory": "/srv/here", **NEEDED.get(role, {}), **variables}
    its |= {
        f"{role}_{name}": value for name, value in chosen.items() if name in variables or f"{role}_{name}" in declared
    }
    around = {"inventory_hostname": "cloud", "inventory_dir": "/srv", **(others or {})}
    hosts = ["onprem", "cloud"]
    return list(
        of_role(Given(role, "role", declared, {**around, **its}), INVENTORY, hosts, metrics_at, plan_at, looked)
    )


DIRECTORY = Path(__file__).parents[4] / "roles"
ROLES = sorted(path.parents[1].name for path in DIRECTORY.glob("*/meta/argument_specs.yml"))
ROLES.remove("kafka_sandbox")  # it moves nothing


@pytest.mark.parametrize("role", ROLES)
def test_a_role_refuses_nothing_of_its_defaults(role):
    assert problems(role) == []


WRONG = ["", "x", "1.5", "a b", -1, 1.5, True, [], ["x"], [None], [1], [["x"]], [{}], [{"name": "a"}], {}, {"x": 1}]


def refused(option, value):
    """Does Ansible refuse it for a role? It is confused by an entry that is no dictionary."""
    validator = ArgumentSpecValidator({"it": option})
    try:
        return bool(validator.validate({"it": value}, validate_role_argument_spec=True).error_messages)
    except TypeError:
        return True


@pytest.mark.parametrize("role", ROLES)
def test_whatever_ansible_refuses_for_its_type_or_choices_is_refused(role):
    missed = [
        (name, value)
        for name, option in role_options(role).items()
        for value in WRONG
        if refused(option, value)
        and not [*not_taken(Given(role, "role", {name: option}, {name: value}), {name: option})]
    ]
    assert missed == []


MIGRATION, CLONE, SYNC = "group_migration", "group_clone", "mirror_maker_group_sync"


def having(name):
    """The roles with such a variable."""
    return [role for role in ROLES if f"{role}_{name}" in role_options(role)]


def phase(role):
    return {"phase": role_options(role)[f"{role}_phase"]["default"]}


@pytest.mark.parametrize(
    ("role", "given", "right", "said"),
    [
        *((role, {"directory": ""}, [{"directory": "x"}], "directory is empty. Name the directory of") for role in ROLES),
        *(
            (role, {"backup": none}, [{"backup": "x"}], "backup is empty. Name the file, or leave the variable out.")
            for role in (MIGRATION, CLONE) for none in ("", None)
        ),
        *(
            (
                role, {"backup": path, "directory": "moved"},
                [{"backup": "moved/copy.json"}, {"directory": "x"}, {"phase": "rollback"}],
                "backup is /srv/moved/snapshot.json, the file that the snapshot is written to, and the backup would lose",
            )
            for role in (MIGRATION, CLONE) for path in ("moved/snapshot.json", "/srv/moved/snapshot.json")
        ),
        *(
            (role, {"keep_history": -1}, [{"keep_history": 0}], "keep_history is -1. Give 0 or more.")
            for role in having("keep_history")
        ),
        *(
            (
                role, {"plan_digest": wrong, "phase": "apply"},
                [{"plan_digest": "0F" * 32}, {"phase": "plan"}, {"phase": "rollback"}, {"plan_digest": "", **phase(role)}],
                f"plan_digest is {wrong}. Give the SHA-256 digest that the phase plan has printed, 64 hex",
            )
            for role in having("plan_digest") for wrong in ("0" * 63, "g" * 64)
        ),
        (
            MIGRATION, {"plan_digest": "0" * 64, "phase": "sync"},
            [{"phase": phase} for phase in ("apply", "plan", "migrate")],
            "plan_digest is the digest of a reviewed plan, and the phase sync makes a new plan. Set group_migration_phase",
        ),
        *(
            (
                role, {"phase": "rollback", "rollback_all": all_of_it, part: ["billing"]},
                [{"rollback_all": False}, phase(role), {part: []}],
                f"rollback_all rolls back everything in the receipt, and {role}_{part} selects a part of it. Leave one",
            )
            for role in having("rollback_all") for part in ("groups", "group_patterns") for all_of_it in (True, "yes")
        ),
        (MIGRATION, {"idle_wait": "-0.5"}, [{"idle_wait": "0.5"}], "idle_wait is -0.5. Give 0 or more."),
        *((MIGRATION, {name: -1}, [{name: 0}], f"{name} is -1. Give 0 ") for name in ("verify_limit", "search_limit")),
        (
            "backlog_migration", {"max_bytes_per_second": "0"}, [{"max_bytes_per_second": limit} for limit in (1, "1", None)],
            "max_bytes_per_second is 0. Give more than 0, or leave it out for no limit.",
        ),
        *(
            (
                role, {"interval": interval, "run_for": run_for},
                [{"interval": "60", "run_for": "59999"}, {"interval": 0, "run_for": 0}, {"interval": 1, "run_for": 999}],
                f"interval is {interval} and {role}_run_for is {run_for}: give both of them, and 1000 rounds at most.",
            )
            for role in (SYNC, "topic_promotion") for interval, run_for in ((60, 0), (0, 60), (1, 1000))
        ),
        (  # one cluster for both needs new names
            MIGRATION, {"source": "cloud"},
            [{"source": "onprem"}, {"group_map": RENAMED}, {"topic_map": RENAMED}, {"replication_policy": POLICY},
             {"phase": "rollback"}],
            "source and group_migration_destination are both cloud, and without group_migration_group_map every group would",
        ),
        (
            MIGRATION, {"topic_map": RENAMED, "replication_policy": POLICY},
            [{"strategy": "mirror_maker"}, {"phase": "rollback"}, {"topic_map": []}, {"replication_policy": None}],
            "topic_map and group_migration_replication_policy both name the topics at the destination. Give one of them: only",
        ),
        *(
            (
                MIGRATION, {"phase": phase, "interval": "60", "run_for": "600"},
                [{"phase": "sync"}, {"phase": "plan"}, {"interval": "0", "run_for": 0}],
                f"interval and group_migration_run_for are for rounds, and the phase {phase} commits at once. Set",
            )
            for phase in ("migrate", "return")
        ),
        *(
            (
                MIGRATION, {"phase": "cut_over", option: "skip_group"}, [{option: "fail"}, {"phase": "migrate"}],
                f"{option} is skip_group. In the phase cut_over, group_migration_on_not_ready takes its place: leave it out,",
            )
            for option in ("on_blocked", "on_active_group", "on_active_source")
        ),
        *(
            (
                MIGRATION, {"phase": phase, "backup": "x.json"}, [{"phase": "plan"}, {"phase": "apply"}, {"phase": "migrate"}],
                f"backup is what groups had committed once, and the phase {phase} is about what they commit now. Set",
            )
            for phase in ("sync", "cut_over")
        ),
        *(
            (
                MIGRATION, {**its, "backup": "x.json"}, [{"phase": "migrate", "return": False}],
                "backup is what groups had committed once, and a return is about what they commit now. Leave the backup out.",
            )
            for its in ({"phase": "return"}, *({"phase": phase, "return": "true"} for phase in ("migrate", "plan", "apply")))
        ),
        *(  # an old group is not removed where its new one may be left out
            (
                CLONE, {"phase": phase, "remove_source_groups": True, option: value},
                [{"phase": "plan"}, {"phase": "rollback"}, {"remove_source_groups": "no"}, {option: "fail"}],
                f"{option} is {value}, and may leave a new group without the offsets of an old one that",
            )
            for phase in ("clone", "apply")
            for option, value in (("on_active_group", "skip_group"), ("on_rewind", "keep"), ("on_advance", "keep"))
        ),
        (
            CLONE, {"backup": "x.json", "remove_source_groups": "yes", "group_map": []}, [{"remove_source_groups": "no"}],
            "backup gives groups back what they had committed, and group_clone_remove_source_groups would remove groups. Leave",
        ),
        *(
            (
                CLONE, {"group_map": [], "groups": groups},
                [{"group_map": RENAMED}, {"phase": "rollback"}, {"backup": "x.json"}],
                (
                    "group_map is empty, so every group would keep its name. Give each selected group another name, such as "
                    f"{{name: {name}, to: {name}-v2}}."
                ),
            )
            for groups, name in (([], "billing"), (["shop", "billing"], "shop"), ("shop,billing", "shop"))
        ),
        *(
            (
                role, {"phase": phase, "replication_policy": None}, right,
                (
                    "replication_policy is not set. Give what the configuration of MirrorMaker 2 calls the clusters, such as "
                    f'-e \'{{"{role}_replication_policy": {{"source_alias": "onprem", "target_alias": "cloud"}}}}\'.'
                ),
            )
            for role, phase, right in (
                (SYNC, "sync", [{"replication_policy": POLICY}, {"phase": "rollback"}]),
                ("replicator_handover", "rollback", [{"replication_policy": POLICY}]),
            )
        ),
        *(
            (
                role, {"replication_policy": {"name": "identity"}}, [{"replication_policy": POLICY}],
                "replication_policy has no source_alias. Give it.",
            )
            for role in (SYNC, "replicator_handover")
        ),
        (
            SYNC, {"source": "cloud"}, [{"source": "onprem"}],
            "source and mirror_maker_group_sync_destination are both cloud. Name the",
        ),
        (
            SYNC, {"phase": "cut_over", "source_lost": "true"}, [{"phase": "sync"}, {"source_lost": "false"}],
            "source_lost is set, and a cut-over reads the source. Leave out one of them.",
        ),
        (
            "migration_assessment", {"plan": "true", "destination": None}, [{"plan": False}, {"destination": "cloud"}],
            "plan needs a destination. Set migration_assessment_destination, or leave the plan out.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_and_nothing_else(role, given, right, said):
    (line,) = problems(role, **given)
    assert line.startswith(f"{role}_{said}")
    assert [problems(role, **{**given, **more}) for more in right] == [[]] * len(right)


def test_all_that_is_wrong_is_told_at_once():
    wrong = {"directory": "", "search_limit": -1, "match_on": [], "interval": 5, "source": "x", "on_rewnd": "fail"}
    lines = problems(**wrong, destination="x", metrics_at="x")
    assert len(lines) == len(wrong) + 1
    assert {line.split()[0] for line in lines} == {f"group_migration_{name}" for name in (*wrong, "metrics")}


def test_a_relative_directory_is_refused_where_the_inventory_does_not_last():
    (line,) = problems(directory="files", others={"awx_job_id": 7})
    assert line.startswith(
        "group_migration_directory is files, a path beside the inventory, which a controller makes anew"
    )


def looked(path, **stat):
    return {"__common_path": path, "stat": {"exists": True, "isdir": True, "writeable": True, **stat}}


PLAN_FILE = "/srv/here/plan.json"


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
        ("/srv/kafka.prom", [{"__common_path": "/srv", "stat": {"exists": False}}], True),
    ],
)
def test_metrics_need_a_directory(metrics, results, is_refused):
    lines = problems(metrics_at=metrics, looked=[looked(PLAN_FILE, isdir=False), *results])
    said = f"group_migration_metrics is {metrics}. Name an absolute path that ends in .prom, in a directory that is there and"
    assert [line.startswith(said) for line in lines] == [True] * is_refused


@pytest.mark.parametrize(
    ("stat", "wanted", "said"),
    [
        ({}, None, None),
        (
            {"exists": False},
            None,
            "There is no plan file {}. Make it with group_migration_phase=plan and look at it, or set",
        ),
        ({"checksum": "0f" * 32}, "0f" * 32, None),
        ({"checksum": "0f" * 32}, "0F" * 32, None),
        ({"checksum": "0f" * 32}, "1" * 64, "The plan file {} is not the one that was reviewed"),
    ],
)
def test_a_plan_that_is_applied_has_to_be_there_and_the_one_that_was_reviewed(stat, wanted, said):
    its = {"plan_digest": wanted} if wanted else {}
    lines = problems(plan_at=PLAN_FILE, looked=[looked(PLAN_FILE, **{"isdir": False} | stat)], phase="apply", **its)
    assert [line.startswith(str(said).format(PLAN_FILE)) for line in lines] == [True] * (said is not None)


@pytest.mark.parametrize(("directory", "home"), [("files", "/srv/files/return"), ("/mnt/files", "/mnt/files/return")])
def test_a_return_is_rolled_back_by_the_playbook_for_that(directory, home):
    (line,) = problems(phase="rollback", directory=directory, **{"return": "true"})
    for said in (
        "group_migration_phase is rollback, and group_migration_return is true, which the playbook return_groups sets",
        "run the playbook streamshift.kafka.rollback with -e group_migration_source=cloud -e group_migration_dest",
        f"-e group_migration_directory={home} and group_migration_groups as they are called on cloud.",
    ):
        assert said in line
    assert problems(phase="rollback", directory=directory, **{"return": "false"}) == []
    assert problems(phase="return", directory=directory, **{"return": True}) == []


def test_an_assessment_decides_itself_what_it_plans():
    others = {"group_migration_phase": "apply", "group_migration_return": False, "group_migration_source": ""}
    (line,) = problems("migration_assessment", others=others)
    assert line.endswith(" and writes to no cluster. Leave out group_migration_phase, group_migration_return.")


@pytest.mark.parametrize(
    ("phase", "more"), [("plan", {}), ("reset", {}), ("apply", {"plan_digest": "a" * 64}), ("rollback", {})]
)
def test_a_reset_is_told_that_it_has_none_before_a_cluster_is_asked(phase, more):
    lines = problems("group_reset", phase=phase, resets=[], **more)
    said = "group_reset_resets is not set. Say where the groups go, such as -e '{"
    assert [line[: len(said)] for line in lines] == ([said] if phase in ("plan", "reset") else [])
