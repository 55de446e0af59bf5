# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups there are, and what they have committed."""

from __future__ import annotations

import dataclasses
import math
import time
import types
import typing as t

from .._model.connection import Connection
from .._model.errors import GroupBusy, NotAuthorized
from .._model.group_state import UNKNOWN_STATE, GroupListing, GroupMember, GroupReading, open_text
from .._model.records import TopicPartition
from .abilities import Ability
from .admin_client import (
    AdminClient,
    BrokerQuestion,
    Request,
    answer_to,
    ask_together,
    can,
    missing_part,
    subscribed_topics,
)
from .attempts import DEADLINE_SECONDS, attempt
from .coordinators import (
    all_commits,
    by_node,
    coordinators_of,
    find_coordinators,
    first_commits,
    known_coordinators,
)
from .producers import named_transactions
from .reasons import ErrorCode, KafkaFailure, as_exception
from .topics import broker_ids

SETTLE_SECONDS = 2.0
STABLE_SECONDS = 5.0  # transactions of an application that runs end in less
_REBALANCING = ("PreparingRebalance", "CompletingRebalance")
_REBALANCE_SECONDS = 10.0  # a new group waits 3 seconds for its members (group.initial.rebalance.delay.ms)


def list_groups(connection: Connection, surely: bool = True) -> list[GroupListing]:
    """Every group that the user may describe, of every type, by name.

    While a coordinator moves, neither the old nor the new broker lists its groups. surely: two lists, SETTLE_SECONDS apart,
    are united, and the later one is believed about states. Raises NotAuthorized where brokers show no list.
    """
    begun = time.monotonic()
    listings = attempt(connection, lambda client: answer_to(client, _listing(client, broker_ids(client))))
    if listings is None:
        raise NotAuthorized(
            "needs ACL CLUSTER DESCRIBE on kafka-cluster",
            cluster=str(connection),
            why="brokers before Kafka 2.1 list groups to nobody else",
        )
    if surely:
        listings |= {each.group: each for each in list_groups_again(connection, begun)}
    return [listings[group] for group in sorted(listings)]


def list_groups_again(connection: Connection, since: float) -> list[GroupListing]:
    """The same, SETTLE_SECONDS or more after an earlier list, which was read at this time.monotonic()."""
    time.sleep(max(0.0, since + SETTLE_SECONDS - time.monotonic()))
    return list_groups(connection, surely=False)


def read_groups(
    connection: Connection,
    groups: t.Sequence[str],
    stable: bool = True,
    patience: float | None = None,
    beside: t.Mapping[str, t.Collection[TopicPartition]] = types.MappingProxyType({}),
    skip_denied: bool = False,
) -> dict[str, GroupReading]:
    """State, type and committed offsets of these groups, hundreds in one go.

    stable: while a transaction that commits offsets is open, read its group again, instead of taking the value before it, as
    far as brokers tell of such transactions (Ability.STABLE_OFFSETS). After
    patience, in seconds since the first answer that shows one (None: STABLE_SECONDS), GroupReading.open tells of it: it is no
    matter of the other groups.
    beside: partitions for which a group may have committed nothing. Brokers tell of transactions on these only if asked.
    A group that no broker knows comes back with exists=False. Offsets of topics that the user may not describe are
    left out by the broker, without a word: missing_acls() tells. Raises NotAuthorized naming the groups that are denied;
    skip_denied leaves them out instead, because who has CLUSTER DESCRIBE or ALTER lists groups that he may not describe.
    """
    wanted = sorted(set(groups))
    readings: dict[str, GroupReading] = {}
    seconds, end = STABLE_SECONDS if patience is None else patience, math.inf

    def read(client: AdminClient) -> None:
        nonlocal end
        left = [group for group in wanted if group not in readings]
        if not left:
            return
        listing = _listing(client) if can(client, Ability.GROUP_LIST) else BrokerQuestion([], lambda _answers: None)
        finding = coordinators_of(client, left)
        ask_together(client, listing, finding)
        listed = listing.answer()
        coordinators = known_coordinators(connection, finding.answer(), skip_denied)
        left = [group for group in left if group in coordinators]
        need = missing_part(client, Ability.STABLE_OFFSETS)
        not_told = need and need.note(str(connection))
        # Only a list shows what a KIP-848, share or streams group is; only a description that a group is not there.
        doubtful = [group for group in left if not (listed and group in listed and listed[group].state)]
        committed = all_commits(client, connection, coordinators, stable)
        describing = _descriptions(client, {group: coordinators[group] for group in doubtful})
        beginning = first_commits(client, {group: coordinators[group] for group in left if beside.get(group)}, beside)
        ask_together(client, committed, describing, beginning)
        (offsets, unstable), described, first = committed.answer(), describing.answer(), beginning.answer()
        if first or any(unstable.values()):
            end = min(end, time.monotonic() + seconds)
        settled: dict[str, GroupReading] = {}
        passing: KafkaFailure | None = None
        for group in left:
            shown = described[group].group_state if group in described else UNKNOWN_STATE
            known = bool(offsets[group] or unstable[group]) or shown not in ("Dead", UNKNOWN_STATE)
            one = (listed or {}).get(group)
            if listed is None and known:
                one = GroupListing(group, "", "unknown", described[group].protocol_type if described else "")
            if one is None and known:
                passing = as_exception(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{group} is there, but was not listed")
            elif (unstable[group] or group in first) and time.monotonic() < end:
                passing = passing or as_exception(ErrorCode.UNSTABLE_OFFSET_COMMIT, group)
            elif one is None:
                settled[group] = GroupReading(group, False, "", "", "", {})
            else:
                # A group of another protocol that no list shows is described as dead: it may have members.
                state = one.state or ("" if listed is None and shown == "Dead" else shown)
                settled[group] = GroupReading(
                    group, True, state, one.type, one.protocol_type, offsets[group], not_told=not_told
                )
        waiting = {group: unstable[group] | first.get(group, frozenset()) for group in left}
        readings.update(_with_open(client, connection, coordinators, settled, waiting))
        if passing is not None:
            raise passing

    attempt(connection, read, DEADLINE_SECONDS + seconds)
    return {group: readings[group] for group in wanted if group in readings}


def read_settled_groups(connection: Connection, groups: t.Sequence[str]) -> dict[str, GroupReading]:
    """As read_groups(), for what makes no sense while a transaction that commits offsets is open: raises GroupBusy then."""
    readings = read_groups(connection, groups, patience=DEADLINE_SECONDS)
    for name, reading in sorted(readings.items()):
        if reading.open:
            raise GroupBusy(
                open_text(reading.open),
                cluster=str(connection),
                group=name,
                remedy="wait for the application that writes it, or for its transaction.timeout.ms, and run again",
            )
    return readings


def _with_open(
    client: AdminClient,
    connection: Connection,
    coordinators: t.Mapping[str, int],
    settled: dict[str, GroupReading],
    unstable: t.Mapping[str, t.Collection[TopicPartition]],
) -> dict[str, GroupReading]:
    """The readings, with what is known of open transactions, and with what was committed before those."""
    waiting = {group: coordinators[group] for group in settled if unstable[group]}
    if not waiting:
        return settled
    before, _unstable = answer_to(client, all_commits(client, connection, waiting, stable=False))
    told = named_transactions(client, waiting)
    return settled | {
        group: dataclasses.replace(
            settled[group],
            offsets={**before[group], **settled[group].offsets},
            open=dict.fromkeys(sorted(unstable[group]), told[group]),
        )
        for group in waiting
    }


def subscriptions(connection: Connection, groups: t.Collection[str]) -> dict[str, frozenset[str] | None]:
    """The topics that members of these groups are subscribed to; None for a group whose members do not tell them.

    Brokers describe members of classic groups of consumers, but not while the group rebalances, which is waited for. The
    request that describes other groups (KIP-848) is not known to the library.
    """
    rows = _described(connection, groups)
    end = time.monotonic() + _REBALANCE_SECONDS
    while any(row.group_state in _REBALANCING for row in rows.values()) and time.monotonic() < end:
        time.sleep(0.5)
        rows = _described(connection, groups)
    return {group: _subscribed(rows.get(group)) for group in sorted(set(groups))}


def classic_members(connection: Connection, groups: t.Collection[str]) -> dict[str, tuple[GroupMember, ...]]:
    """Who is in each classic group, sorted. Groups that are gone or of another protocol are left out."""
    return {
        group: tuple(sorted(GroupMember(member.client_id, member.client_host.lstrip("/")) for member in row.members))
        for group, row in _described(connection, groups).items()
        if row.group_state != "Dead"
    }


def _described(connection: Connection, groups: t.Collection[str]) -> dict[str, t.Any]:
    """What coordinators tell of these groups."""
    if not groups:
        return {}

    def read(client: AdminClient) -> dict[str, t.Any]:
        coordinators = known_coordinators(connection, find_coordinators(client, sorted(set(groups))))
        return answer_to(client, _descriptions(client, coordinators))

    return attempt(connection, read)


def _subscribed(row: t.Any) -> frozenset[str] | None:
    if row is None or row.protocol_type != "consumer" or not row.members:
        return None
    topics: set[str] = set()
    for member in row.members:
        try:
            topics.update(subscribed_topics(member.member_metadata))
        except ValueError:
            return None
    return frozenset(topics)


def _listing(client: AdminClient, brokers: t.Collection[int] = ()) -> BrokerQuestion[dict[str, GroupListing] | None]:
    """Which groups do the brokers list? None where they show no list: before Kafka 2.1 (KIP-231), without CLUSTER DESCRIBE.

    brokers: by default those that the client knows from its last metadata, which may lack one that has just come back.
    """

    def read(answers: t.Sequence[t.Any]) -> dict[str, GroupListing] | None:
        listings = {}
        for answer in answers:
            if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                return None
            if answer.error_code:
                raise as_exception(answer.error_code)
            for row in answer.groups:
                state, kind = getattr(row, "group_state", None), getattr(row, "group_type", None)
                listings[row.group_id] = GroupListing(
                    row.group_id, state or "", (kind or "unknown").lower(), row.protocol_type
                )
        return listings

    return BrokerQuestion([Request("ListGroups", {}, node) for node in brokers or client.known_brokers], read)


def _descriptions(client: AdminClient, coordinators: t.Mapping[str, int]) -> BrokerQuestion[dict[str, t.Any]]:
    """What do coordinators tell of groups? Nothing where they do not offer that."""

    def read(answers: t.Sequence[t.Any]) -> dict[str, t.Any]:
        rows = {row.group_id: row for answer in answers for row in answer.groups}
        for row in rows.values():
            if row.error_code not in (0, ErrorCode.GROUP_ID_NOT_FOUND):
                raise as_exception(row.error_code, row.group_id)
        return rows

    parts = by_node(coordinators) if can(client, Ability.MEMBERS) else []
    return BrokerQuestion([Request("DescribeGroups", {"groups": list(groups)}, node) for node, groups in parts], read)
