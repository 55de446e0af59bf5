"""kafka_offset_translate with strategy reset: which options go with it, and what its exports need."""

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import Translation
from ansible_collections.streamshift.kafka.plugins.module_utils._module import reset_making
from ansible_collections.streamshift.kafka.plugins.modules import kafka_offset_translate
from tests.support.module_inputs import DESTINATION, ORDERS, entry, plan_of


def test_a_reset_refuses_what_is_about_two_clusters_before_anything_is_asked(run_module, tmp_path):
    plan = tmp_path / "p.json"
    given = {"destination": DESTINATION, "plan": str(plan), "strategy": "reset", "promotion": "/nowhere"}
    result = run_module(kafka_offset_translate, **given)
    assert result["failed"] and "promotion has no meaning" in result["msg"]
    assert not plan.exists()


def test_a_reset_of_some_partitions_is_no_start_of_a_query_which_must_know_all_of_them(
    run_module, monkeypatch, tmp_path
):
    planned = Translation(plan_of(entry()), unruled=(("billing", ORDERS._replace(partition=1)),))
    monkeypatch.setattr(reset_making.resets, "plan_resets", lambda *_args: planned)
    given = {
        "destination": DESTINATION,
        "plan": str(tmp_path / "p.json"),
        "export": str(tmp_path / "e"),
        "groups": ["billing"],
    }
    given |= {"strategy": "reset", "resets": [{"to": "latest", "partitions": [0]}]}
    for form in ("structured_streaming", "flink_sql"):
        told = run_module(kafka_offset_translate, export_format=form, **given)["msg"]
        assert "group billing, topic orders, partition 1: no entry of resets fits the partition" in told
        assert list(tmp_path.iterdir()) == []
    assert run_module(kafka_offset_translate, export_format="csv", **given)["changed"]
