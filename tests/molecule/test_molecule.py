# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The users' stories, played by molecule on real brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Beside the scenarios is one that starts and stops the clusters which the others share.
SCENARIOS = sorted(file.parent.name for file in ROOT.glob("molecule/*/molecule.yml"))


@pytest.mark.timeout(2400)
def test_every_scenario(run_tool):
    assert set(SCENARIOS) > {"default"}
    molecule = {"MOLECULE_GLOB": "molecule/*/molecule.yml"}
    try:
        said = run_tool("molecule", "test", "--all", **molecule)
    except BaseException:
        # The time limit, too, ends molecule before it has stopped its clusters.
        run_tool("molecule", "destroy", "--all", **molecule)
        raise
    recap = said.partition("SCENARIO RECAP")[2]
    assert all(scenario in recap for scenario in SCENARIOS), said
