# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups there are, and what they have committed."""

from __future__ import annotations

import struct
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import (
    attempt,
    exchange,
    raise_if_retriable,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.kafka_library import (
    ConsumerProtocolSubscription,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    KafkaAdminClient,
    ListGroupsRequest,
    OffsetFetchRequest,
    errors,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    Commits,
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import first_of
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

SETTLE_SECONDS = 2.0
GROUPS_PER_REQUEST = 200
_REBALANCING = ("PreparingRebalance", "CompletingRebalance")
_REBALANCE_SECONDS = 10.0  # a new group waits 3 seconds for its members (group.initial.rebalance.delay.ms)
_NAMED = 20  # groups in a message
GROUP_KEY = 0  # the key type of FindCoordinator; 1 is a transactional id


def list_groups(connection: Connection, surely: bool = True) -> list[GroupListing]:
    """Every group that the user may describe, of every type, by name.

    While a coordinator moves, neither the old nor the new broker lists its groups. surely: two lists, SETTLE_SECONDS apart,
    are united, and the later one is believed about states.
    """
    begun = time.monotonic()
    found = attempt(connection, _listed)
    if surely:
        found |= {each.group: each for each in list_groups_again(connection, begun)}
    return [found[group] for group in sorted(found)]


def list_groups_again(connection: Connection, since: float) -> list[GroupListing]:
    """The same, SETTLE_SECONDS or more after an earlier list, which was read at this time.monotonic()."""
    time.sleep(max(0.0, since + SETTLE_SECONDS - time.monotonic()))
    return list_groups(connection, surely=False)


def read_groups(
    connection: Connection, groups: t.Sequence[str], stable: bool = True, skip_denied: bool = False
) -> dict[str, GroupReading]:
    """State, type and committed offsets of these groups, hundreds in one go.

    stable: wait while a transaction that commits offsets is open, instead of reading the value before it.
    A group that no broker knows comes back with exists=False. Offsets of topics that the user may not describe are
    left out by the broker, without a word: missing_acls() tells. Raises NotAuthorized naming the groups that are denied;
    skip_denied leaves them out instead, because who has CLUSTER DESCRIBE or ALTER lists groups that he may not describe.
    """
    asked = sorted(set(groups))

    def read(client: KafkaAdminClient) -> dict[str, GroupReading]:
        if not asked:
            return {}
        listed = _listed(client)
        where = coordinators(client, connection, asked, skip_denied)
        wanted = [group for group in asked if group in where]
        offsets = _committed(client, connection, where, stable)
        # Only a list shows what a KIP-848, share or streams group is; only a description that a group is not there.
        # Brokers before 2.6 list no states.
        doubtful = [group for group in wanted if group not in listed or not listed[group].state]
        described = _described(client, {group: where[group] for group in doubtful})
        readings = {}
        for group in wanted:
            one = listed.get(group)
            if one is None:
                if offsets[group] or described[group].group_state != "Dead":
                    raise errors.CoordinatorLoadInProgressError(f"{group} is there, but was not listed")
                readings[group] = GroupReading(group, False, "", "", "", {})
            else:
                state = one.state or described[group].group_state
                readings[group] = GroupReading(group, True, state, one.type, one.protocol_type, offsets[group])
        return readings

    return attempt(connection, read)


def subscriptions(connection: Connection, groups: t.Collection[str]) -> dict[str, frozenset[str] | None]:
    """The topics that members of these groups are subscribed to; None for a group whose members do not tell them.

    Brokers describe members of classic groups of consumers, but not while the group rebalances, which is waited for. The
    request that describes other groups (KIP-848) is not known to the library.
    """

    def read(client: KafkaAdminClient) -> dict[str, t.Any]:
        return _described(client, coordinators(client, connection, sorted(set(groups))))

    found = attempt(connection, read) if groups else {}
    end = time.monotonic() + _REBALANCE_SECONDS
    while any(row.group_state in _REBALANCING for row in found.values()) and time.monotonic() < end:
        time.sleep(0.5)
        found = attempt(connection, read)
    return {group: _subscribed(row) for group, row in sorted(found.items())}


def _subscribed(row: t.Any) -> frozenset[str] | None:
    if row.protocol_type != "consumer" or not row.members:
        return None
    topics: set[str] = set()
    for member in row.members:
        try:
            topics.update(ConsumerProtocolSubscription.decode(member.member_metadata).topics)
        except (struct.error, ValueError, IndexError):
            return None
    return frozenset(topics)


def coordinators(
    client: KafkaAdminClient, connection: Connection, groups: t.Sequence[str], skip_denied: bool = False
) -> dict[str, int]:
    """The broker of each group. Raises NotAuthorized naming the groups that are denied, or leaves them out."""
    found = find_coordinators(client, groups)
    if skip_denied:
        denied = errors.GroupAuthorizationFailedError
        found = {group: its for group, its in found.items() if errors.for_code(its[1]) is not denied}
    _raise_for(connection, {group: code for group, (_node, code) in found.items()})
    return {group: node for group, (node, _code) in found.items()}


def find_coordinators(client: KafkaAdminClient, groups: t.Sequence[str]) -> dict[str, tuple[int, int]]:
    """(broker, error code) for each group; unlike the library's call it neither caches nor asks one by one."""
    if _version(client, FindCoordinatorRequest) >= 4:
        asked = [
            FindCoordinatorRequest(coordinator_keys=list(chunk), key_type=GROUP_KEY, min_version=4)
            for chunk in _chunks(groups)
        ]
        answers = exchange(client, [(each, None) for each in asked])
        return {row.key: (row.node_id, row.error_code) for answer in answers for row in answer.coordinators}
    asked = [FindCoordinatorRequest(key=group, key_type=GROUP_KEY, max_version=3) for group in groups]
    answers = exchange(client, [(each, None) for each in asked])
    return {group: (row.node_id, row.error_code) for group, row in zip(groups, answers, strict=True)}


def _listed(client: KafkaAdminClient) -> dict[str, GroupListing]:
    """All groups that the brokers list.

    The client must be new, as those of attempt() are: it knows its brokers from its first metadata, and asks for no others.
    """
    nodes = [broker.node_id for broker in client._manager.cluster.brokers()]
    found = {}
    for answer in exchange(client, [(ListGroupsRequest(), node) for node in nodes]):
        error = errors.for_code(answer.error_code)
        if error is not errors.NoError:
            raise error()
        for row in answer.groups:
            state, kind = getattr(row, "group_state", None), getattr(row, "group_type", None)
            found[row.group_id] = GroupListing(
                row.group_id, state or "", (kind or "unknown").lower(), row.protocol_type
            )
    return found


def _committed(
    client: KafkaAdminClient, connection: Connection, where: t.Mapping[str, int], stable: bool
) -> dict[str, Commits]:
    """Requests of our own, since the library's public call knows neither require_stable nor errors of one group."""
    if _version(client, OffsetFetchRequest) >= 8:
        asked = [
            (
                OffsetFetchRequest(
                    groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=each, topics=None) for each in chunk],
                    require_stable=stable,
                    min_version=8,
                    max_version=8,
                ),
                node,
            )
            for node, groups in by_node(where).items()
            for chunk in _chunks(groups)
        ]
        found = [(row.group_id, row) for answer in exchange(client, asked) for row in answer.groups]
    else:
        asked = [
            (
                OffsetFetchRequest(
                    group_id=group, topics=None, require_stable=stable, min_version=7 if stable else 2, max_version=7
                ),
                node,
            )
            for group, node in where.items()
        ]
        found = list(zip(where, exchange(client, asked), strict=True))
    _raise_for(connection, {group: row.error_code for group, row in found})
    return {group: _commits(row) for group, row in found}


def _commits(row: t.Any) -> Commits:
    commits = {}
    for topic in row.topics:
        for each in topic.partitions:
            error = errors.for_code(each.error_code)
            if error is not errors.NoError:
                raise error(f"{topic.name}-{each.partition_index}")
            if each.committed_offset >= 0:
                epoch = getattr(each, "committed_leader_epoch", -1)
                commits[TopicPartition(topic.name, each.partition_index)] = CommittedOffset(
                    each.committed_offset, each.metadata or "", epoch if epoch >= 0 else None
                )
    return commits


def _described(client: KafkaAdminClient, where: t.Mapping[str, int]) -> dict[str, t.Any]:
    asked = [(DescribeGroupsRequest(groups=list(groups)), node) for node, groups in by_node(where).items()]
    found = {row.group_id: row for answer in exchange(client, asked) for row in answer.groups}
    for row in found.values():
        error = errors.for_code(row.error_code)
        if error not in (errors.NoError, errors.GroupIdNotFoundError):
            raise error(row.group_id)
    return found


def _raise_for(connection: Connection, codes: t.Mapping[str, int]) -> None:
    denied = []
    for group, code in codes.items():
        error = errors.for_code(code)
        raise_if_retriable(error)
        if error is errors.GroupAuthorizationFailedError:
            denied.append(group)
        elif error not in (errors.NoError, errors.GroupIdNotFoundError):
            raise error(group)
    if denied:
        raise NotAuthorized(
            f"needs ACL GROUP DESCRIBE on {first_of(sorted(denied), _NAMED)}",
            cluster=str(connection),
            remedy="grant it to the user of this cluster",
        )


def by_node(where: t.Mapping[str, int]) -> dict[int, list[str]]:
    nodes: dict[int, list[str]] = {}
    for group, node in where.items():
        nodes.setdefault(node, []).append(group)
    return nodes


def _chunks(groups: t.Sequence[str]) -> t.Iterator[t.Sequence[str]]:
    for start in range(0, len(groups), GROUPS_PER_REQUEST):
        yield groups[start : start + GROUPS_PER_REQUEST]


def _version(client: KafkaAdminClient, request: type[t.Any]) -> int:
    versions: t.Any = client._manager.broker_version_data  # known as soon as a client is connected
    return int(versions.api_version(request))
