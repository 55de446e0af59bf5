"""What tests of roles share."""

from pathlib import Path

import pytest

from tests.support.playbooks import NOWHERE, Controller


@pytest.fixture
def controller(tmp_path: Path) -> Controller:
    """Two clusters that do not answer: a test that asks one fails with another message."""
    return Controller(tmp_path / "infrastructure", onprem=NOWHERE, cloud=NOWHERE)
