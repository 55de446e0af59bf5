"""Let this checkout be found as the collection that it is, wherever it lies.

Ansible, molecule (.config/molecule/config.yml) and pytest (pyproject.toml) all look in .ansible/collections.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

LINK = Path(__file__).parent / ".ansible/collections/ansible_collections/streamshift/kafka"

if not LINK.is_symlink():
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to("../../../..", target_is_directory=True)
    importlib.invalidate_caches()

# What a shell has set for other work would go before ansible.cfg and .venv. The Makefile leaves the same out.
for name in [name for name in os.environ if name.startswith("ANSIBLE_") or name == "SPARK_HOME"]:
    del os.environ[name]
