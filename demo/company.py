"""What a little company has on its cluster: nine topics, eighteen consumer groups, and the history of both.

The same is written every time, but for their timestamps, which end now: records must be young enough
to be kept, or old enough to expire.
"""

from __future__ import annotations

import concurrent.futures
import json
import random
import time
import typing as t

from testbed.clients import (
    Message,
    Position,
    Servers,
    change_topic,
    commit,
    commit_as_member,
    create_topic,
    log_bounds,
    produce,
    produce_in_transactions,
    read,
    until,
)

SEED = 20260101
SECOND, HOUR = 1_000, 3_600_000
DAY = 24 * HOUR
PATIENCE = 240.0  # seconds for retention and compaction, which look every two seconds, on a machine that does other things, too

PARTITIONS = {
    "orders": 6,
    "payments": 4,
    "customers": 3,
    "clicks": 8,
    "campaign-2019": 2,
    "documents": 2,
    "telemetry": 1,
    "sessions": 2,
    "events": 4,
}


class Group(t.NamedTuple):
    """A consumer group: what is remarkable about it, and the offsets that it has committed by (topic, partition)."""

    story: str
    positions: dict[tuple[str, int], Position]


Groups = dict[str, Group]


def found_company(cluster: Servers) -> Groups:
    """Write all records, have all groups consume, and let expire and be compacted what is due. Returns the groups."""
    chance, now = random.Random(SEED), int(time.time() * 1000)
    clicks = _clicks(chance, now)
    _create_topics(cluster)
    # The shop was closed for two days; the older orders are what the topic will have lost.
    produce(cluster, "orders", _orders(chance, now - 10 * DAY, now - 8 * DAY, 12_000), compression_type="lz4")
    produce(cluster, "orders", _orders(chance, now - 6 * DAY, now - HOUR, 48_000), compression_type="lz4")
    aborted = _write_payments(cluster, chance, now)
    # A segment ends between two batches. On a busy machine, one batch would hold everything, and nothing would be compacted.
    produce(cluster, "customers", _customers(chance, now), batch_num_messages=100)
    produce(cluster, "clicks", clicks)
    produce(cluster, "campaign-2019", _campaign(chance, now))
    produce(cluster, "documents", _documents(chance, now))
    produce(cluster, "telemetry", _telemetry(chance, now), compression_type="lz4")
    produce(cluster, "sessions", _sessions(chance, now))
    produce(cluster, "events", _events(chance, now))
    groups = _groups(cluster, aborted, _middle_of_bursts(clicks))
    _consume(cluster, groups)
    _wait_for_time_to_pass(cluster)
    return groups


def _create_topics(cluster: Servers) -> None:
    # A segment is as long as a day of its records' time, and nothing expires before everybody has consumed.
    for topic, partitions in PARTITIONS.items():
        compacted = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01"} if topic == "customers" else {}
        create_topic(cluster, topic, partitions, retention_ms=-1, segment_ms=DAY, **compacted)


def _orders(chance: random.Random, first: int, last: int, count: int) -> t.Iterator[Message]:
    """Orders from several writers: their times jump back a little."""
    for number, moment in enumerate(_moments(first, last, count)):
        customer = chance.randrange(4_000)
        order = {
            "order": f"{first // DAY}-{number:05}",
            "customer": customer,
            "items": [
                {"sku": f"SKU-{chance.randrange(900):04}", "quantity": chance.randint(1, 5)}
                for _unused in range(chance.randint(1, 4))
            ],
            "total": f"{chance.randint(500, 50_000) / 100:.2f}",
        }
        headers = (("source", b"shop"), ("trace", f"{chance.getrandbits(64):016x}".encode()))
        time_of_order = moment - chance.randrange(40)
        yield Message(_json(order), str(customer).encode(), headers, time_of_order, customer % PARTITIONS["orders"])


def _write_payments(cluster: Servers, chance: random.Random, now: int, count: int = 120) -> dict[int, int]:
    """Transactions of payments, a tenth of them aborted. Returns an offset among aborted records by partition."""
    transactions = []
    for number, moment in enumerate(_moments(now - 5 * DAY, now - HOUR, count)):
        payments = [
            Message(
                _json({"payment": f"P-{number:04}-{row:03}", "amount": f"{chance.randint(500, 50_000) / 100:.2f}"}),
                f"account-{chance.randrange(3_000)}".encode(),
                (("currency", chance.choice([b"EUR", b"CHF", b"USD"])),),
                moment + row,
                row % PARTITIONS["payments"],
            )
            for row in range(160)
        ]
        transactions.append((payments, number % 10 != 6))
    written = produce_in_transactions(cluster, "payments", transactions)
    # In the middle of the sixtieth transaction's records, or of the next aborted one's.
    middle = next(at for at, (_unused, committed) in enumerate(transactions) if at >= count // 2 and not committed)
    payments, _unused = transactions[middle]
    return {payments[row].partition: written[middle][row] for row in range(80, 84)}


def _customers(chance: random.Random, now: int, count: int = 12_000) -> t.Iterator[Message]:
    """Changes of customers' data, some of them deletions: the topic keeps the last of each customer."""
    for number, moment in enumerate(_moments(now - 5 * DAY, now - HOUR, count)):
        customer = min(int(chance.expovariate(1 / 500)), 2_999)
        data = {"name": f"Customer {customer}", "tier": chance.choice(["basic", "silver", "gold"]), "version": number}
        value = None if chance.random() < 0.02 else _json(data)
        yield Message(value, f"customer-{customer}".encode(), (), moment, customer % PARTITIONS["customers"])


def _clicks(chance: random.Random, now: int, count: int = 80_000) -> list[Message]:
    """Clicks without keys. A popular offer gives hundreds of equal records within a millisecond."""
    messages: list[Message] = []
    moments = iter(_moments(now - 2 * DAY, now - HOUR, count))
    while len(messages) < count:
        moment, partition = next(moments), chance.randrange(PARTITIONS["clicks"])
        popular = chance.random() < 0.01
        page = "/offer-of-the-day" if popular else f"/product/{chance.randrange(5_000)}"
        visitor = "anonymous" if popular else f"visitor-{chance.randrange(20_000)}"
        click = Message(_json({"page": page, "visitor": visitor}), None, (), moment, partition)
        messages += [click] * (chance.randint(50, 400) if popular else 1)
    return messages


def _middle_of_bursts(clicks: list[Message]) -> dict[int, int]:
    """By partition the offset in the middle of a burst of equal records, about half way through the log."""
    logs: dict[int, list[Message]] = {}
    for click in clicks:
        logs.setdefault(click.partition, []).append(click)
    middles = {}
    for partition, log in logs.items():
        half = len(log) // 2
        at = next(at for at in range(half, len(log)) if log[at] == log[at - 1] == log[at - 20] == log[at + 20])
        middles[partition] = at
    return middles


def _campaign(chance: random.Random, now: int, count: int = 4_000) -> t.Iterator[Message]:
    """What was written long ago, and has all expired."""
    for number, moment in enumerate(_moments(now - 70 * DAY, now - 40 * DAY, count)):
        answer = {"answer": number, "score": chance.randint(0, 10)}
        yield Message(_json(answer), None, (), moment, number % PARTITIONS["campaign-2019"])


def _documents(chance: random.Random, now: int, count: int = 24) -> t.Iterator[Message]:
    """Records of almost 1 MB that cannot be compressed."""
    for number, moment in enumerate(_moments(now - 3 * DAY, now - HOUR, count)):
        name = f"invoice-{number:03}.pdf".encode()
        yield Message(chance.randbytes(1_000_000), name, (), moment, number % PARTITIONS["documents"])


def _telemetry(chance: random.Random, now: int, count: int = 24_000) -> t.Iterator[Message]:
    """Many small records; some sensors say the same again and again."""
    for number, moment in enumerate(_moments(now - DAY, now - HOUR, count)):
        sensor = chance.randrange(40)
        value = {"sensor": sensor, "idle": True} if sensor < 4 else {"sensor": sensor, "reading": number}
        yield Message(_json(value), None, (), moment, 0)


def _sessions(chance: random.Random, now: int, count: int = 16_000) -> t.Iterator[Message]:
    """Visits to the shop, by visitor."""
    for number, moment in enumerate(_moments(now - 2 * DAY, now - HOUR, count)):
        visitor = chance.randrange(20_000)
        session = {"session": number, "pages": chance.randint(1, 30)}
        yield Message(_json(session), f"visitor-{visitor}".encode(), (), moment, visitor % PARTITIONS["sessions"])


def _events(chance: random.Random, now: int, count: int = 12_000) -> t.Iterator[Message]:
    """What happened to customers, in order for each of them."""
    for number, moment in enumerate(_moments(now - 2 * DAY, now - HOUR, count)):
        customer = chance.randrange(4_000)
        event = {"event": number, "kind": chance.choice(["registered", "moved", "paid", "complained"])}
        yield Message(_json(event), f"customer-{customer}".encode(), (), moment, customer % PARTITIONS["events"])


def _groups(cluster: Servers, aborted: dict[int, int], bursts: dict[int, int]) -> Groups:
    ends = {
        (topic, number): end for topic in PARTITIONS for number, (_unused, end) in log_bounds(cluster, topic).items()
    }

    def at(topic: str, part: float, metadata: str | None = None) -> dict[tuple[str, int], Position]:
        """A part of the way through each partition's log, not at quite the same place in all."""
        found: dict[tuple[str, int], Position] = {}
        for number in range(PARTITIONS[topic]):
            end = ends[(topic, number)]
            offset = end if part == 1 else min(end, int(end * part) + 7 * number)
            found[(topic, number)] = offset if metadata is None else (offset, metadata)
        return found

    stories: dict[str, tuple[str, dict[tuple[str, int], Position]]] = {
        "order-fulfilment": ("caught up", at("orders", 1)),
        "billing": ("lags a little, on two topics", at("orders", 0.97) | at("payments", 0.95)),
        "shipping": ("half way, with metadata", at("orders", 0.6, '{"host":"ship-2","batch":4711}')),
        "data-warehouse": ("lags far, on three topics", at("orders", 0.4) | at("customers", 0.5) | at("clicks", 0.3)),
        "order-audit": ("before what orders still keeps", at("orders", 0.08)),
        "ledger": ("caught up, after markers", at("payments", 1)),
        "fraud-detection": (
            "among aborted records",
            {("payments", number): offset for number, offset in aborted.items()},
        ),
        "crm-sync": ("in a compacted topic", at("customers", 0.8)),
        "clickstream": (
            "equal records in a millisecond",
            {("clicks", number): offset for number, offset in bursts.items()},
        ),
        "recommendations": ("lags a little, amid clicks", at("clicks", 0.99)),
        "new-dashboard": ("has never consumed anything", dict.fromkeys(at("clicks", 0), 0)),
        "campaign-report": ("caught up, all has expired", at("campaign-2019", 1)),
        "campaign-export": ("half way, all has expired", at("campaign-2019", 0.5)),
        "sensor-alerts": ("the broker's own timestamps", at("telemetry", 0.7)),
        "sensor-archive": ("caught up, the broker's timestamps", at("telemetry", 1)),
        "session-analytics": ("half way, copied twice", at("sessions", 0.5)),
        "mailing": ("4 partitions that became 6", at("events", 0.8)),
        "document-archive": ("records of 1 MB, with metadata", at("documents", 0.5, "archived by node-3")),
    }
    return {name: Group(*story) for name, story in stories.items()}


def _consume(cluster: Servers, groups: Groups) -> None:
    """Groups come to their positions: as members, or for metadata by an operator's hand."""

    def come(name: str) -> None:
        positions = groups[name].positions
        offsets = {where: at for where, at in positions.items() if isinstance(at, int)}
        if offsets == positions:
            commit_as_member(cluster, name, offsets)
        else:
            commit(cluster, name, positions)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(come, groups))


def _wait_for_time_to_pass(cluster: Servers) -> None:
    """Let the oldest orders and the whole campaign expire, and old versions of customers be compacted away."""
    change_topic(cluster, "orders", retention_ms=7 * DAY)
    change_topic(cluster, "campaign-2019", retention_ms=30 * DAY)
    until(
        lambda: not _not_gone(cluster), PATIENCE, lambda: f"{_not_gone(cluster)} not done after {PATIENCE:.0f} s", 0.2
    )


def _not_gone(cluster: Servers) -> str:
    """What the brokers have still to remove, in words; empty when they have done it."""
    orders, campaign = log_bounds(cluster, "orders"), log_bounds(cluster, "campaign-2019")
    if not all(first > 0 for first, _unused in orders.values()):
        return "the retention of orders is"
    if any(first < end for first, end in campaign.values()):
        return "the retention of campaign-2019 is"
    keys = [(record.partition, record.key) for record in read(cluster, "customers")]
    return "" if len(keys) < 8_000 else "the compaction of customers is"  # of 12,000


def _moments(first: int, last: int, count: int) -> t.Iterator[int]:
    """Evenly spread milliseconds."""
    return (first + (last - first) * number // count for number in range(count))


def _json(value: t.Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
