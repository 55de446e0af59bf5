"""Messages name the variable that the user sets, and never a topic or group that is called like an option."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import conflicts
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import (
    option_name,
    path_option,
    set_variables,
    ways,
    with_option_names,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnAdvance, OnRewind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files
from ansible_collections.streamshift.kafka.plugins.module_utils._module.results import entry_line, plan_row

NAMES = ("on_rewind", "on_expired", "topic_map", "repartitioned", "topics")


@pytest.fixture
def in_role():
    """As in a task of the role group_migration."""
    set_variables(
        {name: f"group_migration_{name}" for name in NAMES} | {"state: absent": "group_migration_phase: remove"}
    )
    yield
    set_variables(None)


def test_without_a_role_options_have_their_names():
    assert option_name("on_rewind") == "on_rewind"
    assert with_option_names("lost; on_expired says fail") == "lost; on_expired says fail"


def test_in_a_role_options_have_the_names_of_its_variables(in_role):
    assert option_name("on_rewind") == "group_migration_on_rewind"
    assert option_name("state: absent") == "group_migration_phase: remove"
    assert option_name("on_misplaced") == "on_misplaced"  # the role has no such variable


def test_a_remedy_offers_only_the_ways_that_the_role_has(in_role):
    assert ways(("on_rewind", "go back"), ("on_misplaced", "remove"), ("", "roll back")) == "go back, or roll back"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("lost; on_expired says fail", "lost; group_migration_on_expired says fail"),
        ("lost (on_expired: fail).", "lost (group_migration_on_expired: fail)."),
        ("set on_expired=start.", "set group_migration_on_expired=start."),
        (
            "orders and 2 topics: name it in repartitioned",
            "orders and 2 topics: name it in group_migration_repartitioned",
        ),
        ("a repartitioned topic", "a repartitioned topic"),
        ("give it up (state: absent)", "give it up (group_migration_phase: remove)"),
        # What only begins, ends or goes on like an option.
        ("not_on_expired on_expired_too on_expired-2 a.on_expired on_expired.dlq", None),
        ("group_migration_on_expired", None),
        ("line 3 of /srv/topic_map/on_expired.csv, of topic_map/a.csv and of /srv/topic_map", None),
        # Names of the user, alone and inside of other names.
        ("topic topic_map does not exist: exclude it", None),
        ("topic_map has 2 partitions, and on_rewind 3", None),
        ("team/on_expired has expired", None),
        ("my:topic_map:on_expired is left alone", None),
        ("é on_rewind-0", None),
    ],
)
def test_only_options_are_translated_in_a_text(in_role, text, shown):
    names = ["topic_map", "on_rewind", "team/on_expired", "my:topic_map:on_expired", "é", "o", "on", "(", "", "\\"]
    assert with_option_names(text, names) == (text if shown is None else shown)


def entry(group="billing", topic="orders", detail="3 offsets have expired; on_expired says fail"):
    at = SourcePosition(group, TopicPartition(topic, 0), 7)
    its = {"reason": Reason.POLICY_FAIL, "detail": detail}
    return PlanEntry(group, TopicPartition(topic, 0), None, Verdict.BLOCKED, (at,), **its)


def test_a_plan_is_the_same_file_in_every_role_and_is_shown_in_the_words_of_one(in_role):
    text = plan.to_json(Plan("a", "b", "0" * 64, (entry(),)))
    assert "; on_expired says fail" in text and "group_migration" not in text
    assert plan_row(entry())["detail"].endswith("; on_expired says fail")
    assert entry_line(entry()).endswith("; group_migration_on_expired says fail")
    # A group or topic that is called so keeps its name, even where the option cannot be told from it.
    assert entry_line(entry(group="on_expired")).endswith("; on_expired says fail")
    line = entry_line(entry(topic="topic_map", detail="topic topic_map does not exist at the source: exclude it"))
    assert "group_migration" not in line


@pytest.mark.parametrize("topic", ["orders", "on_rewind", "topic_map"])
def test_a_refusal_names_the_variable_and_the_topic(in_role, topic):
    before, after = CommittedOffset(9), CommittedOffset(5)
    key = ("billing", TopicPartition(topic, 0))
    with pytest.raises(Refused) as refused:
        conflicts.kept_by_policy(key, before, after, OnRewind.FAIL, OnAdvance.FAIL, "cloud")
    assert f"topic {topic}, partition 0: " in str(refused.value)
    assert "Set group_migration_on_rewind to rewind to allow it" in str(refused.value)


def test_the_path_of_a_file_is_corrected_by_the_directory_of_a_role():
    assert path_option() == "the path"
    set_variables({"directory": "group_migration_directory"})
    try:
        assert path_option() == "group_migration_directory"
        with pytest.raises(
            InvalidFile, match=r"Correct group_migration_directory, or make it with kafka_offset_translate\."
        ):
            files.read_required("/nowhere/plan.json", "plan", "kafka_offset_translate")
    finally:
        set_variables(None)
