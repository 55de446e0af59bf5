"""A module needs its libraries, and says its errors in one line."""

import importlib.metadata
import sys
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import Request, exchange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.missing import unmet
from ansible_collections.streamshift.kafka.plugins.module_utils._module.frame import REQUIREMENTS, reporter
from ansible_collections.streamshift.kafka.plugins.module_utils._module.frame import Module as Framed
from ansible_collections.streamshift.kafka.plugins.module_utils._module.masking import hidden

GOOD = {"confluent-kafka": "2.10.0", "kafka-python": "3.0.12", "xxhash": "3.0.0"}


class Module:
    """What Module.run() uses of an AnsibleModule."""

    def __init__(self):
        self.params = {}
        self.no_log_values = set()

    def fail_json(self, **result):
        self.result = {"failed": True, **result}
        raise SystemExit(1)

    def exit_json(self, **result):
        self.result = result
        raise SystemExit(0)


@pytest.fixture
def installed(monkeypatch):
    """The versions that are installed; None for a library that is not."""
    versions = dict(GOOD)

    def version(name):
        if versions[name] is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    return versions


def said(main):
    module = Module()
    with pytest.raises(SystemExit):
        Framed.run(module, main)
    return module.result


@pytest.mark.parametrize(
    ("library", "version", "told"),
    [
        ("kafka-python", None, "kafka-python >= 3.0.12, < 3.1 is missing"),
        ("kafka-python", "2.3.1", "kafka-python >= 3.0.12, < 3.1 is needed, and 2.3.1 is installed"),
        ("kafka-python", "3.0.11", "kafka-python >= 3.0.12, < 3.1 is needed, and 3.0.11 is installed"),
        ("kafka-python", "3.1.0", "kafka-python >= 3.0.12, < 3.1 is needed, and 3.1.0 is installed"),
        ("kafka-python", "3.1.0rc1", "kafka-python >= 3.0.12, < 3.1 is needed, and 3.1.0rc1 is installed"),
        ("confluent-kafka", None, "confluent-kafka >= 2.10 is missing"),
        ("confluent-kafka", "2.9.1", "confluent-kafka >= 2.10 is needed, and 2.9.1 is installed"),
        ("xxhash", None, "xxhash >= 3.0 is missing"),
        ("xxhash", "2.0.2", "xxhash >= 3.0 is needed, and 2.0.2 is installed"),
    ],
)
def test_a_library_that_does_not_do_is_named_in_one_line(installed, library, version, told):
    installed[library] = version
    message = said(lambda _module: pytest.fail("nothing may be done without the libraries"))["msg"]
    assert message.startswith(f"{told} for {sys.executable}. ")
    assert "pip install -r requirements.txt" in message
    assert "ansible_python_interpreter" in message
    assert "\n" not in message


def test_all_missing_libraries_are_named_at_once(installed):
    installed.update(dict.fromkeys(GOOD))
    assert len(unmet(REQUIREMENTS)) == len(GOOD)


@pytest.mark.parametrize(
    ("library", "version"),
    [("kafka-python", "3.0.99"), ("confluent-kafka", "2.14.0"), ("confluent-kafka", "2.10"), ("xxhash", "3.5.0")],
)
def test_libraries_that_do(installed, library, version):
    installed[library] = version
    assert unmet(REQUIREMENTS) == []


def test_the_libraries_that_are_installed_here_do():
    assert unmet(REQUIREMENTS) == []


def test_a_result_ends_the_module(installed):
    assert said(lambda _module: {"changed": True}) == {"changed": True}


def test_an_error_is_one_line_and_says_where(installed):
    def fail(_module):
        raise NotFound(
            "the group does not exist", cluster="source cluster a:1", group="billing", remedy="correct groups"
        )

    assert said(fail) == {
        "failed": True,
        "msg": "source cluster a:1, group billing: the group does not exist. Correct groups.",
        "failure": {
            "kind": "not_found",
            "cluster": "source cluster a:1",
            "group": "billing",
            "topic": None,
            "partition": None,
        },
    }


def test_what_nobody_has_thought_of_is_not_hidden(installed):
    def fail(_module):
        raise KeyError("a mistake in the collection")

    with pytest.raises(KeyError):
        Framed.run(Module(), fail)


def test_the_token_of_a_spark_connect_server_is_masked_as_the_client_quotes_it():
    spec = {"spark": {"type": "dict", "options": {"remote": {"type": "str", "no_log": True}}}}
    remote = "sc://host:15002/;use_ssl=true;token=U2VjcmV0%3D%3D"
    assert hidden({"spark": {"remote": remote}}, spec) == {remote, "U2VjcmV0%3D%3D", "U2VjcmV0=="}


def test_of_the_address_of_a_spark_connect_server_only_what_may_be_a_secret_is_masked():
    options = {"remote": {"type": "str", "no_log": True}}
    spec = {"spark": {"type": "dict", "options": options}, "groups": {"type": "list"}}
    remote = "sc://host/;user_id=billing;user_agent=streamshift;use_ssl=true;token=s3cr3t-abc;x-team=shipping"
    given = {"spark": {"remote": remote}, "groups": ["shipping"]}
    assert hidden(given, spec) == {remote, "s3cr3t-abc"}


@pytest.mark.parametrize(
    ("request_sent", "changed"),
    [
        (Request("DeleteGroups", {"groups_names": ["billing"]}), True),
        (Request("DeleteTopics", {"topics": [], "timeout_ms": 1}), True),
        (Request("OffsetDelete", {"group_id": "billing", "topics": []}), True),
        (Request("CreateAcls", {"creations": []}), True),
        (Request("IncrementalAlterConfigs", {"resources": [], "validate_only": False}), True),
        (Request("IncrementalAlterConfigs", {"resources": [], "validate_only": True}), None),
        (Request("ListGroups", {}), None),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_an_error_after_a_request_that_changes_something_does_not_say_that_nothing_has_changed(
    installed, request_sent, changed
):
    def fail(_module):
        manager = types.SimpleNamespace(run=lambda _run: [None])
        client = types.SimpleNamespace(manager=manager, offered_versions={})
        exchange(client, [request_sent])
        raise NotFound("the connection was lost")

    assert said(fail).get("changed") is changed
    assert "changed" not in said(lambda _module: (_ for _ in ()).throw(NotFound("of the next module")))


def test_every_line_is_there_at_once(tmp_path):
    say = reporter(str(tmp_path / "progress"))
    say("Spark is starting")
    assert (tmp_path / "progress").read_text() == "Spark is starting\n"
    say("one\nline")
    assert (tmp_path / "progress").read_text() == "Spark is starting\none line\n"


def test_work_goes_on_where_lines_cannot_be_written(tmp_path):
    for nowhere in (None, str(tmp_path), str(tmp_path / "missing/progress")):
        reporter(nowhere)("Spark is starting")
    assert list(tmp_path.iterdir()) == []
