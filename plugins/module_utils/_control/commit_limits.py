# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the brokers of a cluster take in a commit, as far as they tell."""

from __future__ import annotations

from .._model.connection import Connection
from .admin_client import attempt, exchange, raise_if_retriable
from .kafka_library import DescribeConfigsRequest, KafkaAdminClient, errors
from .topics import broker_ids

BROKER_RESOURCE = 4  # the resource type of DescribeConfigs
METADATA_LIMIT = "offset.metadata.max.bytes"


def metadata_limit(connection: Connection) -> int | None:
    """The smallest offset.metadata.max.bytes of all brokers that are up; None without ACL CLUSTER DESCRIBE_CONFIGS."""

    def read(client: KafkaAdminClient) -> int | None:
        resource = DescribeConfigsRequest.DescribeConfigsResource
        requests = [
            (
                DescribeConfigsRequest(
                    resources=[
                        resource(
                            resource_type=BROKER_RESOURCE, resource_name=str(node), configuration_keys=[METADATA_LIMIT]
                        )
                    ]
                ),
                node,
            )
            for node in broker_ids(client)
        ]
        rows = [row for answer in exchange(client, requests) for row in answer.results]
        for row in rows:
            raise_if_retriable(errors.for_code(row.error_code))
        if any(row.error_code for row in rows):
            return None
        return min(
            (int(each.value) for row in rows for each in row.configs if each.name == METADATA_LIMIT), default=None
        )

    return attempt(connection, read)
