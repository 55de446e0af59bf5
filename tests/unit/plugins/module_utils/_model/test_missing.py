"""What stands for the names of a library that is not installed."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.missing import stand_ins

REASON = ImportError("librdkafka.so.1: cannot open shared object file")
name = stand_ins(REASON)


def test_code_that_names_what_is_missing_can_be_imported():
    class Client(name("Base")):
        limit = frozenset({name("errors").Unknown, name("errors").Unknown._LATER.still})

    assert len(Client.limit) == 2


def test_the_first_use_tells_the_true_reason():
    class Client(name("Base")):
        pass

    for call in (name("Consumer"), name("errors").for_code, Client):
        with pytest.raises(ImportError) as told:
            call({})
        assert told.value is REASON


def test_a_module_with_stand_ins_is_still_a_plain_module():
    with pytest.raises(AttributeError):
        name("__path__")
