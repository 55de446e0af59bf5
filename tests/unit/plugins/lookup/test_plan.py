"""lookup('streamshift.kafka.plan', path, query='...'): the documented queries, and what it refuses."""

import json
import re
from pathlib import Path

import pytest
import yaml
from ansible import constants
from ansible.errors import AnsibleLookupError
from ansible.parsing.dataloader import DataLoader

from ansible_collections.streamshift.kafka.plugins.lookup.plan import DOCUMENTATION, LookupModule
from tests.support.playbooks import NOWHERE, Controller, done, failed

NAME = "streamshift.kafka.plan"
PAGE = (Path(__file__).parents[4] / "docs/files.md").read_text(encoding="utf-8")
DOCUMENTED = {
    json.loads(text)["format"].split("/")[1]: text for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
}
QUERIES = re.findall(r"^\| (.+?) \| `(\w+)\.json` \| `(.+)` \|$", PAGE, re.MULTILINE)
ANSWERS = {
    "snapshot": [["orders", 0, 41], ["orders", 1, 60]],
    "plan": [["billing", "clicks", 0, "destination_lags"]],
    "receipt": [["billing", "orders", 0, 12, 46], ["billing", "orders", 1, None, 65]],
    "report": [
        ["billing", "1 unconsumed record is skipped: before the offset 47, first source offset 41, destination offset 46"]
    ],
    "copy": ["orders"],
}  # fmt: skip


def look_up(path, query=None, **variables):
    return look_up_all([str(path)], query, **variables)


def look_up_all(paths, query=None, **variables):
    # As Ansible's loader does it, which would load the collection a second time.
    options = yaml.safe_load(DOCUMENTATION)["options"]
    constants.config.initialize_plugin_configuration_definitions("lookup", NAME, options)
    lookup = LookupModule(loader=DataLoader())
    lookup._load_name = lookup.ansible_name = NAME
    return lookup.run(paths, variables, **({} if query is None else {"query": query}))


@pytest.fixture
def file(tmp_path):
    """A function that writes a text to a file."""

    def write(text):
        path = tmp_path / "file.json"
        path.write_text(text)
        return path

    return write


def test_the_page_has_a_query_for_each_file():
    assert sorted(kind for _question, kind, _query in QUERIES) == sorted(ANSWERS)


@pytest.mark.parametrize(("question", "kind", "query"), QUERIES)
def test_each_documented_query_answers_its_question(file, question, kind, query):
    query = query.replace("\\|", "|")
    assert look_up(file(DOCUMENTED[kind]), query) == [ANSWERS[kind]]


def test_without_a_query_the_whole_file_is_returned(file):
    assert look_up(file(DOCUMENTED["plan"])) == [json.loads(DOCUMENTED["plan"])]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("entries[?verdict=='blocked'", "cannot be run on"),
        ("", "cannot be run on"),
        ("length(snapshot, entries)", "length"),
        ("nonsense(entries)", "nonsense"),
    ],
)
def test_a_query_that_is_wrong_is_quoted_with_the_reason(file, query, why):
    with pytest.raises(AnsibleLookupError) as refused:
        look_up(file(DOCUMENTED["plan"]), query)
    assert f"The query {query!r} cannot be run on" in str(refused.value)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "its format is null, and those of a migration are streamshift.kafka/snapshot, plan, receipt, report, copy"),
        ("[1]", "its format is null"),
        ("billing,orders,0,41\n", "it is not JSON"),
        ('{"format": "streamshift.kafka/connect-receipt", "version": 1}', "its format is"),
        ('{"format": "streamshift.kafka/plan", "version": 2, "entries": []}', "and this release reads version 1"),
        ('{"format": "streamshift.kafka/plan", "version": 1}', "it has no list of entries"),
        ("[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_or_version_is_refused(file, text, why):
    path = file(text)
    with pytest.raises(AnsibleLookupError) as refused:
        look_up(path, "entries")
    assert why in str(refused.value) and str(path) in str(refused.value)


def test_a_missing_file_is_told_with_where_it_may_be(tmp_path):
    missing = tmp_path / "plan.json"
    with pytest.raises(AnsibleLookupError, match="no file .*plan.json on this machine. Correct the path"):
        look_up(missing, ansible_connection="local", inventory_hostname="cloud")
    with pytest.raises(
        AnsibleLookupError, match="If the tasks of cloud run on another machine, .* ansible.builtin.fetch"
    ):
        look_up(missing, inventory_hostname="cloud")


def test_without_a_path_nothing_is_found_which_must_not_pass_for_an_answer():
    with pytest.raises(AnsibleLookupError, match="needs the path of a file"):
        look_up_all([])


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(AnsibleLookupError, match="it is a directory"):
        look_up(tmp_path)


def test_a_playbook_queries_a_plan_and_is_told_what_is_wrong(file, tmp_path):
    controller, place = Controller(tmp_path / "infrastructure", cloud=NOWHERE), str(file(DOCUMENTED["plan"]))

    def played(query):
        shown = {"ansible.builtin.debug": {"msg": f"{{{{ lookup('{NAME}', place, query=query) }}}}"}}
        return controller.run_play(vars={"place": place, "query": query}, tasks=[shown])

    assert '"destination_lags"' in done(played("entries[?verdict=='blocked'].reason")).output
    assert "The query 'entries[' cannot be run on" in failed(played("entries["))
