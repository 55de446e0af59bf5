"""Why a run was fenced: by another run, which is named, or because its own transaction took too long."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress, Run
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import keepers

MINE, OTHER = (Run(name, f"host-{name}", 17, 1_700_000_000) for name in ("mine", "other"))
DESTINATION = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")


@pytest.fixture
def reason(monkeypatch):
    """What a run is told when the progress names this one."""

    def ask(owner):
        class Keepers(keepers.Keepers):
            def __init__(self, destination, groups, **_options):
                super().__init__(destination, [])
                self._groups = groups

            def progress(self, _ranges):
                return {TopicPartition("orders", 0): Progress(5, run=owner)}

        monkeypatch.setattr(keepers, "Keepers", Keepers)
        monkeypatch.setattr(keepers, "_NAMED_SECONDS", 0.1)
        return keepers.taken_over(DESTINATION, "streamshift-copy-progress-0", MINE, [])

    return ask


def test_another_run_is_named(reason):
    exc = reason(OTHER)
    assert isinstance(exc, Locked) and "another run copies the same records" in str(exc) and "host-other" in str(exc)


def test_a_run_that_stood_still_is_not_told_of_another_one(reason):
    exc = reason(MINE)
    assert not isinstance(exc, Locked | Refused)  # which would end the run: Spark may try again
    assert "another run copies" not in str(exc) and "stood still" in str(exc) and "run again" in str(exc).lower()
