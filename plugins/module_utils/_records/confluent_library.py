# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
# ruff: noqa: F401 - others import these names from here
# pylint: disable=unused-import
"""The names of confluent-kafka and xxhash that this package uses.

Where one is missing, modules still start; _module/frame.py says what is missing before any of the names is used.
"""

from __future__ import annotations

from .._model.missing import stand_ins

try:
    from confluent_kafka import (
        TIMESTAMP_LOG_APPEND_TIME,
        TIMESTAMP_NOT_AVAILABLE,
        Consumer,
        KafkaError,
        KafkaException,
        Message,
        Producer,
        TopicPartition,
    )
    from confluent_kafka.admin import AdminClient
    from xxhash import xxh3_128_digest
except ImportError as exc:
    globals()["__getattr__"] = stand_ins(exc)  # type checkers know the names
