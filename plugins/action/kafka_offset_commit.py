# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ..plugin_utils._option_names import OptionNamesActionModule


class ActionModule(OptionNamesActionModule):
    """Run kafka_offset_commit, whose messages name the variables of the role that calls it."""
