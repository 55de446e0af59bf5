"""The lease file."""

import dataclasses
import json

from ansible_collections.streamshift.kafka.plugins.module_utils._model import lease

HELD = lease.Lease("host", "ns", 4711, 88, 1_700_000_000.5, "cut_over")


def test_a_lease_of_an_earlier_release_is_one_without_a_phase():
    assert lease.from_json(lease.to_json(HELD), "lease.json") == HELD
    earlier = json.loads(lease.to_json(HELD))
    del earlier["phase"]
    assert lease.from_json(json.dumps(earlier), "lease.json") == dataclasses.replace(HELD, phase=None)
