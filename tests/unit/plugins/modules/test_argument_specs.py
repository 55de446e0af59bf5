"""What modules accept is what their documentation says, and no secret is shown."""

import importlib
import json
import re
import types
import typing as t
from pathlib import Path
from unittest import mock

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.module_utils._model import policies, promotion
from ansible_collections.streamshift.kafka.plugins.module_utils._module.frame import COMMON_SPEC

ROOT = Path(__file__).parents[4]
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
PACKAGE = "ansible_collections.streamshift.kafka.plugins"
SECRETS = {"oauth_token", "sasl_password", "ssl_cert", "ssl_key", "ssl_key_password", "oauth_client_secret"}
PEM = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"
Spec = dict[str, t.Any]


def module_of(name: str) -> types.ModuleType:
    return importlib.import_module(f"{PACKAGE}.modules.{name}")


def documented(name: str) -> Spec:
    """The options that a module's documentation names, those of its fragments included."""
    documentation = yaml.safe_load(module_of(name).DOCUMENTATION)
    options: Spec = dict(documentation.get("options", {}))
    for fragment in documentation["extends_documentation_fragment"]:
        file, _dot, part = fragment.removeprefix("streamshift.kafka.").partition(".")
        source = importlib.import_module(f"{PACKAGE}.doc_fragments.{file}").ModuleDocFragment
        shared = yaml.safe_load(getattr(source, part.upper() or "DOCUMENTATION")).get("options", {})
        # What a module says of an option itself counts, as for Ansible.
        options |= {option: {**its, **options.get(option, {})} for option, its in shared.items()}
    return options


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> t.Callable[[str], Spec]:
    """``accepted(name)`` gives a module's argument spec."""

    def spec_of(name: str) -> Spec:
        module = module_of(name)
        made = mock.Mock()
        monkeypatch.setattr(module, "Module", made)
        module.main()
        spec: Spec = made.call_args.args[0]
        return spec

    return spec_of


def said(options: Spec, inner: str) -> Spec:
    """Of options, whether documented or specified, all that both must say, in one form."""
    return {
        name: {
            "type": option.get("type", "str"),
            "elements": option.get("elements"),
            "required": option.get("required", False),
            "default": option.get("default"),
            "choices": sorted(option.get("choices") or []),
            "aliases": sorted(option.get("aliases") or []),
            "options": said(option.get(inner) or {}, inner),
        }
        for name, option in options.items()
    }


def leaves(spec: Spec) -> t.Iterator[tuple[str, Spec]]:
    for name, option in spec.items():
        yield name, option
        yield from leaves(option.get("options") or {})


@pytest.mark.parametrize("name", MODULES)
def test_options_are_those_of_the_documentation(name, accepted):
    assert said({**accepted(name), **COMMON_SPEC}, "options") == said(documented(name), "suboptions")


@pytest.mark.parametrize("name", MODULES)
def test_options_that_say_what_to_do_have_the_values_of_their_enumeration(name, accepted):
    for option, spec in accepted(name).items():
        if option.startswith("on_"):
            its = {"on_active_source": "on_active_group"}.get(option, option).title().replace("_", "")
            values = getattr(policies, its, None) or getattr(promotion, its)
            assert set(spec["choices"]) <= set(values), option


@pytest.mark.parametrize("name", MODULES)
def test_every_secret_is_masked_and_nothing_else(name, accepted):
    options = accepted(name)
    masked = {option for option, spec in leaves(options) if spec.get("no_log")}
    its = {"spark": {"remote"}, "rest": {"password"}, "schema_registry": {"password"}, "connect": {"password"}}
    assert masked == SECRETS.union(*(secrets for option, secrets in its.items() if option in options))


@pytest.mark.parametrize("name", MODULES)
def test_an_option_that_looks_like_a_secret_is_decided_about(name, accepted):
    looks = re.compile("pass|secret|token|private|cert$|key$")
    undecided = {n for n, spec in leaves(accepted(name)) if looks.search(n) and "no_log" not in spec}
    assert undecided == set()


@pytest.mark.parametrize("misplaced", [{}, {"ssl.keystore.password": "s3cret-store"}])
def test_no_secret_is_in_what_a_module_says(run_module, tmp_path, misplaced):
    secrets = {
        "sasl_password": "s3cret-password",
        "ssl_cert": PEM.format("s3cret-cert"),
        "ssl_key": PEM.format("s3cret-key"),
        "ssl_keyfile": "/also/given",
        "ssl_key_password": "s3cret-phrase",
        "oauth_client_secret": "s3cret-client",
    }
    cluster = {
        "bootstrap_servers": "127.0.0.1:1",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "client_config": misplaced,
        **secrets,
    }
    result = run_module(
        module_of("kafka_group_offsets"), cluster=cluster, groups=["billing"], snapshot=str(tmp_path / "s.json")
    )
    assert result["failed"]  # before anything is connected
    assert result["msg"].startswith("cluster: ")
    assert "s3cret" not in json.dumps(result)


@pytest.mark.parametrize("kind", ["groups", "topics"])
def test_the_documented_default_excludes_are_those_that_apply(kind):
    selection = importlib.import_module(f"{PACKAGE}.module_utils._model.selection")
    default = selection.DEFAULT_EXCLUDED_GROUPS if kind == "groups" else selection.DEFAULT_EXCLUDED_TOPICS
    text = documented("kafka_group_offsets")[f"exclude_{kind[:-1]}_patterns"]["description"][-1]
    assert tuple(re.findall(r"C\((.*?)\)(?:,|\.|$)", text)) == default


def test_the_libraries_are_named_with_the_same_versions_everywhere():
    libraries = importlib.import_module(f"{PACKAGE}.module_utils._model.missing")
    needed, text_of = libraries.CONTROL + libraries.RECORDS, libraries.version_text
    fragment = importlib.import_module(f"{PACKAGE}.doc_fragments._cluster").ModuleDocFragment.DOCUMENTATION
    wanted = {
        name: f"{name} >= {text_of(lowest)}" + (f", < {text_of(too_new)}" if too_new else "")
        for name, lowest, too_new in needed + libraries.SPARK
    }
    everywhere = [wanted[name] for name, _lowest, _too_new in needed]
    assert sorted(yaml.safe_load(fragment)["requirements"]) == sorted(everywhere)
    small = {name for name, _lowest, _too_new in needed}
    for name, text in wanted.items():
        file = "requirements.txt" if name in small else "requirements-spark.txt"
        lines = (ROOT / file).read_text().splitlines()
        line = next(line for line in lines if line.startswith(name))
        assert line.startswith(text.replace(" ", ""))


@pytest.mark.parametrize("name", MODULES)
def test_a_failure_is_documented_as_it_is_returned(name: str) -> None:
    failure = yaml.safe_load(module_of(name).RETURN)["failure"]
    assert (failure["returned"], failure["type"]) == ("failure", "dict")
    assert "C(docs/troubleshooting.md)" in failure["description"]
