"""Garbage is collected again after work that has failed, too."""

import gc

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.background import without_collecting


def test_garbage_is_collected_again_when_the_work_has_ended_or_failed():
    with pytest.raises(OSError), without_collecting():
        assert not gc.isenabled()
        raise OSError
    assert gc.isenabled()
