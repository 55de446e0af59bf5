# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kafka_migration_report writes two files beside those of the migration, and is never changed."""

from __future__ import annotations

import pytest

from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_report
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._module._report.migration import (
    ENTRIES,
    texts_of,
)


@pytest.fixture
def migration(tmp_path):
    """A directory with the files of a migration that has committed."""
    folder = tmp_path / "migration"
    folder.mkdir()
    for name, text in texts_of(ENTRIES, committed=True).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_two_files_are_written_for_their_owner_alone_and_nothing_is_changed(run_module, migration):
    result = run_module(kafka_migration_report, directory=str(migration), role="group_migration", phase="migrate")
    assert not result["changed"] and result["headline"].startswith("Committed: 3 of 5 group-partitions")
    page, ticket = migration / "report.html", migration / "report.md"
    assert (result["html"], result["markdown"]) == (str(page), str(ticket))
    assert result["headline"] in page.read_text() and "## The way back" in ticket.read_text()
    assert {path.stat().st_mode & 0o777 for path in (page, ticket)} == {0o600}


def test_check_mode_returns_the_same_and_writes_nothing(run_module, migration):
    before = sorted(migration.iterdir())
    predicted = run_module(kafka_migration_report, check=True, directory=str(migration))
    assert sorted(migration.iterdir()) == before
    assert run_module(kafka_migration_report, directory=str(migration)) == predicted


def test_the_report_says_who_ran_it_and_how_long_the_steps_took(run_module, migration):
    steps = [{"name": "plan", "seconds": 2, "records": 66}, {"name": "read back", "seconds": 0.25}]
    result = run_module(kafka_migration_report, directory=str(migration), ran_by="mia", steps=steps)
    ticket = (migration / "report.md").read_text()
    assert not result["changed"] and "| Run by | `mia` |" in ticket
    assert "| plan | 2.0 s | 66 | 33 |" in ticket and "| read back | 0.2 s |  |  |" in ticket


def test_an_empty_directory_gets_a_report_that_says_so(run_module, tmp_path):
    result = run_module(kafka_migration_report, directory=str(tmp_path))
    assert result["headline"] == "There is no plan yet." and "snapshot.json, plan.json" in result["notes"][0]


def test_a_file_that_does_not_belong_to_the_others_is_refused_or_left_out(run_module, migration):
    (migration / "snapshot.json").write_text(texts_of(ENTRIES[:1])["snapshot.json"], encoding="utf-8")
    refused = run_module(kafka_migration_report, directory=str(migration))
    assert refused["failed"] and "another snapshot" in refused["msg"] and not (migration / "report.html").exists()
    result = run_module(kafka_migration_report, directory=str(migration), on_mismatch="leave_out")
    assert any("another snapshot" in note for note in result["notes"])


def test_a_directory_that_is_missing_is_refused(run_module, tmp_path):
    result = run_module(kafka_migration_report, directory=str(tmp_path / "none"))
    assert result["failed"] and "is no directory" in result["msg"]


def test_a_selection_that_is_none_is_refused(run_module, migration):
    result = run_module(kafka_migration_report, directory=str(migration), selection={"group": ["billing"]})
    assert result["failed"] and "'group'" in result["msg"]
