"""Which names a rollback need not find in its receipt, because a run of the same directory has left them out."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, to_json
from ansible_collections.streamshift.kafka.plugins.module_utils._module.migration_directory import to_undo


def save(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "snapshot.json").write_text(to_json(Snapshot("id", (), (), left_out_names=names)))


@pytest.mark.parametrize(
    ("home", "where", "is_known"),
    [
        ("all", "all", True),
        ("all", "all/history/2026-01-31T120000Z-migrate", True),  # another wave has replaced the snapshot since
        ("all/return", "all", True),
        ("all/return", "all/history/2026-01-31T120000Z-migrate", True),
        ("all/second", "all", False),
        ("all", "other", False),
    ],
)
def test_a_rollback_knows_what_any_run_of_its_directory_has_left_out(tmp_path, home, where, is_known):
    save(tmp_path / home, "others")
    save(tmp_path / where, "audit")
    (tmp_path / "all/history/broken").mkdir(parents=True)
    (tmp_path / "all/history/broken/snapshot.json").write_text("{")
    selection = Selection(groups=("audit", "biling"))
    left, notes = to_undo(selection, Receipt("id"), str(tmp_path / home / "receipt.json"))
    assert left.groups == (("biling",) if is_known else ("audit", "biling"))
    assert [note.kind for note in notes] == (["without_offsets"] if is_known else [])
