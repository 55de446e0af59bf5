"""query('streamshift.kafka.given', ...) checks the variables of a role as Ansible has them."""

import os

import pytest
from ansible import context
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from jinja2 import UndefinedError

from ansible_collections.streamshift.kafka.plugins.lookup import given
from ansible_collections.streamshift.kafka.plugins.lookup.given import LookupModule
from ansible_collections.streamshift.kafka.plugins.plugin_utils._given import role_options
from ansible_collections.streamshift.kafka.plugins.plugin_utils._inventory import beside_inventory, inventory_directory
from ansible_collections.streamshift.kafka.plugins.plugin_utils._templated import Templated

DEFAULTS = {
    "known": None,
    "facts": [],
    "sides": [],
    "hosts": [],
    "places": {},
    "waves": [],
    "metrics": "",
    "plan": "",
    "looked": [],
}


def look_up(what, name, variables, elsewhere=None, **options):
    """Strings among the variables are templates. Nothing but the names of hosts comes from the inventory.

    elsewhere: what other hosts see of these variables, if not the same.
    """
    raw = {key: trust_as_template(value) if isinstance(value, str) else value for key, value in variables.items()}
    raw |= {
        "inventory_hostname": "cloud",
        "inventory_dir": "/srv",
        "groups": {"all": ["cloud"]},
        "hostvars": {"cloud": elsewhere or raw},
    }
    lookup = LookupModule(loader=DataLoader(), templar=Templar(loader=DataLoader(), variables=raw))
    lookup._load_name = "streamshift.kafka.given"
    lookup.set_options = lambda **_given: None
    lookup.get_option = {**DEFAULTS, **options}.__getitem__
    return lookup.run([what, name], raw)


CLONE = {
    "group_clone_directory": "files",
    "group_clone_cluster": "cloud",
    "group_clone_group_map": [{"name": "billing", "to": "invoices"}],
    "kafka_cluster": {"bootstrap_servers": ["a:1"]},
}


def test_values_are_those_that_templates_make():
    (changed,) = look_up("changed", "group_clone", {"group_clone_on_rewind": "{{ other }}", "other": "keep"})
    assert changed == {"group_clone_on_rewind": "keep"}


def test_a_variable_of_a_file_of_the_command_whose_beginning_is_misspelt_is_a_problem(monkeypatch):
    monkeypatch.setattr(given, "load_extra_vars", lambda _loader: {"grup_clone_on_rewind": "keep"})
    (line,) = look_up("problems", "group_clone", {"grup_clone_on_rewind": "keep"})
    assert "Did you mean group_clone_on_rewind?" in line


def test_what_ansible_cuts_at_a_blank_of_the_command_is_a_problem(monkeypatch):
    monkeypatch.setattr(context, "CLIARGS", {"extra_vars": ("group_clone_groups=billing ledger",)})
    (line,) = look_up("problems", "group_clone", {"group_clone_groups": "billing"})
    assert """-e '{"group_clone_groups": ["billing", "ledger"]}'""" in line


def test_a_default_that_is_an_expression_has_not_been_changed():
    given = {"topic_promotion_source": "onprem", "topic_promotion_destination": "cloud"}
    raw = {**given, "topic_promotion_fence_receipt": "{{ other }}", "other": "mine"}
    default = role_options("topic_promotion")["topic_promotion_directory"]["default"]
    (changed,) = look_up("changed", "topic_promotion", {**raw, "topic_promotion_directory": default})
    assert changed == {**given, "topic_promotion_fence_receipt": "mine"}


def test_a_variable_that_is_omitted_is_none():
    (changed,) = look_up("changed", "group_clone", {"group_clone_plan_digest": "{{ omit }}"})
    assert changed == {}


def test_a_text_of_names_tells_them_apart():
    assert look_up("names", ["b", "a, c", "bell\a"], {}) == ["b, 'a, c', bell\\u0007"]
    assert look_up("names", [], {}) == [""]


def test_relative_paths_are_beside_the_inventory():
    assert look_up("beside", "files", {}) == ["/srv/files"]
    assert look_up("beside", 2026, {}) == ["/srv/2026"]
    assert look_up("beside", [False, None], {}) == ["", ""]
    assert look_up("beside", ["/etc/files", "~/files", ""], {}) == ["/etc/files", os.path.expanduser("~/files"), ""]


def test_a_localhost_that_the_inventory_does_not_name_takes_the_directory_of_its_hosts():
    hosts = {"onprem": {"inventory_dir": None}, "cloud": {"inventory_dir": "/srv"}}
    variables = {"groups": {"all": ["onprem", "cloud"]}, "hostvars": hosts}
    assert inventory_directory(variables) == "/srv"
    assert beside_inventory("files", {"inventory_dir": "None"}) == os.path.join(os.getcwd(), "files")


def test_a_value_that_the_host_does_not_have_is_told():
    for name in ("groups", "phase", "directory", "plan_digest"):
        undefined = {f"group_clone_{name}": "{{ nowhere }}"}
        (line,) = look_up("preflight", "group_clone", {**CLONE, **undefined}, hosts=["cloud"])
        assert f"group_clone_{name} has no value: 'nowhere' is undefined" in line


class Undefined:
    """As in hostvars, where values are worked out when they are read."""

    def __repr__(self):
        raise UndefinedError("'nowhere' is undefined")


def test_each_key_of_a_cluster_without_a_value_is_told():
    def cluster(nowhere):
        secrets = {"sasl_username": nowhere, "request_timeout": "soon", "sasl_password": nowhere}
        return {"kafka_cluster": {"bootstrap_servers": [nowhere], **secrets}}

    raw = {**CLONE, **cluster(trust_as_template("{{ nowhere }}"))}
    lines = look_up("problems", "group_clone", raw, cluster(Undefined()), hosts=["cloud"])
    assert [line.partition(". ")[0] for line in lines] == [
        "kafka_cluster.bootstrap_servers of host cloud has no value: 'nowhere' is undefined",
        "kafka_cluster.sasl_username of host cloud has no value: 'nowhere' is undefined",
        "kafka_cluster.sasl_password of host cloud has no value: 'nowhere' is undefined",
        "Host cloud: kafka_cluster.request_timeout is ***",
    ]


SECRET = {"kafka_cluster": {"bootstrap_servers": ["a:1"], "sasl_password": trust_as_template("{{ vault_password }}")}}


def test_a_secret_without_a_value_is_told_where_the_play_of_the_host_does_not_define_it():
    elsewhere = {"kafka_cluster": {"bootstrap_servers": ["a:1"], "sasl_password": Undefined()}}
    (line,) = look_up("problems", "list_groups", SECRET, elsewhere, known={}, hosts=["cloud"])
    assert (
        "kafka_cluster.sasl_password of host cloud has no value: 'nowhere' is undefined. Define what it is made of"
        in line
    )
    defined = SECRET | {"vault_password": "hunter2"}
    assert look_up("problems", "list_groups", defined, elsewhere, known={}, hosts=["cloud"]) == []


def test_a_failed_look_up_of_a_secret_is_left_to_the_task_that_needs_it():
    class Failing:
        """As in hostvars."""

        def __repr__(self):
            raise UndefinedError("a captured exception") from AnsibleError("no vault answers hunter2")

    raw = {**CLONE, "kafka_cluster": {"bootstrap_servers": ["a:1"], "sasl_password": Failing()}}
    assert look_up("clusters", "group_clone", raw, sides=["cluster"]) == []


def test_what_other_hosts_lack_does_not_matter_to_a_host_without_an_inventory_file():
    templated = Templated({"hostvars": {"onprem": SECRET}, "groups": {"all": ["onprem"]}}, Templar(loader=DataLoader()))
    assert inventory_directory(templated) == ""


@pytest.mark.parametrize(
    ("what", "name", "options", "begin"),
    [
        ("problems", "kafka_sandbox", {}, "kafka_sandbox_running is no variable of the role kafka_sandbox."),
        ("problems", "kafka_sandbox", {"facts": ["kafka_sandbox_running"]}, None),
        (
            "problems",
            "list_groups",
            {"known": {"groups": "list"}, "hosts": ["clod"]},
            "clod is no host of this inventory. Did you mean",
        ),
        ("problems", "list_groups", {"known": {}, "places": {"it": ["/srv"]}}, None),
        ("clusters", "group_clone", {"sides": ["cluster"]}, None),
        ("clusters", "topic_fence", {"sides": ["cluster"]}, "Name the cluster, as a host of the inventory"),
        (
            "preflight",
            "group_clone",
            {"plan": "/p", "looked": [{"__common_path": "/p", "stat": {"exists": False}}]},
            "There is no plan",
        ),
        (
            "preflight",
            "group_clone",
            {"metrics": "kafka.prom"},
            "group_clone_metrics is kafka.prom. Name an absolute path",
        ),
    ],
)
def test_each_question_has_its_answer(what, name, options, begin):
    lines = look_up(what, name, {**CLONE, "kafka_sandbox_running": {}}, **options)
    assert [line.startswith(begin) for line in lines] == [True] * bool(begin)
