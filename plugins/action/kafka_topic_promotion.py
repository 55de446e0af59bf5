# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ..plugin_utils._progress import ProgressActionModule


class ActionModule(ProgressActionModule):
    """Run kafka_topic_promotion, and show when it waits for a quota."""
