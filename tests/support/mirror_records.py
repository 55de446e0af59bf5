"""The records of a real MirrorMaker 2, as they were found in its topics; what they are is in tests/data/mirror_maker.

And such as it could have written.
"""

import base64
import json
import struct
import typing as t
from pathlib import Path

from testbed.clients import Message

FOLDER = Path(__file__).parents[1] / "data/mirror_maker"


class Recorded(t.NamedTuple):
    """One record: the run that it is from, what was found in it, and its bytes."""

    run: str
    row: dict[str, t.Any]
    key: bytes | None
    value: bytes | None


def runs() -> dict[str, dict[str, t.Any]]:
    """Every run of MirrorMaker 2, by policy and version: what its file's first line says, and all records."""
    result = {}
    for file in sorted(FOLDER.glob("*-[0-9]*.jsonl")):
        head, *rows = map(json.loads, file.read_text().splitlines())
        result[file.stem] = {**head, "records": rows}
    return result


def recorded(kind: str) -> list[Recorded]:
    """All records of a kind: checkpoint, offset-sync, heartbeat, connect-offset."""
    return [
        Recorded(run, row, _bytes(row["key_b64"]), _bytes(row["value_b64"]))
        for run, its in runs().items()
        for row in its["records"]
        if row["kind"] == kind
    ]


def replicator() -> list[Recorded]:
    """The records of an offsets topic with Replicator's among others."""
    rows = map(json.loads, (FOLDER / "replicator_offsets.jsonl").read_text().splitlines())
    return [Recorded("replicator", row, _bytes(row["key_b64"]), _bytes(row["value_b64"])) for row in rows]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def offset_sync(topic: str, partition: int, source: int, target: int) -> Message:
    """A record of an offset-syncs topic, as MirrorMaker 2 would write it."""
    return Message(struct.pack(">qq", source, target), _string(topic) + struct.pack(">i", partition))


def checkpoint(group: str, topic: str, partition: int, source: int, target: int, version: int = 0) -> Message:
    """A record of a checkpoints topic, as MirrorMaker 2 would write it."""
    key = _string(group) + _string(topic) + struct.pack(">i", partition)
    return Message(struct.pack(">hqq", version, source, target) + _string(""), key)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
