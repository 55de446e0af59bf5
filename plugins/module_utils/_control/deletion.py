# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Records and topics that brokers are told to delete."""

from __future__ import annotations

import typing as t
import uuid

from .._model.connection import Connection
from .._model.errors import BrokerError
from .._model.records import TopicPartition
from .admin_client import AdminClient, Request, exchange
from .attempts import attempt, attempt_until
from .positions import partition_leaders
from .reasons import ErrorCode, raise_if_held_back
from .topics import broker_ids, raise_for_topics, request_metadata

POLICY_SECONDS = 10.0
GONE_SECONDS = 30.0
_BY_ID = 6  # the first version of DeleteTopics that takes the ids of topics, which every broker has that gives them


def delete_records(connection: Connection, before: t.Mapping[TopicPartition, int]) -> None:
    """Let the log of each partition begin at this offset. Brokers do so only where cleanup.policy has delete.

    They are granted POLICY_SECONDS to hear of a policy that has just been set. Raises NotAuthorized naming topics without
    ACL TOPIC DELETE, NotFound, or BrokerError.
    """
    names = sorted({partition.topic for partition in before})

    compact: set[str] = set()

    def delete(client: AdminClient) -> bool:
        leaders = partition_leaders(client, connection, names, before)
        answers = exchange(client, [_request(connection, leaders[each[0]], *each) for each in before.items()])
        topics = [topic for answer in answers for topic in answer.topics]
        codes = {topic.name: each.error_code for topic in topics for each in topic.partitions if each.error_code}
        compact.clear()
        compact.update(name for name, code in codes.items() if code == ErrorCode.POLICY_VIOLATION)
        if compact:
            return False
        raise_for_topics(connection, codes, "DELETE")
        return True

    if before and not attempt_until(connection, delete, POLICY_SECONDS):
        raise BrokerError(
            "the broker deletes no records of a topic whose cleanup.policy is compact",
            cluster=str(connection),
            topic=", ".join(sorted(compact)),
            remedy="add delete to its cleanup.policy, and run again",
        )


def _request(connection: Connection, leader: int, topic_partition: TopicPartition, before: int) -> Request:
    partition = {"partition_index": topic_partition.partition, "offset": before}
    topics = [{"name": topic_partition.topic, "partitions": [partition]}]
    return Request("DeleteRecords", {"topics": topics, "timeout_ms": int(connection.request_timeout * 1000)}, leader)


def delete_topics(connection: Connection, ids: t.Mapping[str, str]) -> None:
    """Delete these topics; one that is not there is what was wanted. Returns when no broker that is up shows them any more.

    ids: of the topics, by name, as topic_ids() tells. A topic of the same name that was made anew has another id, and stays.
    Raises NotAuthorized naming the topics without ACL TOPIC DELETE, or BrokerError.
    """
    wanted = sorted(ids)
    names = {uuid.UUID(topic_id): name for name, topic_id in ids.items()}
    unknown = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def delete(client: AdminClient) -> None:
        controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
        fields = {
            "topics": [{"name": None, "topic_id": topic_id} for topic_id in names],
            "timeout_ms": int(connection.request_timeout * 1000),
        }
        (answer,) = exchange(client, [Request("DeleteTopics", fields, controller, lowest=_BY_ID)])
        codes = {names[row.topic_id]: row.error_code for row in answer.responses if row.error_code not in unknown}
        raise_if_held_back(codes, answer)  # those that are deleted are unknown the next time
        raise_for_topics(connection, codes, "DELETE")

    def are_gone(client: AdminClient) -> bool:
        answers = [request_metadata(client, wanted, node=node) for node in broker_ids(client)]
        return not any(topic.topic_id in names for answer in answers for topic in answer.topics)

    if not wanted:
        return
    attempt(connection, delete)
    if not attempt_until(connection, are_gone, GONE_SECONDS):
        raise BrokerError(
            f"the brokers still show topics that were deleted {GONE_SECONDS:.0f} s ago",
            cluster=str(connection),
            topic=", ".join(wanted),
            remedy="check the controller, and run again",
        )
