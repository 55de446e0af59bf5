# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A short form of `make soak`: rounds beside a company that works, a cut-over, and every record consumed once."""

from __future__ import annotations

import pytest

from tests.soak.run import play


@pytest.mark.timeout(1200)
def test_no_record_is_left_out_or_repeated_beyond_the_promise_after_twenty_rounds():
    violations = play(rounds=20, seed=1, verify="anchors", say=print)
    assert not violations, "\n".join(violations)
