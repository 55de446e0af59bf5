"""docs/assessing.md says of each kind of risk what the code says, and an assessment is what its schema says."""

import dataclasses
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.module_utils._model import assessment
from ansible_collections.streamshift.kafka.plugins.module_utils._model import option_names as names
from ansible_collections.streamshift.kafka.plugins.module_utils._model.assessment import Assessment
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_overview import GroupOverview
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.risks import RISKS, Risk, RiskKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.assessment_story import (
    assessment_story,
    headline,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.page import html_page
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.ticket import markdown
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import option_names

DOCS = Path(__file__).parents[3] / "docs"
PAGE = " ".join((DOCS / "assessing.md").read_text(encoding="utf-8").split())
SCHEMA = json.loads((DOCS / "schemas/assessment.schema.json").read_text())
HEAD = {
    "source": "onprem",
    "destination": None,
    "source_id": "S",
    "read": "2026-11-26T07:00:00Z",
    "abandoned_after": 30.0,
}
HEAD |= {"groups_denied": 0, "groups_left_out": 0}


def group(name, *topics, **more):
    """A row of a group that has committed offset 1 on each topic."""
    offsets = {TopicPartition(topic, 0): CommittedOffset(1) for topic in topics}
    overview = GroupOverview(
        GroupReading(name, True, "Empty", "classic", "consumer", offsets), (), dict.fromkeys(offsets, (0, 3))
    )
    its = {"use": overview.use, "next_record": None, "expired": 0, "uncommitted": 0, "latest_skips": 0}
    return {**overview.row(), **its, **more}


def topic(name):
    its = {"what": None, "partitions": 1, "offsets": 3, "retention_ms": None, "cleanup_policy": "delete"}
    return {"topic": name, **its, "groups": [], "schema_ids": [7]}


def planned(name, verdict, reason=None):
    where = TopicPartition("orders", 0)
    return PlanEntry(name, where, None, verdict, (SourcePosition(name, where, 1),), reason=reason)


def whole(*groups, risks=(), plan=(), topics=("orders",)):
    parts = (Assessment(HEAD, groups, tuple(map(topic, topics)), tuple(risks)), Assessment({}))
    return assessment.merged(parts, plan)


@pytest.mark.parametrize("kind", RiskKind)
def test_the_page_says_of_each_kind_what_the_code_says(kind):
    entry = RISKS[kind]
    begin = f"### `{kind.value}` **{entry.severity.value.capitalize()}.** {entry.meaning} **Remedy:** {entry.remedy}"
    assert begin in PAGE
    assert f"[`{kind.value}`](#{kind.value})" in PAGE


def test_options_stand_as_a_command_takes_them():
    options = re.findall(r"\| `('?)(\S*migration_assessment_.*?)\1` \|", PAGE)
    assert len(options) == 5 and all(
        json.loads(text) if quoted else re.fullmatch(r"\w+=\w+", text) for quoted, text in options
    )


def test_every_kind_is_in_the_table_those_that_matter_most_first():
    severities = [entry.severity.value for entry in RISKS.values()]
    assert RISKS.keys() == set(RiskKind)
    assert [name for name, _same in re.findall(r"(\w+)((?: \1)*)", " ".join(severities))] == [
        "blocker",
        "warning",
        "info",
    ]


def test_an_assessment_is_what_its_schema_says_and_is_read_back():
    risks = [Risk(kind, "Seen.", "billing", "orders", 0) for kind in RiskKind]
    found = whole(group("billing", "orders"), risks=risks, plan=[planned("billing", Verdict.EXACT)])
    text = assessment.to_json(found)
    jsonschema.validate(json.loads(text), SCHEMA)
    assert assessment.to_json(assessment.from_json(text, "a.json")) == text
    assert len(text.splitlines()) == 2 + 1 + 1 + len(RiskKind)


def test_topics_of_kafka_are_not_counted_as_those_of_users():
    found = whole(group("billing", "orders"), topics=("orders",))
    internal = {**topic("__consumer_offsets"), "what": "Kafka's", "partitions": 50}
    found = dataclasses.replace(found, topics=(*found.topics, {**internal, "risks": 0}))
    story = assessment_story(found)
    assert headline(found).startswith("1 group and 1 topic: ")
    assert {name: number for number, name in story.figures} | {"topics": "1", "partitions": "1"} == {
        name: number for number, name in story.figures
    }


def test_remedies_name_what_the_user_of_the_role_sets(monkeypatch):
    """In the role's page: its own variables, or those of a migration, each with its prefix."""
    specs = {
        path.parents[1].name: yaml.safe_load(path.read_text())["argument_specs"]["main"]["options"]
        for path in (DOCS.parent / "roles").glob("*/meta/argument_specs.yml")
        if path.parents[1].name != "common"
    }
    variables = {name for names in specs.values() for name in names}
    playbooks = {path.stem for path in (DOCS.parent / "playbooks").glob("*.yml")}
    options = {name.removeprefix(f"{role}_") for role, names in specs.items() for name in names} - playbooks
    monkeypatch.setattr(names, "_variables", {})
    names.set_variables(
        option_names("kafka_migration_run", "migration_assessment", None, specs["migration_assessment"])
    )
    found = whole(group("billing", "orders"), risks=[Risk(kind, "Seen.", "billing") for kind in RiskKind])
    told = re.findall(r"Remedy: (.*?) See docs", markdown(assessment_story(found)).replace("\\_", "_"))
    assert len(told) == len(RiskKind)
    for remedy in told:
        words = set(re.findall(r"[a-z]+(?:_[a-z]+)+", remedy))
        assert words <= variables | playbooks and not words & options, remedy
        assert "in repartitioned" not in remedy


def test_groups_that_share_topics_are_in_one_set_also_by_way_of_others():
    found = whole(
        group("a", "x"),
        group("b", "x", "y"),
        group("c", "y"),
        group("d", "z"),
        group("console-consumer-1", "x", "y", "z"),
    )
    assert assessment.sharing(found.groups) == [["a", "b", "c"]]
    assert {row["group"]: row["shares"] for row in found.groups if row["shares"]} == {"a": 1, "b": 1, "c": 1}


def test_a_plan_adds_verdicts_and_what_is_blocked():
    plan = [planned("billing", Verdict.EXACT), planned("billing", Verdict.BLOCKED, Reason.TOPIC_MISSING)]
    found = whole(group("billing", "orders"), group("other", "clicks"), plan=plan)
    rows = {row["group"]: (row["exact"], row["safe"], row["blocked"], row["risks"]) for row in found.groups}
    assert rows == {"billing": (1, 0, 1, 1), "other": (None, None, None, 0)}
    assert found.risks == (Risk(RiskKind.PLAN_BLOCKED, "1 partition is blocked (topic_missing).", "billing"),)


def test_risks_of_a_topic_count_for_its_groups():
    found = whole(
        group("a", "orders"), group("b", "clicks"), risks=[Risk(RiskKind.TOPIC_MISSING, "Seen.", None, "orders")]
    )
    assert [row["risks"] for row in found.groups] == [1, 0]
    assert "<strong>1</strong> <span>of these without blockers and warnings" in html_page(assessment_story(found))


def test_names_are_harmless_in_spreadsheets_and_pages():
    name = '=1+1,"\n\u202e<script>|`[x](http://y)'
    found = whole(group(name, "orders"), risks=[Risk(RiskKind.GROUP_ABANDONED, f"{name}.", name)])
    story = assessment_story(found)
    for text in (html_page(story), markdown(story), assessment.groups_csv(found)):
        assert "\u202e" not in text
    assert "<script>" not in html_page(story)
    assert assessment.groups_csv(found).splitlines()[1].startswith('"\'=1+1,""\\u000a\\u202e')


def test_a_long_page_has_the_first_groups_and_says_how_many_there_are():
    found = whole(*(group(f"g{number:04}", "orders") for number in range(300)))
    page = html_page(assessment_story(found))
    assert "g0199" in page and "g0200" not in page and "and 100 more groups in groups.csv" in page
