"""Topics, records and commits on a plaintext cluster: what producers, consumers and their operators do."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
import typing as t
import uuid

import kafka
import kafka.errors
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Received
from kafka import TopicPartition as ControlPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    UserScramCredentialUpsertion,
)
from kafka.protocol.api_key import ApiKey
from kafka.protocol.consumer import OffsetSpec
from kafka.structs import OffsetAndMetadata

SECONDS = 30.0  # the longest that anything here waits
ClientError = kafka.errors.KafkaError
NoSuchTopic = kafka.errors.UnknownTopicOrPartitionError
REQUEST_KEYS = {key.name: key.value for key in ApiKey}  # Kafka's number of each request

Value = t.TypeVar("Value")
Headers = tuple[tuple[str, bytes | None], ...]
Commits = dict[tuple[str, int], tuple[int, str]]  # by topic and partition: offset and metadata
Position = int | tuple[int, str]  # an offset to commit, with or without metadata
Positions = t.Mapping[tuple[str, int], Position]
Ends = set[tuple[str, int]]  # topics and partitions
Settings = str | float | bool  # one of librdkafka's


class Servers(t.Protocol):
    """A cluster that needs no credentials."""

    @property
    def bootstrap_servers(self) -> list[str]:
        """host:port of its brokers."""


class Message(t.NamedTuple):
    """A record to be written. timestamp is in milliseconds since the epoch; 0 means the time of writing, -1 none."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int = 0
    partition: int = 0


class Stored(t.NamedTuple):
    """A record as it is in a log. timestamp is in milliseconds since the epoch, -1 where there is none."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Partition(t.NamedTuple):
    """The brokers that lead a partition, have a replica of it, and are in sync."""

    leader: int
    replicas: set[int]
    in_sync: set[int]


def until(
    holds: t.Callable[[], Value],
    seconds: float = 60.0,
    what: str | t.Callable[[], str] = "it did not come about in time",
    pause: float = 0.1,
) -> Value:
    """The first answer that counts as true. TimeoutError that says what, after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(NoSuchTopic):  # of one that is about to be created
            if answer := holds():
                return answer
        if time.monotonic() > deadline:
            raise TimeoutError(what if isinstance(what, str) else what())
        time.sleep(pause)


def create_topic(cluster: Servers, name: str, partitions: int = 1, **settings: str | int) -> None:
    """Create a topic; settings are Kafka's own with underscores for dots.

    Records with old timestamps vanish within seconds on a sandbox, unless retention_ms=-1.
    """
    wanted: dict[str, dict[str, t.Any]] = {name: {"num_partitions": partitions, "configs": _texts(settings)}}
    tries = itertools.count(1)

    def create(client: KafkaAdminClient) -> None:
        first = next(tries) == 1
        if client._manager.broker_version < (2, 4):  # which know no default
            wanted[name]["replication_factor"] = len(cluster.bootstrap_servers)
        try:
            client.create_topics(wanted)
        except kafka.errors.TopicAlreadyExistsError:
            if first:
                raise
            # An earlier try has created it, and its answer was late or lost.

    _control(cluster, create)
    _control(cluster, lambda client: client.wait_for_topics([name]))


def change_topic(cluster: Servers, name: str, **settings: str | int) -> None:
    """Change some settings of a topic, named as for create_topic()."""
    resource = ConfigResource(ConfigResourceType.TOPIC, name, _texts(settings))
    answer = _control(cluster, lambda client: client.alter_configs([resource]))
    if any(said != "OK" for results in answer.values() for said in results.values()):
        raise RuntimeError(f"topic {name} could not be changed: {answer}")


def topic_settings(cluster: Servers, name: str) -> dict[str, str]:
    """A topic's own settings, by Kafka's names."""
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    found = _control(cluster, lambda client: client.describe_configs([resource]))["topic"][name]
    return {key: each["value"] for key, each in found.items() if each["config_source"] == "DYNAMIC_TOPIC_CONFIG"}


def add_partitions(cluster: Servers, topic: str, count: int) -> None:
    """Let a topic have so many partitions."""
    _control(cluster, lambda client: client.create_partitions({topic: count}))


def delete_records(cluster: Servers, topic: str, before: t.Mapping[int, int]) -> None:
    """Make the log of each partition start at the given offset."""
    wanted = {ControlPartition(topic, partition): offset for partition, offset in before.items()}
    _control(cluster, lambda client: client.delete_records(wanted))


def produce(cluster: Servers, topic: str, messages: t.Iterable[Message], **settings: Settings) -> list[int]:
    """Write the messages and return their offsets; settings are those of open_producer()."""
    producer = open_producer(cluster, **settings)
    offsets = _send(producer, topic, messages)
    _flush(producer)
    return offsets()


def produce_with_times(cluster: Servers, topic: str, messages: t.Iterable[Message]) -> None:
    """Write messages with their timestamps, 0 too, which librdkafka takes for the time of writing."""
    with contextlib.closing(kafka.KafkaProducer(bootstrap_servers=list(cluster.bootstrap_servers))) as producer:
        for each in messages:
            producer.send(topic, each.value, partition=each.partition, timestamp_ms=each.timestamp)


def produce_in_transactions(
    cluster: Servers,
    topic: str,
    transactions: t.Iterable[tuple[t.Sequence[Message], bool]],
    **settings: Settings,
) -> list[list[int]]:
    """Write each list of messages in a transaction that is then committed (True) or aborted (False).

    Returns the offsets of each, aborted ones too.
    """
    producer = open_producer(cluster, **{"transactional_id": f"writer-{uuid.uuid4()}", **settings})
    written = []
    for messages, committed in transactions:
        producer.begin_transaction()
        offsets = _send(producer, topic, messages)
        _flush(producer)
        if committed:
            producer.commit_transaction(SECONDS)
        else:
            producer.abort_transaction(SECONDS)
        written.append(offsets())
    return written


def read(
    cluster: Servers,
    topic: str,
    partitions: t.Iterable[int] | None = None,
    *,
    committed: bool = True,
    start: t.Mapping[int, int] | None = None,
) -> list[Stored]:
    """Every record up to the end (with committed: the visible ones), in the order of partition and offset.

    start gives partitions' first offsets, else it is their log's start. Never a shorter answer: TimeoutError instead.
    """
    begin = {partition: first for partition, (first, _unused) in log_bounds(cluster, topic).items()} | dict(start or {})
    wanted = set(begin if partitions is None else partitions)
    records: list[Stored] = []
    ends: Ends = set()
    isolation = "read_committed" if committed else "read_uncommitted"
    with contextlib.closing(open_consumer(cluster, isolation_level=isolation)) as consumer:
        consumer.assign([TopicPartition(topic, partition, begin[partition]) for partition in wanted])

        def at_the_ends() -> bool:
            records.extend(map(stored, received(consumer, ends)))
            return len(ends) == len(wanted)

        until(at_the_ends, 4 * SECONDS, lambda: f"{topic}: only {sorted(ends)} were read to their end", pause=0)
    return sorted(records, key=lambda record: (record.partition, record.offset))


def partitions_of(cluster: Servers, topic: str) -> list[int]:
    """The numbers of a topic's partitions."""
    (found,) = _control(cluster, lambda client: client.describe_topics([topic]))
    if found["error_code"]:
        raise kafka.errors.for_code(found["error_code"])(topic)
    return sorted(partition["partition_index"] for partition in found["partitions"])


def partitions_everywhere(cluster: Servers, topics: t.Sequence[str] | None = None) -> list[Partition]:
    """Where the partitions of these topics are, None for all."""
    found = _control(cluster, lambda client: client.describe_topics(topics))
    return [
        Partition(its["leader_id"], set(its["replica_nodes"]), set(its["isr_nodes"]))
        for topic in found
        for its in topic["partitions"]
    ]


def list_topics(cluster: Servers) -> list[str]:
    """The names of all topics."""
    return list(_control(cluster, lambda client: client.list_topics()))


def log_bounds(cluster: Servers, topic: str) -> dict[int, tuple[int, int]]:
    """Of each partition where its log starts, and where the next record will stand."""
    where = [ControlPartition(topic, partition) for partition in partitions_of(cluster, topic)]
    starts = _control(cluster, lambda client: client.list_partition_offsets(dict.fromkeys(where, OffsetSpec.EARLIEST)))
    ends = _control(cluster, lambda client: client.list_partition_offsets(dict.fromkeys(where, OffsetSpec.LATEST)))
    return {tp.partition: (starts[tp].offset, ends[tp].offset) for tp in where}


def commit(cluster: Servers, group: str, positions: Positions, epoch: int = -1) -> None:
    """Set the offsets of a group that nobody is in; their metadata is stored byte for byte.

    epoch: of the leader, which a Java consumer adds.
    """
    commit_groups(cluster, {group: positions}, epoch)


def commit_groups(cluster: Servers, groups: t.Mapping[str, Positions], epoch: int = -1) -> None:
    """The same of many groups, with one client."""

    def write(client: KafkaAdminClient) -> None:
        for group, positions in groups.items():
            wanted = {ControlPartition(*where): _position(its, epoch) for where, its in positions.items()}
            answers = _raising(client.alter_group_offsets(group, wanted))
            assert answers.keys() == wanted.keys(), (group, answers)

    _control(cluster, write)


def _position(position: Position, epoch: int) -> OffsetAndMetadata:
    offset, metadata = position if isinstance(position, tuple) else (position, "")
    return OffsetAndMetadata(offset, metadata, epoch)


def committed(cluster: Servers, group: str) -> Commits:
    """The offsets that a group has committed, and their metadata; empty for an unknown group."""
    found = _control(cluster, lambda client: client.list_group_offsets(group))[group]
    return {(where.topic, where.partition): (at.offset, at.metadata) for where, at in found.items()}


def delete_topic(cluster: Servers, topic: str, seconds: float = 20.0) -> None:
    """Delete a topic, and return when it is gone."""
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))) as client:
        client.delete_topics([topic])
        until(lambda: topic not in client.list_topics(), seconds, f"topic {topic} is still there after it was deleted")


def delete_groups(cluster: Servers, groups: t.Iterable[str]) -> None:
    """Remove groups with all that they have committed. One that has only offsets of a deleted topic goes by itself."""
    answers = _control(cluster, lambda client: client.delete_groups(list(groups)))
    failed = {group: said for group, said in answers.items() if said not in ("OK", "GroupIdNotFoundError")}
    if failed:
        raise RuntimeError(f"groups could not be deleted: {failed}")


def list_groups(cluster: Servers) -> list[str]:
    """The names of all groups that have members or commits, of whatever kind."""
    return sorted(group["group_id"] for group in _control(cluster, lambda client: client.list_groups()))


def consume(cluster: Servers, group: str, topics: t.Sequence[str], count: int) -> int:
    """Be a member of the group for as long as it takes to consume so many records (or all there are), and commit.

    Returns how many records were consumed.
    """
    consumed = 0
    ends: Ends = set()
    all_ends = sum(len(partitions_of(cluster, topic)) for topic in topics)
    with _member(cluster, group, topics) as consumer:

        def enough() -> bool:
            nonlocal consumed
            consumed += len(received(consumer, ends, min(500, count - consumed)))
            return consumed == count or len(ends) == all_ends

        until(enough, SECONDS, lambda: f"group {group} has consumed only {consumed} of {count} records", pause=0)
        if consumed:
            consumer.commit(asynchronous=False)
    return consumed


def commit_as_member(cluster: Servers, group: str, offsets: t.Mapping[tuple[str, int], int]) -> None:
    """Join the group, commit these offsets as its only member does, and leave."""
    with _member(cluster, group, sorted({topic for topic, _unused in offsets})) as consumer:

        def joined() -> bool:
            consumer.poll(0.05)  # which is what joins
            return bool(consumer.assignment())

        until(joined, SECONDS, f"group {group} has got no member", pause=0)
        answers = consumer.commit(
            offsets=[TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()],
            asynchronous=False,
        )
        assert not [answer for answer in answers or () if answer.error], (group, answers)


def set_passwords(cluster: Servers, users: t.Iterable[str], password: str, mechanism: str = "SCRAM-SHA-512") -> None:
    """Let these users log in with this password."""
    wanted = [UserScramCredentialUpsertion(user, mechanism, password) for user in users]
    _control(cluster, lambda client: client.alter_user_scram_credentials(wanted))


def grant(cluster: Servers, rights: t.Iterable[str], principal: str = "User:migrator", address: str = "*") -> None:
    """Allow what texts such as "GROUP READ on billing" say, and wait until the brokers know.

    A name that ends with * stands for all that begin with it, and * for all. address: from which the principal has to come.
    """
    acls = [_acl(right, principal, address) for right in rights]
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))) as client:
        assert not client.create_acls(acls)["failed"]
        _await_acls(client, acls, there=True)


def deny(cluster: Servers, rights: t.Iterable[str], principal: str) -> None:
    """Deny what such texts say, without waiting for it."""
    acls = [_acl(right, principal, permission=ACLPermissionType.DENY) for right in rights]
    assert not _control(cluster, lambda client: client.create_acls(acls))["failed"]


def revoke(cluster: Servers, rights: t.Iterable[str], principal: str = "User:migrator") -> None:
    """Take back what grant() has allowed, and wait until the brokers know."""
    acls = [_acl(right, principal) for right in rights]
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))) as client:
        client.delete_acls(acls)
        _await_acls(client, acls, there=False)


def allowed_on_topics(cluster: Servers, principal: str) -> set[tuple[str, str]]:
    """Each topic and operation that ACLs allow this principal."""
    every = ResourcePatternFilter(ResourceType.TOPIC, None, ACLResourcePatternType.ANY)
    wanted = ACLFilter(principal, None, ACLOperation.ANY, ACLPermissionType.ALLOW, every)
    found, _error = _control(cluster, lambda client: client.describe_acls(wanted))
    return {(each.resource_pattern.resource_name, each.operation.name) for each in found}


def _acl(
    right: str, principal: str, address: str = "*", permission: ACLPermissionType = ACLPermissionType.ALLOW
) -> ACL:
    kind, operation, _on, name = right.split(" ")
    prefix = name.removesuffix("*")
    is_prefix = prefix not in ("", name)
    pattern = ACLResourcePatternType.PREFIXED if is_prefix else ACLResourcePatternType.LITERAL
    resource = ResourcePattern(ResourceType[kind], prefix if is_prefix else name, pattern)
    return ACL(principal, address, ACLOperation[operation], permission, resource)


def _await_acls(client: KafkaAdminClient, acls: t.Sequence[ACL], there: bool) -> None:
    def changed() -> bool:
        return all(bool(client.describe_acls(acl)[0]) == there for acl in acls)

    until(changed, SECONDS, f"ACLs did not {'come' if there else 'go'}: {acls}")


@contextlib.contextmanager
def _member(cluster: Servers, group: str, topics: t.Sequence[str]) -> t.Iterator[Consumer]:
    with contextlib.closing(open_consumer(cluster, group, auto_offset_reset="earliest")) as consumer:
        consumer.subscribe(list(topics))
        yield consumer


def open_consumer(cluster: Servers, group: str = "streamshift-reader", **settings: Settings) -> Consumer:
    """A read_committed consumer that commits only when it is told to, and has no position but a committed or given one.

    settings are librdkafka's own with underscores for dots.
    """
    config: dict[str, Settings] = {
        "bootstrap.servers": ",".join(cluster.bootstrap_servers),
        "group.id": group,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 50,
        "log_level": 0,
    }
    return Consumer(config | _dotted(settings))


def received(consumer: Consumer, ends: Ends, most: int = 5000, seconds: float = 0.1) -> list[Received]:
    """The next records that a consumer gets. Where it has come to the end is added to ends; any other error is raised."""
    records = []
    for message in consumer.consume(most, seconds):
        error = message.error()
        if error is None:
            records.append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            ends.add((_known(message.topic()), _known(message.partition())))
        else:
            raise KafkaException(error)
    return records


def open_producer(cluster: Servers, **settings: Settings) -> Producer:
    """A producer that writes in order; settings as those of open_consumer(). One with a transactional id may begin at once."""
    config: dict[str, Settings] = {
        "bootstrap.servers": ",".join(cluster.bootstrap_servers),
        "max.in.flight.requests.per.connection": 1,  # in order; an idempotent producer takes 0.5 s to begin
        "message.max.bytes": 10_000_000,
        "linger.ms": 5,
        "log_level": 0,
    }
    producer = Producer(config | _dotted(settings))
    if "transactional_id" in settings:
        producer.init_transactions(SECONDS)
    return producer


def _texts(settings: t.Mapping[str, str | int]) -> dict[str, str]:
    return {key: str(value) for key, value in _dotted(settings).items()}


def _dotted(settings: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {key.replace("_", "."): value for key, value in settings.items()}


def _send(producer: Producer, topic: str, messages: t.Iterable[Message]) -> t.Callable[[], list[int]]:
    """Queue the messages. The answer gives their offsets once they are delivered, or raises why they are not."""
    offsets: list[int | None] = []
    failures: list[KafkaError] = []

    def delivered(at: int, error: KafkaError | None, message: Received) -> None:
        if error:
            failures.append(error)
        else:
            offsets[at] = message.offset()

    for message in messages:
        offsets.append(None)
        while True:
            try:
                producer.produce(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp=message.timestamp,
                    on_delivery=functools.partial(delivered, len(offsets) - 1),
                )
                break
            except BufferError:  # the queue is full: let some of it go
                producer.poll(0.1)
        producer.poll(0)

    def result() -> list[int]:
        if failures:
            raise KafkaException(failures[0])
        return [_known(offset) for offset in offsets]

    return result


def _flush(producer: Producer) -> None:
    if left := producer.flush(4 * SECONDS):
        raise TimeoutError(f"{left} messages were not delivered")


def stored(message: Received) -> Stored:
    """A record as it is in its log."""
    kind, timestamp = message.timestamp()
    headers = t.cast(Headers, tuple(message.headers() or ()))
    return Stored(
        _known(message.partition()),
        _known(message.offset()),
        timestamp if kind else -1,
        message.key(),
        message.value(),
        headers,
    )


def _known(value: Value | None) -> Value:
    if value is None:
        raise RuntimeError("the client gave no answer in time")
    return value


def _control(cluster: Servers, ask: t.Callable[[KafkaAdminClient], t.Any]) -> t.Any:
    """Ask with a new client, again while the coordinator is not there yet: the client would never look for another."""
    deadline = time.monotonic() + SECONDS
    while True:
        client = KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))
        try:
            return ask(client)
        except kafka.errors.KafkaError as failed:
            if not failed.retriable or time.monotonic() > deadline:
                raise
        finally:
            client.close()
        time.sleep(0.1)


def _raising(answers: dict[t.Any, type[kafka.errors.KafkaError]]) -> dict[t.Any, t.Any]:
    for error in answers.values():
        if error is not kafka.errors.NoError:
            raise error()
    return answers
