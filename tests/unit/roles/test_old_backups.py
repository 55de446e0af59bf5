"""Which files of earlier runs the playbook back_up_offsets removes, and which directories playbooks make."""

import pytest
import yaml

from tests.support.playbooks import ROOT, Controller, done

NEW, OLDER, LATER = (f"offsets-2026-11-{day}T020000Z.json" for day in ("28", "27", "29"))
NAMED = {"offsets-before-upgrade.json", "offsets-2026-11-01T020000Z-before-migration.json"}


@pytest.mark.parametrize(
    ("keep", "words", "stay"),
    [(0, [], {NEW, OLDER, LATER}), (1, [], {NEW}), (2, [], {NEW, LATER}), (1, ["--check"], {NEW, OLDER, LATER})],
)
def test_the_new_backup_and_files_that_somebody_has_named_stay(tmp_path, keep, words, stay):
    controller = Controller(tmp_path / "infrastructure", onprem={})
    for name in {NEW, OLDER, LATER, *NAMED}:
        (controller.directory / name).touch()
    (backup,) = yaml.safe_load((ROOT / "playbooks/back_up_offsets.yml").read_text())
    backup["tasks"] = [task for task in backup["tasks"] if task["name"].endswith("old files")]
    backup["hosts"] = "onprem"
    del backup["vars_files"]
    backup["vars"] = {
        "__directory": str(controller.directory),
        "__saved": {"snapshot": str(controller.directory / NEW)},
        "back_up_offsets_keep": str(keep),
    }
    done(controller.run_play("--limit", "onprem", *words, **backup))
    assert {path.name for path in controller.directory.glob("offsets-*")} == {*NAMED, *stay}


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(("name", "variable"), [("back_up_offsets", "__directory"), ("migration_status", "__write_to")])
def test_only_a_directory_that_is_missing_is_made_for_this_user_alone(tmp_path, name, variable, exists):
    controller = Controller(tmp_path / "infrastructure", onprem={})
    home = tmp_path / "home"
    if exists:
        home.mkdir()
        home.chmod(0o755)
    plays = yaml.safe_load((ROOT / f"playbooks/{name}.yml").read_text())
    tasks = [task for play in plays for task in play.get("tasks", ()) if "directory" in task["name"]]
    done(controller.run_play(hosts="onprem", vars={variable: str(home)}, tasks=tasks))
    assert home.stat().st_mode & 0o777 == (0o755 if exists else 0o700)
