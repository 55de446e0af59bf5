# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Where a time is in a log whose look-ups end at control records.

A broker answers a look-up with the first offset whose timestamp is late enough, and the control record that ends a
transaction has the time of that end. So where a tool copies old records in transactions, the first marker is later than
all of them, and every look-up ends there. Single records tell where the times really come to the one that is looked
for, if they do not run back. Nobody knows whether they do; so whoever goes by that has to read all that follows.
"""

from __future__ import annotations

from .context import Known
from .explain import check_stamps
from .log_reader import LogReader, Measure

_PARTS = 8  # into which what is left is divided in each round
_PROBE = 2  # offsets read at each place, because the first one may be a control record
_CLOSE = 8  # offsets: so near is near enough


def first_by_order(log: LogReader, known: Known, begin: int, timestamp: int) -> int | None:
    """An offset from `begin` on that the first record of at least this timestamp follows closely, if times do not run back.

    None where they are seen to do so. Takes log8 of the log's length in rounds. Raises NotRead, OtherMatching.
    """
    low, high, measure = begin, log.end, Measure()
    while high - low > _CLOSE:
        measure.shrink(high - low)
        places = range(low, high, max(_PROBE, (high - low) // _PARTS))[1:]
        probes = [(place, min(place + _PROBE, high)) for place in places]
        for probe in probes:
            log.want(*probe)
        records = [record for probe in probes for record in log.records(*probe)[:1]]
        check_stamps(known, records)
        late = [record.timestamp >= timestamp for record in records]
        if not records or late != sorted(late):
            return None
        at = late.count(False)
        low = records[at - 1].offset if at else low
        high = records[at].offset if at < len(records) else high
    return low
