# SPDX-License-Identifier: GPL-3.0-or-later

"""A short form of `make matrix`: the package, installed into a folder of its own, migrates with the locked versions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.matrix.environment import Environment, build_package, install_package
from tests.matrix.story import tell


@pytest.mark.timeout(1200)
def test_the_installed_package_migrates_and_rolls_back(own_cluster, tmp_path):
    python = Path(sys.executable)
    package = build_package(tmp_path / "package", python.with_name("ansible-galaxy"))
    environment = Environment(tmp_path / "user", python)
    environment.folder.mkdir()
    installed = install_package(environment, package)
    assert not (installed / "tests").exists()
    tell(environment, own_cluster("source"), own_cluster("destination"), spark=True)
