"""Each login in docs/logging-in.md is one that both clients take."""

import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from

PAGE = (Path(__file__).parents[3] / "docs/logging-in.md").read_text(encoding="utf-8")
EXAMPLES = [yaml.safe_load(block)["kafka_cluster"] for block in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)]
PEM = "-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.get("sasl_mechanism", "certificates"))
def test_a_login_of_the_page_is_one(example):
    filled = {
        name: re.sub(r"\{\{.*\}\}", "x", value) if isinstance(value, str) else value for name, value in example.items()
    }
    texts = {name: PEM for name in ("ssl_ca", "ssl_cert", "ssl_key") if name in filled}
    assert connection_from({**filled, **texts}).bootstrap_servers


def test_the_page_has_all_of_its_logins():
    assert len(EXAMPLES) == PAGE.count("kafka_cluster:\n") == 7
