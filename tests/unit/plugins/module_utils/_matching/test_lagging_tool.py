# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What shows that a lagging replication tool has come as far as the group: only the copy of an unconsumed record does."""

from __future__ import annotations

import pytest

from tests.attack import rule
from tests.attack.case import parse
from tests.attack.judge import judge

LAGS = {
    "a copy of an equal record that has expired": "S x@0(gone) a@10 x@50 T x@0<0 F a@10<1 x@50<2 C=2",
    "the same, stamped by the broker": "S x@0(gone) a@10 x@50 T x@999(L)<0 F a@999(L)<1 x@999(L)<2 C=2",
    "a record that was copied twice": "S a@1 b@2 a@1 C=2 T a@1<0 a@1<0 F b@2<1 a@1<2",
    "one of equal records, the last of which is consumed": "S c@0 p4@0 c@0 T c@0<0 c@0<0 F p4@0<1 c@0<2 C=3",
    "a destination-only record": "S b@0 a@10 x@50 T x@9 F b@0<0 a@10<1 x@50<2 C=2",
}


@pytest.mark.parametrize("text", LAGS.values(), ids=LAGS)
@pytest.mark.parametrize("way", [rule.near, rule.whole])
def test_a_record_of_another_time_is_no_arrival(way, text: str) -> None:
    case = parse(text)
    assert judge(case, "", way(case)) == []
