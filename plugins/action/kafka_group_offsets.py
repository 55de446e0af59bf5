# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ..plugin_utils._progress import ProgressActionModule


class ActionModule(ProgressActionModule):
    """Run kafka_group_offsets, and show what it is doing."""
