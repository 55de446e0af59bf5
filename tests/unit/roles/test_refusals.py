# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What playbooks and roles refuse before they ask any cluster for anything."""

from __future__ import annotations

import pytest

from tests.support.playbooks import Controller, failed


@pytest.fixture
def controller(tmp_path):
    """Two clusters that nobody may ask: a test that does fails with another message."""
    nowhere = {"bootstrap_servers": ["127.0.0.1:1"]}
    return Controller(tmp_path / "infrastructure", onprem=nowhere, cloud=nowhere)


@pytest.mark.parametrize("play", ["migrate_groups", "rollback"])
def test_a_misspelt_variable_is_named_with_the_one_that_was_meant(controller, play):
    output = failed(controller.play(play, groups=["billing"], on_rewnd="rewind"))
    assert "group_migration_on_rewnd is no variable of the role group_migration" in output
    assert "Did you mean group_migration_on_rewind?" in output
    assert "cannot connect" not in output


@pytest.mark.parametrize("side", ["source", "destination"])
def test_a_misspelt_host_is_named_with_those_that_there_are(controller, side):
    output = failed(controller.migrate_groups(groups=["billing"], **{side: "clod"}))
    assert "clod is no host of this inventory with a variable kafka_cluster. Hosts of kafka_clusters: cloud, onprem." in (
        output
    )
