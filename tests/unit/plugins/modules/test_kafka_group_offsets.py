"""kafka_group_offsets writes what was read, once; in check mode it writes nothing and says the same."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import quiet
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.take_snapshot import TakenSnapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model import snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnActiveGroup, OnBlocked
from ansible_collections.streamshift.kafka.plugins.modules import kafka_group_offsets
from tests.support.module_inputs import SNAPSHOT, SOURCE, warned


@pytest.fixture
def take(run_module, monkeypatch, tmp_path):
    """``take(active=(), **options)`` runs the module on a cluster with one group; take.asked is what the use case was given."""

    def run(active=(), check=False, diff=False, **options):
        def use_case(connection, selection, on_active_group, **more):
            run.asked = connection, selection, on_active_group, more
            readings = {name: GroupReading(name, True, "Stable", "classic", "consumer", {}) for name in active}
            return TakenSnapshot(SNAPSHOT, ("old",), seen=quiet.Seen(readings))

        monkeypatch.setattr(kafka_group_offsets.use_case, "take", use_case)
        options = {"cluster": SOURCE, "groups": ["billing"], "snapshot": str(tmp_path / "s.json"), **options}
        return run_module(kafka_group_offsets, check=check, diff=diff, **options)

    return run


def test_a_second_run_changes_nothing(take, tmp_path):
    first, second = take(), take()
    assert (first["changed"], second["changed"]) == (True, False)
    assert snapshot.from_json((tmp_path / "s.json").read_text(), "s.json") == SNAPSHOT
    assert first["groups"] == [{"name": "billing", "type": "classic", "partitions": 1}]


def test_check_mode_says_the_same_and_writes_nothing(take, tmp_path):
    predicted = take(check=True, diff=True)
    assert not (tmp_path / "s.json").exists()
    made = take(diff=True)
    assert {**predicted, "invocation": None} == {**made, "invocation": None}
    assert "billing orders-0: 7" in made["diff"]["after"] and not made["diff"]["before"]


def test_a_csv_file_shows_its_own_lines(take, tmp_path):
    assert "orders,0,7" in take(format="csv", diff=True)["diff"]["after"]
    assert not take(format="csv")["changed"]


def test_options_reach_the_use_case(take):
    take(on_active_group="skip_group", on_blocked="skip_group", idle_wait=2, stop_timeout=60, group_patterns=["b.*"])
    _connection, selection, on_active_group, more = take.asked
    assert selection.group_patterns == ("b.*",)
    assert on_active_group is OnActiveGroup.SKIP_GROUP
    del more["say"]
    assert more == {"on_blocked": OnBlocked.SKIP_GROUP, "idle_wait": 2.0, "stop_timeout": 60.0, "removed": None}


def test_the_user_is_warned_of_groups_in_use_and_left_out(take):
    result = take(active=["billing"])
    assert result["active_groups"] == ["billing"] and result["left_out_groups"] == ["old"]
    assert "billing" in warned(result) and "old" in warned(result)
    assert result["note_kinds"] == ["excluded", "group_in_use"] and len(result["notes"]) == 2


def test_all_that_is_wrong_is_in_one_message_before_anything_is_asked(take, tmp_path):
    login = {**SOURCE, "security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "ssl_keyfile": "key.pem"}
    options = {"groups": ["billing", ""], "topic_patterns": ["("], "idle_wait": -1, "snapshot": f"{tmp_path}/a/s.json"}
    told = take(cluster=login, **options)["msg"]
    for part in (
        "s.json cannot be written",
        "idle_wait is -1",
        "groups, entry 2 is empty",
        "topic_patterns holds '('",
        "ssl_keyfile is given without ssl_certfile",
        "PLAIN needs sasl_username and sasl_password",
    ):
        assert part in told
    assert not hasattr(take, "asked")


def test_ansible_s_own_refusals_are_told_together(run_module):
    told = run_module(kafka_group_offsets, cluster=SOURCE, format="cvs", idle_wait="soon", snapshots="s.json")["msg"]
    for part in ("missing required arguments: snapshot", "idle_wait", "got: cvs", "Unsupported parameters: snapshots"):
        assert part in told


def test_a_failure_names_the_group_and_leaves_the_file(take, run_module, monkeypatch, tmp_path):
    take()
    before = (tmp_path / "s.json").read_bytes()

    def missing(*_given, **_more):
        raise NotFound("the group does not exist", cluster="source", group="billing", remedy="correct groups")

    monkeypatch.setattr(kafka_group_offsets.use_case, "take", missing)
    result = run_module(kafka_group_offsets, cluster=SOURCE, groups=["billing"], snapshot=str(tmp_path / "s.json"))
    assert result["failed"] and "billing" in result["msg"] and (tmp_path / "s.json").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        '{"format": "streamshift.kafka/snapshot",',
        '\ufeff{"format": "streamshift.kafka/snapshot",',
        '{"format": "streamshift.kafka/plan", "version": 1, "entries": []}',
    ],
)
def test_nobody_is_told_to_remove_a_backup_or_to_correct_another_option(take, tmp_path, text):
    if text is not None:
        (tmp_path / "b.json").write_text(text)
    names = {"backup": "group_clone_backup", "directory": "group_clone_directory"}
    message = take(backup=str(tmp_path / "b.json"), option_names=names)["msg"]
    assert message.splitlines()[0].endswith(". Correct group_clone_backup, or use another backup.")


@pytest.mark.parametrize("link", [False, True])
def test_a_backup_is_never_replaced_by_what_is_taken_from_it(take, tmp_path, link):
    backup = tmp_path / "s.json"
    backup.write_text(snapshot.to_json(SNAPSHOT))
    before = backup.read_text()
    (tmp_path / "link.json").symlink_to(backup)
    message = take(backup=str(tmp_path / ("link.json" if link else "s.json")))["msg"]
    assert "the file that the snapshot is written to" in message and "copy the file" in message.lower()
    assert backup.read_text() == before


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_no_other_document_is_replaced(take, tmp_path, form, bom):
    receipt = tmp_path / "s.json"
    receipt.write_text(f'{bom}{{"format": "streamshift.kafka/receipt", "version": 1, "entries": []}}')
    before = receipt.read_bytes()
    assert "it is a receipt file, which a run may need. Give another path" in take(format=form, check=True)["msg"]
    assert "it is a receipt file" in take(format=form)["msg"]
    assert receipt.read_bytes() == before and not hasattr(take, "asked")


def test_all_texts_of_a_dry_run_name_the_users_files_and_values_the_copies(take, monkeypatch, tmp_path):
    names = {"directory": "group_clone_directory", str(tmp_path): "/srv/wave"}
    path = tmp_path / "b.csv"
    assert "there is no backup file /srv/wave/b.csv." in take(backup=str(path), option_names=names)["msg"]
    path.write_text("billing,orders,0,7\n")
    note = Note(NoteKind.NOT_TOLD, f"{path} has no id")
    monkeypatch.setattr(
        kafka_group_offsets.backups, "from_backup", lambda backup, *_given: TakenSnapshot(backup, not_told=[note])
    )
    result = take(backup=str(path), option_names=names)
    assert result["notes"] == ["/srv/wave/b.csv has no id"] and "not_told: /srv/wave/b.csv has no id" in warned(result)
    assert result["snapshot"] == str(tmp_path / "s.json")


def test_a_backup_without_group_names_has_the_offsets_of_the_group_that_is_selected(take, monkeypatch, tmp_path):
    (tmp_path / "billing.csv").write_text("orders,0,7\n")
    monkeypatch.setattr(kafka_group_offsets.backups, "from_backup", lambda backup, *_given: TakenSnapshot(backup))
    made = take(backup=str(tmp_path / "billing.csv"))
    assert made["groups"] == [{"name": "billing", "type": "unknown", "partitions": 1}]
    refused = take(backup=str(tmp_path / "billing.csv"), groups=["billing", "shipping"])
    assert "snapshot_group" not in refused["msg"] and "Select its group alone, by groups" in refused["msg"]
