"""A worker of Kafka Connect in its group: no client that we have joins with its protocol."""

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import (
    AdminClient,
    Request,
    exchange,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.attempts import attempt
from ansible_collections.streamshift.kafka.plugins.module_utils._control.coordinators import find_coordinators
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import raise_if_retriable
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import Servers


def connect_worker(cluster: Servers, group: str) -> None:
    """A worker of Kafka Connect joins its group, and stays for its session timeout."""

    def join(client: AdminClient) -> None:
        ((node, _error),) = find_coordinators(client, [group]).values()
        session = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000, "protocol_type": "connect"}
        protocols = [{"name": "sessioned", "metadata": b""}]
        request = Request("JoinGroup", {"group_id": group, "protocols": protocols, **session}, node, highest=2)
        (answer,) = exchange(client, [request])
        raise_if_retriable(answer.error_code)

    attempt(connection_from({"bootstrap_servers": list(cluster.bootstrap_servers)}), join)
