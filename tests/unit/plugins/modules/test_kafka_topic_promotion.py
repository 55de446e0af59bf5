"""kafka_topic_promotion decides or reads a plan, carries it out, and leaves files alone that say nothing new."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.topic_decisions import Planned
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.undo import Undo
from ansible_collections.streamshift.kafka.plugins.module_utils._model import snapshot, topic_plan, topic_receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import Acls
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import (
    EXCLUDED_SETTINGS,
    CommittedTopics,
    PromotionOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_plan import (
    AclChange,
    SettingChange,
    TopicChange,
    TopicPlan,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_receipt import (
    PromotionReceipt,
    TopicReceipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._module import promoting
from ansible_collections.streamshift.kafka.plugins.modules import kafka_topic_promotion
from tests.support.module_inputs import DESTINATION, SNAPSHOT, SOURCE, saved

READ = Acl("TOPIC", "orders", "LITERAL", "User:billing", "*", "READ", "ALLOW")
GROUP = Acl("GROUP", "billing", "LITERAL", "User:billing", "*", "READ", "ALLOW")
RETENTION = {"retention.ms": SettingChange("1", "5", "override"), "segment.ms": SettingChange("7", None, "default")}
CHANGES = TopicPlan(
    "S",
    "D",
    (
        TopicChange("new", "new", None, 2, 3, {"retention.ms": SettingChange(None, "5", "source")}),
        TopicChange("orders", "orders", 1, 2, None, RETENTION),
        TopicChange("same", "same", 1, 1),
    ),
    (AclChange(READ, "add"), AclChange(READ._replace(operation="WRITE"), "remove"), AclChange(GROUP, "add")),
)
NO_CHANGES = TopicPlan("S", "D", (TopicChange("same", "same", 1, 1),))
RECEIPT = PromotionReceipt("D", {"new": TopicReceipt("new", True, "id", None, 2)})
NOTES = (Note(NoteKind.FEWER_REPLICAS, "look"),)
UNDO = Undo(
    TopicPlan(
        "D",
        "D",
        (TopicChange("new", "", 2, None), TopicChange("orders", "", 2, 2, None, RETENTION)),
        (AclChange(READ, "remove"),),
    ),
    PromotionReceipt("D"),
    NOTES,
)


@pytest.fixture
def promote(run_module, monkeypatch, tmp_path):
    """``promote(plan, **options)``; promote.options is what the use case was given, promote.done what was carried out."""
    use_case, undone = promoting.promote, promoting.undo

    def run(plan=CHANGES, check=False, **options):
        run.done = []

        def planned(*given):
            run.selection, run.options, run.fence = given[2], *given[4:]
            return Planned(plan, NOTES)

        def carried_out(_destination, made, _receipt, save):
            run.done.append(made)
            if made.changes:
                save(RECEIPT)

        monkeypatch.setattr(use_case, "promotion_receipt", lambda _destination, known: known or PromotionReceipt("D"))
        monkeypatch.setattr(use_case, "plan_promotion", planned)
        monkeypatch.setattr(use_case, "check_expected", lambda _source, _destination, made, _receipt, _on_lockout: made)
        monkeypatch.setattr(use_case, "apply_plan", carried_out)
        monkeypatch.setattr(undone, "plan_undo", lambda *_given: UNDO)
        monkeypatch.setattr(undone, "undo_promotion", lambda _cluster, made, _remove, save: save(made.receipt) or made)
        given = {"plan": str(tmp_path / "topics.json"), "receipt": str(tmp_path / "receipt.json"), "topics": ["x"]}
        given |= {"source": SOURCE, "destination": DESTINATION, **options}
        given = {name: value for name, value in given.items() if value is not None}
        return run_module(kafka_topic_promotion, check=check, diff=True, **given)

    return run


def files(folder):
    return {file.name for file in folder.iterdir()}


def test_a_promotion_tells_what_changes_and_saves_both_files(promote, tmp_path):
    result = promote()
    assert result["changed"] and files(tmp_path) == {"topics.json", "receipt.json"}
    assert result["summary"] == [
        "new: created with 2 partitions and 3 replicas, retention.ms default -> 5 (source)",
        "orders: 2 partitions instead of 1, retention.ms 1 -> 5 (override), segment.ms 7 -> default",
        "added: ALLOW READ on TOPIC orders for User:billing",
        "removed: ALLOW WRITE on TOPIC orders for User:billing",
        "added: ALLOW READ on GROUP billing for User:billing",
    ]
    assert result["changes"] == len(result["summary"])
    assert (result["notes"], result["note_kinds"]) == (["look"], ["fewer_replicas"])
    assert [each["before_header"] for each in result["diff"]] == [
        "new (before)",
        "orders (before)",
        "other ACLs (before)",
    ]
    assert result["diff"][0]["before"] == ""
    assert result["diff"][1]["before"] == (
        "partitions: 1\nretention.ms: 1\nsegment.ms: 7\nALLOW WRITE on TOPIC orders for User:billing\n"
    )
    assert result["diff"][1]["after"] == (
        "partitions: 2\nretention.ms: 5  # override\nsegment.ms: default\nALLOW READ on TOPIC orders for User:billing\n"
    )
    assert topic_plan.from_json((tmp_path / "topics.json").read_text(), "") == CHANGES


def test_check_mode_says_the_same_and_saves_nothing(promote, tmp_path):
    predicted = promote(check=True)
    assert files(tmp_path) == set() and promote.done == []
    assert {**predicted, "invocation": None} == {**promote(), "invocation": None}


def test_a_round_without_news_leaves_the_plan_as_it_is(promote, tmp_path):
    promote()
    before = (tmp_path / "topics.json").read_bytes()
    result = promote(NO_CHANGES)
    assert (result["changed"], result["changes"], result["summary"]) == (False, 0, ["Nothing to change."])
    assert (tmp_path / "topics.json").read_bytes() == before


def test_a_plan_is_written_and_applied_later(promote, tmp_path):
    assert promote(state="planned")["changed"]
    assert promote.done == [] and files(tmp_path) == {"topics.json"}
    assert not promote(state="planned")["changed"]
    applied = promote(NO_CHANGES, state="applied")
    assert applied["changed"] and "topics does not limit this: everything in topics.json" in applied["summary"][0]
    assert "does not limit" not in str(promote(NO_CHANGES, state="applied", topics=None)["summary"])
    promote(NO_CHANGES, state="applied")
    assert promote.done == [CHANGES]


@pytest.mark.parametrize("state", ["planned", "promoted"])
def test_a_plan_never_replaces_a_file_of_another_kind(promote, tmp_path, state):
    both = tmp_path / "topics.json"
    both.write_text(topic_receipt.to_json(RECEIPT))
    result = promote(state=state, receipt=str(both))
    assert topic_receipt.from_json(both.read_text(), "") == RECEIPT
    assert f"{both} is not a topics file" in result["msg"] and promote.done == []


def test_a_topic_map_beside_a_policy_is_refused(promote):
    both = {"topic_map": [{"name": "a", "to": "b"}], "replication_policy": {"source_alias": "src"}}
    assert "topic_map and replication_policy both name" in promote(**both)["msg"]
    assert promote.done == []


def test_what_is_not_there_is_refused(promote):
    assert "there is no topics file" in promote(state="applied")["msg"]
    message = promote(state="rolled_back")["msg"]
    assert "there is no receipt file" in message and "from a backup" in message


def test_a_rollback_tells_what_goes_back(promote, tmp_path):
    (tmp_path / "receipt.json").write_text(topic_receipt.to_json(RECEIPT))
    predicted = promote(state="rolled_back", check=True)
    assert topic_receipt.from_json((tmp_path / "receipt.json").read_text(), "") == RECEIPT
    result = promote(state="rolled_back")
    assert {**predicted, "invocation": None} == {**result, "invocation": None}
    assert result["summary"] == [
        "topics does not limit this: everything in receipt.json is rolled back.",
        "new: deleted",
        "orders: retention.ms 1 -> 5 (override), segment.ms 7 -> default",
        "removed: ALLOW READ on TOPIC orders for User:billing",
    ]
    assert result["changes"] == 3
    assert topic_receipt.from_json((tmp_path / "receipt.json").read_text(), "") == PromotionReceipt("D")


@pytest.mark.parametrize("state", ["fenced", "lifted"])
@pytest.mark.parametrize("acls", [{}, {READ: False}, {READ._replace(permission="DENY"): True}])
def test_a_promotion_is_not_undone_by_a_fence(promote, tmp_path, state, acls):
    topics = {} if acls else RECEIPT.topics
    (tmp_path / "receipt.json").write_text(topic_receipt.to_json(PromotionReceipt("D", topics, acls)))
    assert "is the receipt of a promotion" in promote(state=state, topics=["orders"])["msg"]
    assert promote.done == []


def test_a_promotion_takes_only_the_receipt_of_a_fence_and_none_that_is_not_there(promote, tmp_path):
    promote(fence_receipt=str(tmp_path / "none.json"), acls="mirror")
    assert promote.fence() is None
    fence = PromotionReceipt("S", acls={READ._replace(permission="DENY"): False})
    promote(fence_receipt=saved(tmp_path / "fence.json", topic_receipt.to_json(fence)), acls="mirror")
    assert promote.fence() == fence
    other = saved(tmp_path / "other.json", topic_receipt.to_json(RECEIPT))
    assert "is the receipt of a promotion" in (said := promote(fence_receipt=other, acls="mirror")["msg"])
    assert "orrect fence_receipt" in said
    assert "failed" not in promote(fence_receipt=other)  # without ACLs, nobody reads it


def test_the_receipt_of_a_fence_that_leaves_nothing_out_is_named(promote, tmp_path):
    """A path that was misspelt, or a receipt of another cluster, was ignored, and the fence followed to the destination."""
    denied = (AclChange(READ._replace(permission="DENY", operation="WRITE"), "add"),)
    fenced = TopicPlan("S", "D", (), denied)
    for fence in (tmp_path / "fence.json", tmp_path / "kafka-fences" / "onprm" / "topics-receipt.json"):
        told = promote(fenced, fence_receipt=str(fence), acls="cutover")
        assert told["note_kinds"][1:] == ["file_missing"]
        assert f"fence_receipt, {fence}, does not exist, so no ACL is left out" in told["notes"][1]
        assert promote(fence_receipt=str(fence), acls="mirror")["note_kinds"] == ["fewer_replicas"]  # nothing is denied
        for other in ({"resource": "GROUP"}, {"pattern": "PREFIXED"}, {"host": "10.0.0.1"}, {"operation": "ALTER"}):
            no_fence = TopicPlan("S", "D", (), (AclChange(denied[0].acl._replace(**other), "add"),))
            assert "file_missing" not in promote(no_fence, fence_receipt=str(fence), acls="cutover")["note_kinds"]
    fence = tmp_path / "fence.json"
    saved(fence, topic_receipt.to_json(PromotionReceipt("D")))
    told = promote(fence_receipt=str(fence), acls="mirror")
    assert (
        told["note_kinds"][1:] == ["file_left_out"] and "is of cluster D, and the source is S, so" in told["notes"][1]
    )
    saved(fence, topic_receipt.to_json(PromotionReceipt("S")))
    assert promote(fenced, fence_receipt=str(fence), acls="cutover")["note_kinds"] == ["fewer_replicas"]


@pytest.mark.parametrize("state", ["fenced", "lifted"])
def test_a_snapshot_that_a_fence_would_not_ask_is_refused(promote, tmp_path, state):
    (tmp_path / "receipt.json").write_text(topic_receipt.to_json(PromotionReceipt("D")))
    given = {"topics": None, "snapshot": str(tmp_path / "snapshot.json")}
    assert f"snapshot has no meaning with state {state}" in promote(state=state, **given)["msg"]


def test_the_options_are_those_of_the_user(promote):
    promote()
    assert promote.options == PromotionOptions(exclude_settings=EXCLUDED_SETTINGS)
    promote(exclude_settings=[], acls="cutover", replication_factor="2", remove_acls=True)
    assert promote.options == PromotionOptions(
        exclude_settings=(), acls=Acls.CUTOVER, replication_factor=2, remove_acls=True
    )


def test_a_snapshot_selects_the_topics_of_its_groups(promote, tmp_path):
    taken = saved(tmp_path / "snapshot.json", snapshot.to_json(SNAPSHOT))
    names = frozenset(entry.partition.topic for entry in SNAPSHOT.entries)
    promote(topics=None, snapshot=taken)
    assert promote.selection == CommittedTopics(names)
    promote(topics=None, snapshot=taken, exclude_topic_patterns=["eu-.*"])
    assert promote.selection == CommittedTopics(names, ("eu-.*",))
    assert "mutually exclusive" in promote(snapshot=taken)["msg"]
    assert "kafka_group_offsets" in promote(topics=None, snapshot=str(tmp_path / "none.json"))["msg"]
