"""A short form of `make faults`: one migration to three brokers, each step of which is killed, frozen or cut off."""

from tests.faults.run import play
from tests.faults.shares import Share
from tests.faults.tally import STEPS, Tally

SEED = 1  # of a migration without Spark, whose faults test_backlog_kills.py has


def test_a_migration_survives_whatever_happens_to_it():
    tally = Tally(print)
    play("4.3.0", SEED, 1, tally, Share(copy=4, quick=1, cycles=1, situations=0, trips=0))
    assert not tally.violations, "\n".join(tally.violations)
    runs = {step for (_kind, step, what), number in tally.counts.items() if what == "runs" and number}
    assert runs == set(STEPS)
