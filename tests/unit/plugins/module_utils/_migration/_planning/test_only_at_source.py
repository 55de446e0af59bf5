"""One sweep over a partition counts for every group what counting for it alone does."""

import collections
import random

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.absent import missing
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.only_at_source import PartitionPair
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record


def log(chance, size):
    """Few contents and times, and gaps between the offsets."""
    offsets = sorted(chance.sample(range(3 * size), size))
    return [
        Record(at, chance.randrange(2), content, content) for at in offsets for content in [chance.choice(CONTENTS)]
    ]


CONTENTS = (b"a", b"b", b"c", b"d")


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_a_sweep_counts_as_each_group_alone(seed, times):
    chance = random.Random(seed)
    records, copies = log(chance, 30), log(chance, 25)
    pair = PartitionPair(records, copies, times)
    key = Matching(timestamp=times, headers=True).key
    for committed in sorted(chance.choices(range(92), k=12), reverse=True):
        offset = chance.randrange(80)  # of groups whose order differs, offsets go either way
        unconsumed = [record for record in records if record.offset >= committed]
        lacking = missing(unconsumed, [copy for copy in copies if copy.offset >= offset], key)
        first = min((record.offset for record in lacking), default=None)
        assert pair.lacking(committed, offset) == (len(lacking), first)
        consumed = collections.Counter(key(record) for record in records if record.offset < committed)
        before = collections.Counter(key(copy) for copy in copies if copy.offset < offset)
        assert pair.precedes(committed, offset) == any(before[its] > consumed[its] for its in map(key, lacking))
