# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
# ruff: noqa: F401 - others import these names from here
# pylint: disable=unused-import
"""The names of kafka-python that this package uses, beside those of requests in its modules admin, consumer and metadata.

Where one is missing, modules still start; _module/frame.py says what is missing before any of the names is used.
"""

from __future__ import annotations

from .._model.background import loading
from .._model.missing import stand_ins

try:
    with loading():
        from kafka import errors
        from kafka.admin import KafkaAdminClient
        from kafka.net.compat import KafkaNetClient
        from kafka.net.inet import KafkaNetSocket
        from kafka.net.manager import KafkaConnectionManager
        from kafka.net.sasl.oauth import AbstractTokenProvider
        from kafka.net.selector import NetworkSelector
        from kafka.partitioner.default import murmur2
        from kafka.protocol import admin, consumer, metadata
        from kafka.protocol.api_key import ApiKey
        from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
except ImportError as exc:
    globals()["__getattr__"] = stand_ins(exc)  # type checkers know the names
