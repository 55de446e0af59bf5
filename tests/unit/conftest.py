# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of all unit tests."""

from __future__ import annotations

from hypothesis import settings

# Stable from run to run, and a slow machine is no failure.
settings.register_profile("streamshift", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("streamshift")
