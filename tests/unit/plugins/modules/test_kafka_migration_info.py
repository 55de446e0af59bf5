"""kafka_migration_info names all problems together, those of files among them, and changes nothing."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration.preflight import (
    MAY_BE_SWAPPED,
    Intent,
    Preflight,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.setting_differences import (
    SettingDifference,
    SettingKind,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan, receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    NotAuthorized,
    Refused,
    RequirementMissing,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnActiveGroup
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_info
from tests.support.identities import known_by_id
from tests.support.module_inputs import DESTINATION, SOURCE, saved, written

NO_ACL = NotAuthorized(
    "missing ACL TOPIC READ on orders", cluster="source cluster a:1", topic="orders", remedy="grant it"
)
NO_JAVA = RequirementMissing("no Java")
SHORTER = SettingDifference(SettingKind.RETENTION, "orders", "orders", "retention.ms", "-1", "1", "a note")
IDS = {"source": "S", "destination": "D"}
NAMES = {name: f"group_migration_{name}" for name in ("source", "destination", "directory")}


def receipt_of(path, cluster_id):
    """The path of a receipt of this cluster, whose groups came from groups of the same names."""
    entries = tuple(each._replace(source=(receipt.Origin(*each.key),)) for each in written().entries)
    return saved(path, receipt.to_json(receipt.Receipt(cluster_id, entries)))


def migrated_in(folder, source_id="D", destination_id="S", group="billing"):
    """The directory of a migration that has set a group, by default in the opposite direction."""
    folder.mkdir()
    entries = tuple(each._replace(group=group) for each in written(1).entries)
    saved(folder / "plan.json", plan.to_json(plan.Plan(source_id, destination_id, "", ())))
    saved(folder / "receipt.json", receipt.to_json(receipt.Receipt(destination_id, entries)))


@pytest.fixture
def look(run_module, monkeypatch):
    """``look(problems=[], **options)`` looks at two clusters; look.asked is what the use case was given."""

    def run(problems=(), check=False, **options):
        def use_case(*given, **_more):
            run.asked = given
            return Preflight(IDS, list(problems), [Note(NoteKind.SETTING_DIFFERS, "a note")], [SHORTER], {"billing"})

        monkeypatch.setattr(kafka_migration_info.use_case, "look", use_case)
        known_by_id(monkeypatch, lambda connection: IDS[connection.name.split()[0]])
        monkeypatch.setattr(kafka_migration_info.use_case, "lacking_for_verification", lambda _spark: [NO_JAVA])
        given = {"source": SOURCE, "destination": DESTINATION, "groups": ["billing"], **options}
        return run_module(kafka_migration_info, check=check, **given)

    return run


@pytest.mark.parametrize("check", [False, True])
def test_problems_are_returned_and_no_failure(look, check):
    result = look([NO_ACL], check=check)
    assert not result["changed"] and not result.get("failed")
    assert (result["notes"], result["note_kinds"]) == (["a note"], ["setting_differs"])
    assert result["cluster_ids"] == IDS
    assert result["settings"] == [
        {
            "kind": "retention",
            "topic": "orders",
            "destination_topic": "orders",
            "setting": "retention.ms",
            "source": "-1",
            "destination": "1",
            "message": "a note",
        }
    ]
    assert result["problems"] == [
        {
            "kind": "acl_missing",
            "cluster": "source cluster a:1",
            "group": None,
            "topic": "orders",
            "partition": None,
            "message": "source cluster a:1, topic orders: missing ACL TOPIC READ on orders. Grant it.",
            "remedy": "grant it",
        }
    ]


def test_what_is_wrong_with_the_mapping_hides_nothing_that_is_wrong_with_the_selection(look):
    said = look(repartitioned=["("], topic_map=[{"name": "a", "to": ""}], group_patterns=["["], topics=["x", "x"])[
        "msg"
    ]
    for each in (
        "repartitioned holds '('",
        "topic_map, entry 1 has no",
        "group_patterns holds '['",
        "topics names x twice",
    ):
        assert each in said
    assert not hasattr(look, "asked")


@pytest.mark.parametrize("groups", [[], [""], ["billing", "billing"]])
def test_whatever_a_run_is_refused_for_before_it_begins_says_that_nothing_was_written(look, groups):
    assert look(groups=groups, on_problem="fail")["msg"].endswith("\nNothing was written to a cluster.")
    assert "written" not in look(groups=groups)["msg"]


def test_problems_fail_the_module_as_asked(look):
    result = look([NO_ACL, NO_JAVA], on_problem="fail")
    assert result["failed"] and result["msg"] == f"{NO_ACL}\n{NO_JAVA}\nNothing was written to a cluster."
    assert [each["kind"] for each in result["problems"]] == ["acl_missing", "requirement_missing"]
    assert result["failure"] == NO_ACL.place()
    assert not look(on_problem="fail").get("failed")


def test_damaged_files_are_problems_beside_all_others(look, tmp_path):
    broken = saved(tmp_path / "p.json", "{")
    problems = look([NO_ACL], plan=broken)["problems"]
    assert [each["kind"] for each in problems] == ["file_damaged", "acl_missing"] and broken in problems[0]["message"]


def test_files_that_will_be_made_are_no_problem(look, tmp_path):
    assert look(plan=str(tmp_path / "p.json"), receipt=str(tmp_path / "r.json"))["problems"] == []
    assert list(tmp_path.glob("*.json")) == []


@pytest.mark.parametrize(
    ("purpose", "cluster_id", "why", "remedy"),
    [
        ("receipt", "S", "source and destination are exchanged: the receipt {}", "Correct {source} and {destination}"),
        ("receipt", "X", "the receipt {} was made for another cluster: this one", "{directory} to another directory"),
        ("returns", "D", "source and destination are exchanged: the receipt {}", "Correct {source} and {destination}"),
        ("returns", "X", "the receipt {} was made for another cluster: this one", "Correct {source} and {destination}"),
    ],
)
def test_the_receipt_of_another_cluster_is_named_with_what_to_correct(look, tmp_path, purpose, cluster_id, why, remedy):
    path = receipt_of(tmp_path / "r.json", cluster_id)
    (problem,) = look(**{purpose: path}, option_names=NAMES)["problems"]
    assert why.format(path) in problem["message"] and problem["kind"] == "other_cluster"
    assert remedy.format(**NAMES) in problem["message"]
    assert problem["message"].count("exchanged") == 1  # once is enough


@pytest.mark.parametrize(("purpose", "cluster_id"), [("receipt", "S"), ("returns", "D")])
def test_the_directory_of_a_clone_does_not_pass_for_exchanged_clusters(look, tmp_path, purpose, cluster_id):
    saved(tmp_path / "plan.json", plan.to_json(plan.Plan(cluster_id, cluster_id, "digest", ())))
    path = receipt_of(tmp_path / "receipt.json", cluster_id)
    (problem,) = look(**{purpose: path}, option_names=NAMES)["problems"]
    assert "the directory is that of a clone or a reset inside one cluster: the receipt" in problem["message"]
    assert problem["remedy"] == "correct group_migration_directory"


def test_the_groups_of_a_return_are_those_of_a_receipt(look, tmp_path):
    look(returns=receipt_of(tmp_path / "r.json", "S"))
    assert look.asked[2].of_receipt
    look()
    assert not look.asked[2].of_receipt


def test_what_spark_lacks_matters_only_to_whom_it_concerns(look):
    assert [each["message"] for each in look(verify="records")["problems"]] == ["no Java."]
    assert look(verify="anchors")["problems"] == []


def test_options_reach_the_use_case(look):
    look(commits=False, on_active_group="fail")
    assert look.asked[4] == Intent(commits=False, on_active_group=OnActiveGroup.FAIL)


@pytest.mark.parametrize(
    ("source_id", "destination_id", "group", "kinds"),
    [
        pytest.param("D", "S", "billing", ["opposite_direction"], id="billing came from there"),
        pytest.param("D", "S", "shipping", [], id="another group came from there"),
        pytest.param("X", "S", "billing", [], id="billing came from a third cluster"),
        pytest.param("S", "D", "billing", [], id="the same direction, in another directory"),
    ],
)
def test_a_migration_of_the_opposite_direction_beside_this_one_is_asked_about(
    look, tmp_path, source_id, destination_id, group, kinds
):
    migrated_in(tmp_path / "back", source_id, destination_id, group)
    for name in ("damaged", "here"):
        (tmp_path / name).mkdir()
    saved(tmp_path / "damaged/receipt.json", "{}")
    here = str(tmp_path / "here/receipt.json")
    said = f"{tmp_path}/back/receipt.json says that billing came from this destination to this source"
    for asked in ({}, {"on_rewind": "fail", "commits": False}, {"on_rewind": "keep"}, {"on_rewind": "rewind"}):
        problems = look(receipt=here, **asked)["problems"]
        assert [each["kind"] for each in problems] == (["other_cluster"] if kinds and not asked else []), asked
        assert all("set on_rewind to rewind: no record is skipped" in each["remedy"] for each in problems)
    result = look(receipt=here, on_rewind="keep")
    assert result["note_kinds"] == [*kinds, "setting_differs"]
    assert not kinds or said in result["notes"][0]
    for on_rewind in ("fail", "keep"):
        failed = look([NO_ACL], receipt=here, on_problem="fail", on_rewind=on_rewind)
        first, *_others = failed["msg"].splitlines()
        assert (said in first) == bool(kinds), "nothing else is worth looking at before that"


def test_a_migration_of_the_opposite_direction_counts_where_this_user_may_only_read_it(look, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    back = tmp_path / "back"
    migrated_in(back)
    unwritable = {str(back): f"the directory {back} is not writable for this user"}
    monkeypatch.setattr(kafka_migration_info.files, "_unwritable", unwritable.get)
    (problem,) = look(receipt=str(tmp_path / "here/receipt.json"))["problems"]
    assert problem["kind"] == "other_cluster" and f"{back}/receipt.json says" in problem["message"]


def test_of_large_migrations_of_this_direction_beside_this_one_no_entry_is_read(look, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    migrated_in(tmp_path / "earlier", "S", "D")
    monkeypatch.setattr(kafka_migration_info.plan, "from_json", None)
    monkeypatch.setattr(kafka_migration_info.receipt, "from_json", None)
    assert look(receipt=str(tmp_path / "here/receipt.json"))["problems"] == []


def test_whether_the_clusters_are_swapped_is_asked_once(look, tmp_path):
    (tmp_path / "here").mkdir()
    for name in ("back", "before"):
        migrated_in(tmp_path / name)
    (tmp_path / "current").symlink_to("back")
    elsewhere = Refused(f"billing has committed offsets here, and none at the source: {MAY_BE_SWAPPED}")
    (problem,) = look([elsewhere], receipt=str(tmp_path / "here/receipt.json"))["problems"]
    assert "back/receipt.json says" in problem["message"] and "before/receipt.json says" in problem["message"]
    assert "current" not in problem["message"] and " more" not in problem["message"]
    (problem,) = look([elsewhere])["problems"]
    assert problem["message"] == f"{elsewhere}"
