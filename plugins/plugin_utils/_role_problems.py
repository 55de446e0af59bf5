# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is wrong with what a role was given, as far as no cluster has to be asked: a line for each problem."""

from __future__ import annotations

import json
import os
import posixpath
import re
import typing as t

from ansible.errors import AnsibleError

from ..module_utils._module.digests import is_digest
from ._given import Given, Inventory, converted
from ._inventory import beside_inventory
from ._problems import Lines, of_play

Looked = t.Mapping[str, t.Any]
_MOST_ROUNDS = 1000

# An assessment decides these itself, and lets group_migration make a plan.
_ASSESSED = ("backup", "destination", "directory", "phase", "return", "source")


def of_role(
    given: Given, inventory: Inventory, hosts: t.Collection[str], metrics: str, plan: str, looked: t.Iterable[Looked]
) -> Lines:
    """All of it.

    metrics, plan: their paths, empty for none. looked: what stat has found, for the directory of the metrics and the plan.
    """
    if lines := list(undefined(given)):  # whatever reads one of these values fails
        yield from lines
        return
    yield from of_play(given, inventory, hosts=hosts, places={f"{given.name}_directory": [given.get("directory")]})
    yield from nameless(given)
    yield from endless(given)
    stats = {result["__common_path"]: result["stat"] for result in looked}
    yield from missing_files(given, metrics, plan, stats)
    yield from idle_digest(given)
    yield from unreviewed(given, plan, stats)
    yield from everything_and_a_part(given)
    yield from replaced_backup(given)
    if given.name in _OF:
        yield from _OF[given.name](given)


def undefined(given: Given) -> Lines:
    """Values that this host does not have: the task that needs one may come after the write."""
    for name in given.options:
        try:
            given.variables.get(name)
        except AnsibleError as exc:
            yield f"{name} has no value: {str(exc).rstrip('.')}. Define what it is made of for this host."


def nameless(given: Given) -> Lines:
    """A role whose files have no directory, and a file without a name, as of a shell's variable that is not set."""
    if not given.get("directory"):
        name = f"{given.name}_directory"
        yield f"{name} is empty. Name the directory of this migration's files, or leave the variable out."
    if given.get("backup", "not given") in ("", None):
        yield f"{given.name}_backup is empty. Name the file, or leave the variable out."


def endless(given: Given) -> Lines:
    """Rounds without an end, without a beginning, or too many of them."""
    if _is_at_once(given):  # where no rounds are meant, nothing is to be given for them
        return
    every, during = int(given.number("interval")), int(given.number("run_for"))
    if (every == 0) != (during == 0) or (every and during // every >= _MOST_ROUNDS):
        yield (
            f"{given.name}_interval is {every} and {given.name}_run_for is {during}: give both of them, and {_MOST_ROUNDS} "
            "rounds at most. To sync for days, let cron or systemd start the playbook again and again."
        )


def _is_at_once(given: Given) -> bool:
    return given.name == "group_migration" and given.get("phase") in ("migrate", "return")


def missing_files(given: Given, metrics: str, plan: str, stats: t.Mapping[str, Looked]) -> Lines:
    """A place for metrics where no file can be written, or a plan that is not there. stats: what stat has found, by path."""
    folder = stats.get(posixpath.dirname(metrics), {})
    if metrics and not (folder.get("isdir") and folder.get("writeable") and re.match(r"/.*[.]prom$", metrics)):
        yield (
            f"{given.name}_metrics is {metrics}. Name an absolute path that ends in .prom, in a directory that is there and "
            "that this user may write to."
        )
    if plan and not stats[plan]["exists"]:
        yield (
            f"There is no plan file {plan}. Make it with {given.name}_phase=plan and look at it, or set "
            f"{given.name}_directory to where it is."
        )


def idle_digest(given: Given) -> Lines:
    """A digest of a plan that is none, or in a phase that commits what no plan of before can have said."""
    wanted, phase, name = given.get("plan_digest"), given.get("phase"), f"{given.name}_plan_digest"
    if wanted is None or phase in ("plan", "rollback") or (wanted == "" and phase != "apply"):
        return
    if not is_digest(str(wanted)):  # empty in the phase apply, it may be of a review that has failed
        yield f"{name} is {wanted or 'empty'}. Give the SHA-256 digest that the phase plan has printed, 64 hexadecimal digits."
    if phase in ("sync", "cut_over", "return"):
        yield (
            f"{name} is the digest of a reviewed plan, and the phase {phase} makes a new plan. Set {given.name}_phase to "
            "apply, or leave the digest out."
        )


def unreviewed(given: Given, plan: str, stats: t.Mapping[str, Looked]) -> Lines:
    """A plan that has another digest than the one that was reviewed."""
    wanted, name = given.get("plan_digest"), f"{given.name}_plan_digest"
    digest = stats.get(plan, {}).get("checksum")
    if plan and digest and is_digest(str(wanted)) and digest != str(wanted).strip().lower():
        yield (
            f"The plan file {plan} is not the one that was reviewed, because its SHA-256 digest is {digest}, and {name} is "
            f"{wanted}. Review the plan again, and set {name} to its digest."
        )


def everything_and_a_part(given: Given) -> Lines:
    """A rollback of all that the receipt holds, beside a selection of a part of it."""
    if given.get("phase") != "rollback" or not given.flag("rollback_all"):
        return
    parts = [f"{given.name}_{option}" for option in ("groups", "group_patterns") if given.get(option)]
    if parts:
        yield (
            f"{given.name}_rollback_all rolls back everything in the receipt, and {' and '.join(parts)} selects a part of it. "
            "Leave one of them out."
        )


def replaced_backup(given: Given) -> Lines:
    """A backup that is the file of the snapshot. The module sees it in no dry run, which writes a copy as `apply` does."""
    if given.get("phase") in ("rollback", "apply") or not (
        backup := beside_inventory(given.get("backup"), given.variables)
    ):
        return
    snapshot = os.path.join(beside_inventory(given.get("directory"), given.variables), "snapshot.json")
    if os.path.realpath(backup) == os.path.realpath(snapshot):
        yield (
            f"{given.name}_backup is {backup}, the file that the snapshot is written to, and the backup would lose the groups "
            f"and topics that are not selected. Copy the file, and set {given.name}_backup to the copy."
        )


def _group_migration(given: Given) -> Lines:
    phase, source, destination = given.get("phase"), given.get("source"), given.get("destination")
    has_policy = given.get("replication_policy") is not None
    # kafka_migration_info tells two names of one cluster by the cluster's id.
    if (
        phase != "rollback"
        and source == destination
        and not (given.get("group_map") or given.get("topic_map") or has_policy)
    ):
        yield (
            f"group_migration_source and group_migration_destination are both {source}, and without "
            "group_migration_group_map every group would stay as it is. Name two clusters, or new names for the groups."
        )
    if phase != "rollback" and has_policy and given.get("topic_map") and given.get("strategy") != "mirror_maker":
        yield (
            "group_migration_topic_map and group_migration_replication_policy both name the topics at the destination. Give "
            "one of them: only group_migration_strategy=mirror_maker needs a policy beside a topic_map."
        )
    if _is_at_once(given) and (given.number("interval") or given.number("run_for")):
        yield (
            f"group_migration_interval and group_migration_run_for are for rounds, and the phase {phase} commits at once. Set "
            "group_migration_phase to sync, or leave them out."
        )
    # The receipt of a return knows its groups by their names at the cluster that they have left.
    if phase == "rollback" and given.flag("return"):
        home = posixpath.join(beside_inventory(given.get("directory"), given.variables), "return")
        yield (
            "group_migration_phase is rollback, and group_migration_return is true, which the playbook return_groups sets. To "
            "roll the return back, run the playbook streamshift.kafka.rollback with "
            f"-e group_migration_source={destination} -e group_migration_destination={source} "
            f"-e group_migration_directory={home} and group_migration_groups as they are called on {destination}. To roll the "
            "migration back, run it with the variables of the migration."
        )
    for option in ("on_blocked", "on_active_group", "on_active_source") if phase == "cut_over" else ():
        if given.get(option) != "fail":
            yield (
                f"group_migration_{option} is {given.get(option)}. In the phase cut_over, group_migration_on_not_ready takes "
                "its place: leave it out, and set that to fail or to skip_group."
            )
    returns = phase == "return" or given.flag("return")
    if given.get("backup") is not None and returns and phase != "rollback":
        yield (
            "group_migration_backup is what groups had committed once, and a return is about what they commit now. Leave the "
            "backup out."
        )
    elif given.get("backup") is not None and phase in ("sync", "cut_over"):
        yield (
            f"group_migration_backup is what groups had committed once, and the phase {phase} is about what they commit now. "
            "Set group_migration_phase to plan, apply or migrate, or leave the backup out."
        )


def _group_clone(given: Given) -> Lines:
    removes, is_restored = given.flag("remove_source_groups"), given.get("backup") is not None
    # An old group is removed only if the new one has got its offsets, and a dry run cannot see whether these leave it out.
    for option in ("on_active_group", "on_rewind", "on_advance") if removes else ():
        if given.get("phase") in ("clone", "apply") and given.get(option) in ("skip_group", "keep"):
            yield (
                f"group_clone_{option} is {given.get(option)}, and may leave a new group without the offsets of an old one "
                f"that group_clone_remove_source_groups removes. Set group_clone_{option} to another value, or keep the old "
                "groups."
            )
    if removes and is_restored:
        yield (
            "group_clone_backup gives groups back what they had committed, and group_clone_remove_source_groups would remove "
            "groups. Leave one of them out."
        )
    if given.get("phase") != "rollback" and not is_restored and not given.get("group_map"):
        groups = converted({"type": "list"}, given.get("groups"))
        name = next(iter(groups or ()), "billing")
        yield (
            "group_clone_group_map is empty, so every group would keep its name. Give each selected group another name, such "
            f"as {{name: {name}, to: {name}-v2}}."
        )


def _group_reset(given: Given) -> Lines:
    if given.get("phase") in ("plan", "reset") and not given.get("resets"):
        example = json.dumps({"group_reset_resets": [{"to": "earliest"}]})
        yield f"group_reset_resets is not set. Say where the groups go, such as -e '{example}'."


def _mirror_maker_group_sync(given: Given) -> Lines:
    if given.get("phase") != "rollback":
        yield from _no_policy(given)
    if given.get("source") == given.get("destination"):
        yield (
            "mirror_maker_group_sync_source and mirror_maker_group_sync_destination are both "
            f"{given.get('source')}. Name the two clusters that MirrorMaker 2 copies between."
        )
    if given.get("phase") == "cut_over" and given.flag("source_lost"):
        yield "mirror_maker_group_sync_source_lost is set, and a cut-over reads the source. Leave out one of them."


def _no_policy(given: Given) -> Lines:
    # Not "required" in the specification of a role, because Ansible would print all of that.
    policy = given.get("replication_policy")
    if isinstance(policy, dict) and policy and not policy.get("source_alias"):
        yield f"{given.name}_replication_policy has no source_alias. Give it."
    if not policy:
        example = json.dumps({f"{given.name}_replication_policy": {"source_alias": "onprem", "target_alias": "cloud"}})
        yield (
            f"{given.name}_replication_policy is not set. Give what the configuration of MirrorMaker 2 calls the clusters, "
            f"such as -e '{example}'."
        )


def _migration_assessment(given: Given) -> Lines:
    if decided := [name for name in _ASSESSED if given.variables.get(f"group_migration_{name}", "") != ""]:
        yield (
            "The assessment itself decides what it plans, and writes to no cluster. Leave out "
            f"{', '.join(f'group_migration_{name}' for name in decided)}."
        )
    if given.flag("plan") and not given.get("destination"):
        yield "migration_assessment_plan needs a destination. Set migration_assessment_destination, or leave the plan out."


# What only one role has to say.
_OF: dict[str, t.Callable[[Given], Lines]] = {
    "group_clone": _group_clone,
    "group_migration": _group_migration,
    "group_reset": _group_reset,
    "migration_assessment": _migration_assessment,
    "mirror_maker_group_sync": _mirror_maker_group_sync,
    "replicator_handover": _no_policy,
}
