# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of all unit tests."""

from __future__ import annotations

from hypothesis import settings

# Stable from run to run, and a slow machine is no failure.
settings.register_profile("streamshift", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("streamshift")
