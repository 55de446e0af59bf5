"""Every option that a message may name is a variable of each role that may show the message.

The code says which options the messages of a module name, so that no remedy has to be listed here, but for those that a role
never comes to.
"""

import itertools
import re
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import role_options
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import IN_PHASE, option_names
from tests.support.named_options import named_options, named_values

ROLES = Path(__file__).parents[3] / "roles"
MOVING = sorted(
    path.parent.name for path in ROLES.glob("*/tasks") if path.parent.name not in ("common", "kafka_sandbox")
)

# Who lacks the option never comes here, because ...
NEVER_SHOWN = {
    "its tasks do not set the option that the message is about": """
        _migration._planning.identical.identical _migration._planning.resets._check_rules
        _migration._planning.checkpoints._notes _migration._planning.checkpoints._selected
        _migration._planning.checkpoints.plan_from_checkpoints
        _migration._planning.mirror_index._without_syncs
        _migration._planning.mirror_index.without_checkpoints
        _migration._promotion.access._for_principal _migration._promotion.access._of_topics
        _migration._promotion.access._carried _migration._promotion.lockout._first_acls
        _migration._promotion.lockout.check_lockout
        _migration._promotion.settings.check_overrides
        _migration.one_cluster.check_rules_fit
        _migration.take_snapshot._in_use _model.mapping.Mapping.idle_group_rules _model.mapping.Mapping.source_topics
        _model.mapping._first _model.mapping.prefixes_from
        _model.offset_formats.from_text _model.offset_formats.read_snapshot _model.promotion.PromotionOptions.check
        kafka_group_offsets._backup kafka_group_offsets._check_backup_stays
        _model.promotion.replication_factor_from _model.reset_rules.reset_rules_from
        _module.digests.check_digest _module.options.check_named_once _module.options.match_on
        _module.options.replication_policy _module.promoting._unused_fence
        _module.status_files.check_status_paths _module.plan_making._faults
        _module.reset_making.faults_of_reset
        _module.plan_making._faults_without_source _module.plan_making._snapshot _module.plan_making._from_records
        _model.promotion.PromotionOptions._contradictions
        _model.promotion.PromotionOptions._faults_of_principals""",
    "its tasks choose another value than the one that refuses": """
        _migration._committing.write_watch.WriteWatch.before
        _migration._promotion.topic_decisions._grows _migration._promotion.topic_decisions._missing
        _module._report.migration_files._other""",
    "it promotes no topics, and clones no topics": """
        _migration._promotion.naming._check_collisions _migration._promotion.naming._name
        _migration._promotion.naming.check_topic_names""",
    "it fences no topics": """
        _migration._promotion.fence.FenceOptions.check _migration._promotion.fence._note""",
    "it makes no support bundle and assesses no cluster, or does nothing else": """
        _migration._committing.returning._topics _migration.selected_groups.select_topics_of
        _migration.selected_groups.check_topics_exist
        _module.run_end.end_run _module.support_bundle.write_bundle""",
    "it looks at no waves, nor at several directories": """
        _model.waves._refused _model.waves._wave _module.status_results._check_existing _module.status_results._directory
        _module.status_results._check_output
        _module.migration_directory.read_directory""",
    "it removes no old groups": """
        _control.permissions.removal_obstacles _migration._committing.group_removal._beside_new_groups
        _migration._committing.removable.check_covered _migration._committing.removable.kept_groups
        _migration._committing.rollback_checks._without_old""",
    "the message leaves out what the role lacks": """
        _module.files.named_after""",
    "it starts no Spark": """
        _migration.preflight.lacking_for_verification _model.spark._checked _model.spark._of_places
        _spark.spark_library.check_cluster_manager _spark.failures.known_failure _spark.java._places
        _spark.java.find_java _spark.session._embedded _spark.session._unreachable _spark.session.obstacle
        _spark.shipping.check_archives _spark.surroundings._unfit _spark.workers.cores""",
    "it returns no groups": "_migration.preflight.never_joined",
    "it makes missing topics itself, or has one cluster": "_migration.preflight._with_prefix",
    "it copies no records, or its verification does not": """
        _migration._backlog.preconditions._lost_at_source _model.copy_progress.begin_anew""",
}
UNREACHED = {place for places in NEVER_SHOWN.values() for place in places.split()}


def modules_of(role: str) -> set[str]:
    """The modules that the tasks of a role use, and those of the role common that it includes."""
    texts = [path.read_text() for path in (ROLES / role / "tasks").glob("*.yml")]
    todo = {
        name for text in texts for line in re.findall("tasks_from: (.*)", text) for name in re.findall(r"\w+", line)
    }
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        path = ROLES / f"common/tasks/{name}.yml"
        if path.exists() and name not in seen:
            seen.add(name)
            texts.append(path.read_text())
            todo.update(re.findall(r'(?:include|import)_tasks: "?(\w+)\.yml', texts[-1]))
    return {module for text in texts for module in re.findall(r"streamshift\.kafka\.(kafka_\w+):", text)}


def phases_of(role: str) -> list[str | None]:
    return [None, *(IN_PHASE.keys() & role_options(role).get(f"{role}_phase", {}).get("choices", ()))]


def lacking(role: str) -> dict[str, set[str]]:
    """The options that messages of the role's modules may name and that a phase of it lacks, with the places that do."""
    own, phases = role_options(role), phases_of(role)
    found: dict[str, set[str]] = {}
    for module in modules_of(role):
        has = set.intersection(*(set(option_names(module, role, phase, own)) for phase in phases))
        for option, places in named_options(module).items():
            if option not in has:
                found.setdefault(option, set()).update(places)
    return found


@pytest.mark.parametrize("role", MOVING)
def test_every_option_that_a_message_names_is_a_variable_of_the_role(role):
    assert {option: its for option, places in lacking(role).items() if (its := places - UNREACHED)} == {}


@pytest.mark.parametrize("role", MOVING)
def test_every_value_that_a_message_offers_is_one_that_the_variable_takes(role):
    own, wrong = role_options(role), set()
    for module, phase in itertools.product(modules_of(role), phases_of(role)):
        names = option_names(module, role, phase, own)
        for (option, value), places in named_values(module).items():
            choices = own[names[option]].get("choices") if option in names else None
            if choices and value not in choices and not places <= UNREACHED:
                wrong.add((names[option], value, *places))
    assert wrong == set()


def test_no_exception_is_left_over():
    assert {place for role in MOVING for places in lacking(role).values() for place in places} >= UNREACHED


def test_options_are_found_through_calls_methods_and_classes():
    found = named_options("kafka_offset_commit")
    assert "_migration._committing.entry_decision._again" in found["on_rewind"]
    assert "_migration._committing.write_watch.WriteWatch.before" in found["on_still_written"]
    assert ("on_still_written", "note") in named_values("kafka_offset_commit")
    assert "_migration._committing.writing._refuse_in_use" not in found.get(
        "on_active_group", set()
    )  # ways() leaves it out
