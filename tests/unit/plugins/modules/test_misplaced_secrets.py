"""A secret in the wrong place is refused and not shown: not at -vvvv, not in a stored result, not in the system's log."""

import json

import pytest
from ansible.module_utils._internal import _traceback
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamshift.kafka.plugins.modules import kafka_group_offsets
from tests.support.playbooks import NOWHERE, Controller

SECRET = "TOPSECRET"
SASL = {**NOWHERE, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "me"}
OAUTH = {
    **NOWHERE, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "oauth_client_id": "me",
    "oauth_client_secret": "TOPSECRET-client",
}  # fmt: skip


def config(**properties):
    return {**NOWHERE, "client_config": {name.replace("_", "."): value for name, value in properties.items()}}


# What users misplace -> the options of the cluster, and a part of the message that has to name it.
CASES = {
    "Java's login module": (config(sasl_jaas_config=f'... required password="{SECRET}";'), "sasl.jaas.config"),
    "OAuth's configuration": (config(sasl_oauthbearer_config=f"secret={SECRET}"), "sasl.oauthbearer.config"),
    "a key of Java's": (config(ssl_keystore_key=f"-----BEGIN PRIVATE KEY-----{SECRET}"), "ssl.keystore.key"),
    "a token": (config(sasl_token=SECRET), "sasl.token"),
    "capital letters": (config(SASL_PASSWORD=SECRET), "SASL.PASSWORD"),
    "a password": (config(sasl_password=SECRET), "sasl.password"),
    "an unknown property": (config(my_own=SECRET), "cannot connect"),
    "a dictionary": (config(x={"password": SECRET}), "value of x"),
    "a list": (config(x=[SECRET]), "value of x"),
    "a text of properties": ({**NOWHERE, "client_config": f"sasl.password={SECRET}"}, "sasl.password"),
    "a text of no properties": ({**NOWHERE, "client_config": SECRET}, "client_config"),
    "password:": ({**SASL, "password": SECRET}, "cluster.password"),
    "sasl_pass:": ({**SASL, "sasl_pass": SECRET}, "cluster.sasl_pass"),
    "an unknown dictionary": ({**SASL, "login": {"user": "me", "x": SECRET}}, "cluster.login"),
    "no cluster": (f"sasl_password={SECRET}", "cluster"),
    "a token's address": (
        {**OAUTH, "oauth_token_url": f"http://user:{SECRET}@127.0.0.1:1/token?client_secret={SECRET}"},
        "http://***@127.0.0.1:1/token?***",
    ),
    "a token's query": ({**OAUTH, "oauth_token_url": f"http://127.0.0.1:1/token?client_secret={SECRET}"}, "/token?***"),
    "a broker's address": (
        {"bootstrap_servers": [f"SASL_SSL://user:{SECRET}@h:1"]}, "bootstrap server 'SASL_SSL://***@h:1'",
    ),
    "an address without a protocol": ({"bootstrap_servers": [f"{SECRET}@h:1"]}, "bootstrap server '***@h:1'"),
    "words after an address": ({"bootstrap_servers": [f"h:1;password={SECRET}"]}, "bootstrap server 'h:1***'"),
    "words after a name": ({"bootstrap_servers": [f"h {SECRET}"]}, "bootstrap server 'h***'"),
    "words after a protocol": ({"bootstrap_servers": [f"SASL_SSL://h:1;password={SECRET}"]}, "server 'SASL_SSL://h:1***'"),
    "a password as port": ({"bootstrap_servers": [f"h:{SECRET}"]}, "bootstrap server 'h:***' is not of the form"),
    "a key as certificate": ({**NOWHERE, "ssl_ca": f"-----BEGIN PRIVATE KEY-----\n{SECRET}"}, "ssl_ca is given"),
    "a password as mechanism": ({**SASL, "sasl_mechanism": SECRET.title()}, "sasl_mechanism has an unknown value"),
    "a password as protocol": ({**SASL, "security_protocol": SECRET.lower()}, "security_protocol"),
    "a password as region": (
        {**OAUTH, "oauth_client_id": None, "oauth_client_secret": None, "aws_region": SECRET}, "aws_region is not the name",
    ),
    "a password as number": ({**NOWHERE, "request_timeout": SECRET}, "request_timeout"),
    "a password as truth value": ({**NOWHERE, "ssl_check_hostname": SECRET}, "ssl_check_hostname"),
    "a wrong number": ({**NOWHERE, "request_timeout": "soon", "password": SECRET}, "request_timeout"),
}  # fmt: skip


# Those that Ansible itself plays, which takes a second each; the others differ only within the module.
PLAYED = [
    "Java's login module", "OAuth's configuration", "a key of Java's", "a token", "capital letters", "a dictionary",
    "password:", "sasl_pass:", "no cluster", "a token's address", "a broker's address",
]  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What Ansible prints at -vvvv of one play with all cases, and the stored results."""
    folder = tmp_path_factory.mktemp("misplaced")
    stored = folder / "results.json"
    module = {"cluster": "{{ cases[item][0] }}", "groups": ["billing"], "snapshot": str(folder / "s.json")}
    rest = {
        "source": NOWHERE, "destination": NOWHERE, "topics": ["orders"], "receipt": str(folder / "r.json"),
        "replication_policy": {"source_alias": "src"}, "method": "rest",
        "rest": {"url": "{{ url }}", "pasword": "{{ word }}"},
    }  # fmt: skip
    tasks = [
        {"name": "Try", "streamshift.kafka.kafka_group_offsets": module, "register": "tried", "loop": PLAYED,
         "ignore_errors": True},
        {"name": "Ask", "streamshift.kafka.kafka_connect_offsets": rest, "register": "asked", "ignore_errors": True},
        {"name": "Translate", "streamshift.kafka.kafka_offset_translate": {
            "source": NOWHERE, "destination": "{{ cases['password:'][0] }}", "plan": str(folder / "p.json"),
            "spark": {"master": "{{ master }}", "conf": {"spark.my.own": "{{ word }}"}},
        }, "register": "translated", "ignore_errors": True},
        {"name": "Store", "ansible.builtin.copy": {
            "content": "{{ {'tried': tried, 'asked': asked, 'translated': translated} | to_json }}",
            "dest": str(stored), "mode": "0600",
        }},
    ]  # fmt: skip
    variables = {
        "cases": CASES, "word": f"{SECRET}-word", "url": f"http://user:{SECRET}@127.0.0.1:1/", "master": f"spark://u:{SECRET}@h:1",
    }  # fmt: skip
    (folder / "variables.json").write_text(json.dumps(variables))
    words = "-vvvv", "-e", f"@{folder / 'variables.json'}"
    output = Controller(folder, cloud=NOWHERE).run_play(*words, tasks=tasks).output
    assert stored.exists(), output
    return output, stored.read_text()


def test_no_misplaced_secret_is_printed_or_stored(played):
    printed, stored = played
    shown = [line for line in printed.splitlines() if SECRET in line]
    assert shown == []
    assert SECRET not in stored


def test_ansible_says_what_is_refused(played):
    results = json.loads(played[1])
    for name, result in zip(PLAYED, results["tried"]["results"], strict=True):
        assert result["failed"] and CASES[name][1] in result["msg"]
        assert result["invocation"]["module_args"]["groups"] == ["billing"]
    assert "rest.pasword" in results["asked"]["msg"] and "destination.password" in results["translated"]["msg"]


@pytest.mark.parametrize("name", CASES)
def test_what_is_misplaced_is_refused_by_its_name_and_not_shown_in_a_traceback_either(
    run_module, tmp_path, name, monkeypatch
):
    monkeypatch.setattr(_traceback, "_is_traceback_enabled", lambda _event: True)
    cluster, said = CASES[name]
    result = run_module(kafka_group_offsets, cluster=cluster, groups=["g"], snapshot=str(tmp_path / "s.json"))
    assert result["failed"] and said in result["msg"] and "kafka_group_offsets.py" in result["exception"]
    assert __file__ not in result["exception"], "what starts a module may have all of its options in a line"
    assert SECRET not in json.dumps(result).upper().replace("TOPSECRET-CLIENT", "")


def test_what_is_no_secret_is_shown(run_module, tmp_path):
    cluster = {**SASL, "password": SECRET}
    result = run_module(kafka_group_offsets, cluster=cluster, groups=["g"], snapshot=str(tmp_path / "s.json"))
    found = result["invocation"]["module_args"]["cluster"]
    assert {name: value for name, value in found.items() if name in cluster} == {**SASL, "password": "***"}


def test_harmless_properties_are_shown_and_no_offset_is_masked(run_module, tmp_path):
    properties = {"metadata.max.age.ms": 46, "client.rack": "eu-1a", "my.own": "46"}
    cluster = {**NOWHERE, "client_config": properties}
    result = run_module(kafka_group_offsets, cluster=cluster, groups=["g"], snapshot=str(tmp_path / "46.json"))
    made = result["invocation"]["module_args"]
    assert made["cluster"]["client_config"] == {**properties, "my.own": "***"}
    assert made["snapshot"] == str(tmp_path / "46.json")


def test_the_systems_log_holds_no_misplaced_secret(run_module, tmp_path, monkeypatch):
    logged = []
    monkeypatch.setattr(AnsibleModule, "log", lambda _self, msg, log_args=None: logged.append(f"{msg} {log_args}"))
    for name in ("an unknown property", "Java's login module", "a token's address"):
        run_module(kafka_group_offsets, cluster=CASES[name][0], groups=["g"], snapshot=str(tmp_path / "s.json"))
    assert len(logged) == 3 and "snapshot" in logged[0]
    assert not [line for line in logged if SECRET in line]
