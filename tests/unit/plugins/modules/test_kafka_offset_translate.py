"""kafka_offset_translate asks for what its options say, and writes a plan only where that is another one."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import Translation
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, snapshot, topic_plan
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import OffsetFormat
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Evidence
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnExpired, Strategy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import exports, plan_making
from ansible_collections.streamshift.kafka.plugins.modules import kafka_offset_translate
from tests.support.module_inputs import DESTINATION, ORDERS, SNAPSHOT, SOURCE, entry, plan_of, saved, warned

BLOCKED = dataclasses.replace(entry().blocked(Reason.TOPIC_MISSING, "no topic"), evidence=Evidence())


@pytest.fixture
def translate(run_module, monkeypatch, tmp_path):
    """``translate(offset=5, **options)`` plans billing's offset; translate.asked is what the use case was given.

    translate.entry, notes: what the use case makes in its place, and says.
    """

    def run(offset=5, check=False, diff=False, **options):
        def use_case(taken, source, destination, mapping, wanted, previous, receipt, _say):
            run.asked = taken, source, destination, mapping, wanted, previous, receipt
            made = run.entry or dataclasses.replace(entry(offset), absent=run.absent, detail=str(run.absent or ""))
            return Translation(plan_of(made), 0, 12, notes=run.notes)

        monkeypatch.setattr(plan_making.use_case, "translate", use_case)
        taken = saved(tmp_path / "s.json", snapshot.to_json(SNAPSHOT))
        given = {"source": SOURCE, "destination": DESTINATION, "snapshot": taken, "plan": str(tmp_path / "p.json")}
        given = {name: value for name, value in {**given, **options}.items() if value is not None}
        return run_module(kafka_offset_translate, check=check, diff=diff, **given)

    run.absent, run.entry, run.notes = None, None, []
    return run


def test_absent_records_are_told_once(translate):
    translate.absent = Absent(10, 3)
    translate.notes = [
        Note(NoteKind.ABSENT, f"billing orders-0: {translate.absent}"),
        Note(NoteKind.RULE_UNUSED, "odd"),
    ]
    result = translate()
    assert "absent:" not in warned(result) and "rule_unused: odd" in warned(result)
    assert "absent" in result["note_kinds"]
    assert sum(str(translate.absent) in line for line in result["summary"]) == 1


def test_a_second_run_changes_nothing_and_knows_the_last_plan(translate, tmp_path):
    first, second = translate(), translate()
    assert (first["changed"], second["changed"]) == (True, False)
    assert translate.asked[5] == plan.from_json((tmp_path / "p.json").read_text(), "p.json") == plan_of(entry())
    assert first["digest"] == second["digest"] and first["records_read"] == 12


def test_check_mode_says_the_same_and_writes_nothing(translate, tmp_path):
    predicted = translate(check=True, diff=True)
    assert not (tmp_path / "p.json").exists()
    made = translate(diff=True)
    assert {**predicted, "invocation": None} == {**made, "invocation": None}


def test_a_new_plan_removes_the_report_of_the_previous_one(translate, tmp_path):
    report = str(tmp_path / "report.json")
    translate(5, report=report)
    saved(tmp_path / "report.json", "{}")
    assert not translate(5, report=report)["changed"]
    assert translate(6, report=report, check=True)["changed"]
    assert (tmp_path / "report.json").exists()
    translate(6, report=report)
    assert not (tmp_path / "report.json").exists()


def test_the_diff_shows_both_offsets(translate):
    translate(5)
    diff = translate(6, diff=True)["diff"]
    assert "5" in diff["before"] and "6" in diff["after"] and diff["before"] != diff["after"]


def test_a_plan_that_is_there_and_damaged_is_not_replaced(translate, tmp_path):
    path = saved(tmp_path / "p.json", "{")
    result = translate()
    assert result["failed"] and path in result["msg"] and (tmp_path / "p.json").read_text() == "{"


def test_what_a_cluster_tells_is_shown_as_escapes_and_stays_exact_in_entries(translate, tmp_path):
    name = "billing\x1b[2K\rTotal: 1 exact\n\u202e"
    translate.entry = dataclasses.replace(BLOCKED, group=name, detail=name)
    translate.notes = [Note(NoteKind.UNCOMMITTED, name)]
    result = translate(diff=True)
    for line in (*result["summary"], *result["notes"], *result["not_exact"], *result["diff"]["after"].split("\n")):
        assert line == line.strip("\r") and not {"\x1b", "\r", "\n", "\u202e"} & set(line)
    assert result["entries"][0]["group"] == name
    assert plan.from_json((tmp_path / "p.json").read_text(), "p.json").entries[0].group == name


def test_options_reach_the_use_case(translate):
    translate(match_on=["timestamp", "value"], on_expired="fail", strategy="identical", search_limit=7)
    wanted = translate.asked[4]
    assert wanted.match_on == MatchOn.of(["value", "timestamp"]) and wanted.strategy is Strategy.IDENTICAL
    assert (wanted.policy.on_expired, wanted.policy.search_limit, wanted.policy.with_timestamp) == (
        OnExpired.FAIL,
        7,
        True,
    )
    translate(match_on=["value"])
    assert not translate.asked[4].policy.with_timestamp


def test_an_entry_of_a_topic_that_is_not_there_names_the_line_of_the_csv_file(translate, tmp_path):
    path = saved(tmp_path / "offsets.csv", "reporting,orders,0,7\nbilling,orders,0,5\n")
    translate.entry = BLOCKED
    (found,) = translate(snapshot=path)["entries"]
    assert found["detail"] == f"no topic (line 2 of {path})"
    assert not translate(snapshot=path)["changed"]


def test_where_a_job_of_flink_has_started_is_no_snapshot(translate, tmp_path):
    """Its offsets do not move while the job consumes, so a plan from them would repeat everything since."""
    starts = "'topic' = 'orders',\n'scan.startup.specific-offsets' = 'partition:0,offset:5'\n"
    path = saved(tmp_path / "etl.sql", starts)
    assert "got: flink_sql" in translate(snapshot=path, snapshot_format="flink_sql", snapshot_group="billing")["msg"]


@pytest.mark.parametrize("form", ["auto", "csv"])
def test_csv_that_names_no_group_is_of_the_one_that_an_option_names(translate, tmp_path, form):
    path = saved(tmp_path / "offsets.csv", "\ufefforders,0,5\n")
    refused = translate(snapshot=path, snapshot_format=form)
    assert "Set snapshot_group, or use a file with four columns" in refused["msg"]
    translate(snapshot=path, snapshot_format=form, snapshot_group="billing")
    assert [group.name for group in translate.asked[0].groups] == ["billing"]


def test_a_promotion_reaches_the_use_case(translate, tmp_path):
    promoted = topic_plan.TopicPlan("s", "d", (topic_plan.TopicChange("orders", "orders", None, 3),))
    translate(promotion=saved(tmp_path / "topics.json", topic_plan.to_json(promoted)))
    assert translate.asked[4].promotion == promoted
    assert [each["predicted"] for each in translate()["entries"]] == [False]
    assert "kafka_topic_promotion" in translate(promotion=str(tmp_path / "none.json"))["msg"]
    empty = translate(promotion="")  # from a variable that is not set
    assert empty["failed"] and "there is no topics file" in empty["msg"] and "kafka_topic_promotion" in empty["msg"]


POLICY = {"replication_policy": {"source_alias": "src"}}
MIRROR = {"strategy": "mirror_maker", **POLICY}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {**MIRROR, "source": None, "snapshot": None, "promotion": "/nowhere", "groups": ["billing"]},
            "promotion is about topics that follow the source, and there is no source",
        ),
        ({"match_on": []}, "match_on is empty. Name the parts, or leave it out"),
        ({"source": None}, "reads the source"),
        ({"snapshot": None}, "there is no snapshot"),
        ({"groups": ["billing"]}, "groups is for checkpoints"),
        ({"strategy": "mirror_maker"}, "Set replication_policy"),
        (MIRROR, "target_alias"),
        ({"source": None, **MIRROR}, "there is no source to find that in"),
        ({"topic_map": [{"name": "a", "to": "b"}], **POLICY}, "topic_map and replication_policy both name"),
        ({"wait_for_replication": -1}, "wait_for_replication"),
        ({"search_limit": -1}, "search_limit"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(translate, tmp_path, options, said):
    result = translate(**options)
    assert result["failed"] and said in result["msg"]
    assert not hasattr(translate, "asked") and not (tmp_path / "p.json").exists()


def test_a_pattern_of_repartitioned_that_matches_nothing_is_told(translate):
    result = translate(repartitioned=["ordres"])
    assert "ordres" in warned(result) and result["note_kinds"] == ["rule_unused"] and "ordres" in result["notes"][0]


@pytest.mark.parametrize("expected", [None, 12])
def test_flink_goes_on_from_a_committed_offset_where_the_export_has_none(expected):
    held = None if expected is None else CommittedOffset(expected)
    source = (plan.SourcePosition("billing", ORDERS, None),)
    lacking = plan.PlanEntry("billing", ORDERS._replace(partition=1), None, Verdict.UNCOMMITTED, source, expected=held)
    (note,) = exports.export_of(plan_of(entry(), lacking), "/srv/etl.sql", OffsetFormat.FLINK_SQL).notes
    told = "Flink reads all of it, unless its group has a committed offset there"
    assert note.text.endswith(f"{told}." if held is None else f"{told}, as for billing orders-1.")
