# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No way to an answer breaks a promise in a few worlds of each class; `make attack` asks the same of very many."""

from __future__ import annotations

import functools

import pytest

from tests.attack.classes import CLASSES
from tests.attack.examples import complaints
from tests.attack.tally import Tally, attack
from tests.attack.ways import EVERY_WAY

WORLDS = 4  # of each class
MOST_RECORDS = 150
SHORT = [name for name in CLASSES if not name.startswith("long")]  # no world of the others is so short

attacked = functools.cache(functools.partial(attack, seeds=range(WORLDS), most_records=MOST_RECORDS))


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("way", EVERY_WAY)
def test_no_world_breaks_a_promise(way: str, name: str) -> None:
    tally: Tally = attacked(name)
    assert not complaints(tally, way)
