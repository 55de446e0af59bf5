# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What of a record is compared, as columns."""

from __future__ import annotations

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import Column, DataFrame, functions


def named(records: DataFrame, matching: Matching) -> DataFrame:
    """The records of scan() with the columns name (a fingerprint) and time, in which equal records are equal."""
    name = functions.col("fingerprint" if matching.headers else "bare")
    return records.withColumns({"name": name, "time": time_of(matching.timestamp)})


def time_of(compared: bool) -> Column:
    """The timestamp; where it is not compared, every record's time is the same."""
    return functions.col("timestamp") if compared else functions.lit(0).cast("bigint")
