"""Settings of all unit tests."""

import pytest
from hypothesis import HealthCheck, settings

from ansible_collections.streamshift.kafka.plugins.module_utils._http import tokens

# Stable from run to run, and a slow machine is no failure.
settings.register_profile(
    "streamshift", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("streamshift")


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test has no tokens of another one, whose endpoint may have had the same port."""
    monkeypatch.setattr(tokens, "_sources", {})
