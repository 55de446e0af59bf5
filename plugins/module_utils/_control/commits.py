# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Set and remove what groups have committed. Errors come back as values: what to do about them is the caller's choice.

Every error text begins with Kafka's own name of it, such as UNKNOWN_MEMBER_ID.
"""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError, ConnectionFailed
from .._model.group_state import Commits, CommittedOffset
from .._model.grouping import chunks
from .._model.records import TopicPartition
from .._model.wording import first_names
from .abilities import Ability, KnownSince
from .admin_client import AdminClient, Request, exchange, missing_part
from .attempts import DEADLINE_SECONDS, attempt
from .coordinators import GROUPS_PER_REQUEST, find_coordinators, raise_for_groups
from .reasons import ErrorCode, as_exception, error_name, passes
from .topics import partition_rows, topic_rows

Errors = dict[TopicPartition, str]
Codes = dict[TopicPartition, int]

# The coordinator writes what one request commits as one batch, which message.max.bytes (1 MB by default) limits.
BATCH_BYTES = 400_000
_BUSY = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "STALE_MEMBER_EPOCH", "NON_EMPTY_GROUP")
BUSY_FOR_REMOVAL = ("NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC")
_GROUP = TopicPartition("", -1)  # where the error of a whole group is kept
_EXPLAINED = {
    **dict.fromkeys(_BUSY, "the group has members"),
    "GROUP_SUBSCRIBED_TO_TOPIC": "a member of the group is subscribed to the topic",
    "GROUP_ID_NOT_FOUND": "it is no consumer group",
    "OFFSET_METADATA_TOO_LARGE": "the metadata is longer than the broker's offset.metadata.max.bytes",
    "UNKNOWN_TOPIC_OR_PARTITION": "there is no such partition",
    "TOPIC_AUTHORIZATION_FAILED": "needs ACL TOPIC READ on {topic}",
    "UNSUPPORTED_VERSION": "the group's broker does not offer {needed}",
    "GROUP_AUTHORIZATION_FAILED": "needs ACL GROUP {operation} on {group}",
}


class Unanswered(str):
    """The text of an error after which nobody knows what the broker has done."""

    __slots__ = ()


def commit_offsets(
    connection: Connection, wanted: t.Mapping[str, Commits], deadline: float = DEADLINE_SECONDS
) -> dict[str, Errors]:
    """Commit for many groups at once; every group is in the answer, with the partitions that were not stored.

    Metadata is written character for character, a leader epoch of None as none. The broker refuses a group that has
    members as a whole. What one group is refused does not touch the others.
    deadline: seconds after which no further try begins.
    Raises ValueError, before anything is sent, for an offset that no file may hold: the broker would store one below 0.
    """
    for group, commits in wanted.items():
        if not all(0 <= commit.offset < 1 << 63 for commit in commits.values()):
            raise ValueError(f"{group}: an offset cannot be committed")

    def send(client: AdminClient, coordinators: t.Mapping[str, int]) -> dict[str, Codes]:
        batches = [(group, batch) for group in coordinators for batch in _batches(group, wanted[group])]
        requests = [_commit_request(coordinators[group], group, batch) for group, batch in batches]
        answers = exchange(client, requests, partly=True)
        codes: dict[str, Codes] = {group: {} for group in coordinators}
        for (group, batch), answer in zip(batches, answers, strict=True):
            codes[group].update(_codes(batch, answer))
        return codes

    partitions = {group: list(commits) for group, commits in wanted.items()}
    return _until_settled(partitions, Ability.COMMITS, connection, send, deadline)


def delete_offsets(connection: Connection, wanted: t.Mapping[str, t.Collection[TopicPartition]]) -> dict[str, Errors]:
    """Remove single commits of many groups; every group is in the answer, with the partitions where that failed.

    Not every broker can do that (Ability.REMOVE_OFFSETS). Needs ACL GROUP DELETE. A group or a commit that is not there is what
    was wanted.
    """

    def send(client: AdminClient, coordinators: t.Mapping[str, int]) -> dict[str, Codes]:
        requests = [_delete_request(node, group, wanted[group]) for group, node in coordinators.items()]
        answers = exchange(client, requests, partly=True)
        return {group: _codes(wanted[group], answer) for group, answer in zip(coordinators, answers, strict=True)}

    partitions = {group: list(each) for group, each in wanted.items()}
    return _until_settled(partitions, Ability.REMOVE_OFFSETS, connection, send)


def delete_groups(connection: Connection, groups: t.Collection[str]) -> dict[str, str]:
    """Remove whole groups; the answer has only those that could not be. A group that is not there is what was wanted."""

    def send(client: AdminClient, coordinators: t.Mapping[str, int]) -> dict[str, Codes]:
        requests = [Request("DeleteGroups", {"groups_names": [name]}, node) for name, node in coordinators.items()]
        rows = [getattr(answer, "results", [answer])[0] for answer in exchange(client, requests, partly=True)]
        return {group: {_GROUP: _unless_gone(row.error_code)} for group, row in zip(coordinators, rows, strict=True)}

    wanted = {group: [_GROUP] for group in sorted(set(groups))}
    failed = _until_settled(wanted, Ability.REMOVE_GROUPS, connection, send)
    return {group: each[_GROUP] for group, each in failed.items() if each}


def _coordinated(
    client: AdminClient, connection: Connection, wanted: t.Mapping[str, t.Iterable[TopicPartition]]
) -> tuple[dict[str, int], dict[str, Codes]]:
    """The broker of each group, and for groups that have none at the moment why not: nothing is sent for these now."""
    found = find_coordinators(client, list(wanted))
    waiting = {group: code for group, (_node, code) in found.items() if code and passes(code)}
    raise_for_groups(connection, {group: code for group, (_node, code) in found.items() if group not in waiting})
    coordinators = {group: node for group, (node, _code) in found.items() if group not in waiting}
    return coordinators, {group: dict.fromkeys(wanted[group], code) for group, code in waiting.items()}


def _until_settled(
    wanted: t.Mapping[str, t.Sequence[TopicPartition]],
    ability: Ability,
    connection: Connection,
    send: t.Callable[[AdminClient, t.Mapping[str, int]], dict[str, Codes]],
    deadline: float = DEADLINE_SECONDS,
) -> dict[str, Errors]:
    """Send for the groups that are left until none of their errors is one that passes by itself, or time is up.

    send: for some groups, with the coordinator of each. What they are answered is kept when a later part has no answer.
    """
    settled: dict[str, Errors] = {group: {} for group, partitions in wanted.items() if not partitions}
    sent = False
    unanswered: set[str] = set()
    known = None  # what brokers offer, as attempt() learns it: it would not know whose answers there are already

    def once(client: AdminClient) -> None:
        nonlocal sent, known
        left = {group: wanted[group] for group in wanted if group not in settled}
        if not left:
            return
        sent, before = True, set(unanswered)
        passing: dict[str, int] = {}
        not_offered: dict[str, Codes] = {}

        def settle(answered: t.Mapping[str, Codes]) -> None:
            for group, codes in answered.items():
                if waits := [code for code in codes.values() if passes(code)]:
                    passing[group] = waits[0]
                elif ErrorCode.UNSUPPORTED_VERSION in codes.values():
                    not_offered[group] = codes
                else:
                    settled[group] = _explained(group, codes, ability.value, group in before)
                if group not in before and all(codes.values()):
                    unanswered.discard(group)  # nothing was done, or sent

        coordinators, not_sent = _coordinated(client, connection, left)
        settle(not_sent)
        for part in chunks(list(coordinators.items()), GROUPS_PER_REQUEST):
            unanswered.update(group for group, _node in part)  # until there is an answer
            settle(send(client, dict(part)))
        if not_offered:
            earlier, known = known, client.learn_versions()
            if known is not earlier:
                once(client)
                return
            need = missing_part(client, ability) or ability.value
            settled.update(
                (group, _explained(group, each, need, group in before)) for group, each in not_offered.items()
            )
        if passing:
            raise as_exception(next(iter(passing.values())), f"for {first_names(passing)}")

    try:
        attempt(connection, once, deadline)
    except (BrokerError, ConnectionFailed) as exc:
        if not sent:
            raise
        # Others may have been stored already, so the error is said of the groups that it is about, and not raised.
        why = Unanswered(f"REQUEST_TIMED_OUT: it may have been done or not ({exc})")
        settled |= {group: dict.fromkeys(wanted[group], why) for group in wanted if group not in settled}
    return {group: settled[group] for group in wanted}


def _explained(group: str, codes: Codes, need: KnownSince, is_unknown: bool) -> Errors:
    """need: what was asked of the broker. is_unknown: whether a try before had no answer, or one not about everything."""
    operation = "READ" if need.request == Ability.COMMITS.value.request else "DELETE"
    failed: Errors = {}
    for partition, code in codes.items():
        if code:
            name = error_name(code)
            text = _EXPLAINED.get(name, "").format(
                topic=partition.topic, group=group, operation=operation, needed=need.needed
            )
            why = f"{name}: {text}" if text else name
            if is_unknown:
                why = Unanswered(f"{why}; an earlier try without an answer may have done it")
            failed[partition] = why
    return failed


def _codes(asked: t.Iterable[TopicPartition], answer: t.Any) -> Codes:
    """Every partition that was asked for with its error code; one that the answer leaves out counts as failed."""
    if of_group := getattr(answer, "error_code", 0):
        return dict.fromkeys(asked, _unless_gone(of_group))
    codes = {partition: row.error_code for partition, row in partition_rows(answer.topics)}
    return {partition: codes.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR) for partition in asked}


def _unless_gone(code: int) -> int:
    return 0 if code == ErrorCode.GROUP_ID_NOT_FOUND else code


def _commit_request(node: int, group: str, commits: Commits) -> Request:
    """As an administrator: no member, no generation. A broker accepts that only for a group without members."""
    fields = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "retention_time_ms": -1,
        "topics": topic_rows((partition, _commit_row(partition, commit)) for partition, commit in commits.items()),
    }
    return Request("OffsetCommit", fields, node, highest=8)


def _commit_row(partition: TopicPartition, commit: CommittedOffset) -> dict[str, t.Any]:
    return {
        "partition_index": partition.partition,
        "committed_offset": commit.offset,
        "committed_leader_epoch": -1 if commit.leader_epoch is None else commit.leader_epoch,
        "committed_metadata": commit.metadata,
    }


def _delete_request(node: int, group: str, partitions: t.Iterable[TopicPartition]) -> Request:
    topics = topic_rows((partition, {"partition_index": partition.partition}) for partition in partitions)
    return Request("OffsetDelete", {"group_id": group, "topics": topics}, node)


def _batches(group: str, commits: Commits) -> t.Iterator[Commits]:
    batch: Commits = {}
    size = 0
    for partition, commit in commits.items():
        more = 100 + len(group.encode()) + len(partition.topic) + len(commit.metadata.encode())
        if batch and size + more > BATCH_BYTES:
            yield batch
            batch, size = {}, 0
        batch[partition] = commit
        size += more
    if batch:
        yield batch
