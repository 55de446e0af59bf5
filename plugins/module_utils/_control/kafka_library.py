# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
# ruff: noqa: F401 - others import these names from here
# pylint: disable=unused-import
"""The names of kafka-python that this package uses.

Where one is missing, modules still start; _module/frame.py says what is missing before any of the names is used.
"""

from __future__ import annotations

from .._model.garbage import loading
from .._model.missing import stand_ins

try:
    with loading():
        from kafka import errors
        from kafka.admin import KafkaAdminClient
        from kafka.net.compat import KafkaNetClient
        from kafka.net.manager import KafkaConnectionManager
        from kafka.net.sasl.oauth import AbstractTokenProvider
        from kafka.net.selector import NetworkSelector
        from kafka.protocol.admin import (
            CreateAclsRequest,
            CreatePartitionsRequest,
            CreateTopicsRequest,
            DeleteAclsRequest,
            DeleteGroupsRequest,
            DeleteRecordsRequest,
            DeleteTopicsRequest,
            DescribeAclsRequest,
            DescribeClusterRequest,
            DescribeConfigsRequest,
            DescribeGroupsRequest,
            DescribeLogDirsRequest,
            DescribeProducersRequest,
            DescribeTransactionsRequest,
            IncrementalAlterConfigsRequest,
            ListGroupsRequest,
            ListTransactionsRequest,
        )
        from kafka.protocol.consumer import (
            ListOffsetsRequest,
            OffsetCommitRequest,
            OffsetDeleteRequest,
            OffsetFetchRequest,
        )
        from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
        from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
except ImportError as exc:
    globals()["__getattr__"] = stand_ins(exc)  # type checkers know the names
