# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ..plugin_utils._progress import ProgressActionModule


class ActionModule(ProgressActionModule):
    """Run kafka_group_offsets, and show what it is doing."""
