"""Assessments of real clusters: the modules that make them, what they have found, and a schema registry."""

import contextlib
import json
import socket
import time
import typing as t
from pathlib import Path

from testbed.clients import Message
from tests.support.bad_http import BadServer, answers
from tests.support.modules import succeeds

AVRO = [Message(b"\0\0\0\0" + bytes([number]) + b"record") for number in (7, 8)]
SECRET = "registry-pass-word"


def _answer_about_schemas(server: BadServer, connection: socket.socket) -> None:
    """As a schema registry does that knows schema 7 and wants a password."""
    request = server.received[-1].decode()
    if "Authorization: Basic dXNlcjpyZWdpc3RyeS1wYXNzLXdvcmQ=\r\n" not in request:
        answer = answers(json.dumps({"error_code": 401, "message": f"Unauthorized: {request}"}).encode(), "401 X")
    elif request.startswith("GET /schemas/ids/7 "):
        answer = answers(b'{"schema": "string"}')
    else:
        answer = answers(b'{"error_code": 40403, "message": "Schema not found"}', "404 X")
    answer(server, connection)


@contextlib.contextmanager
def schema_registry() -> t.Iterator[dict[str, str]]:
    """A registry that runs meanwhile: the options of a module for it."""
    with BadServer(_answer_about_schemas) as server:
        yield {"url": f"http://{server.address}", "username": "user", "password": SECRET}


def numbers(count: int, partition: int = 0, ago: int = 0) -> list[Message]:
    """Records written so many milliseconds ago."""
    when = int(time.time() * 1000) - ago
    return [Message(b"%d" % number, partition=partition, timestamp=when + number) for number in range(count)]


def found(document: str, *names: str) -> dict[tuple[t.Any, ...], str]:
    """The risks of an assessment that are about these names: (kind, group, topic, partition) with what is seen."""
    entries = [json.loads(line.rstrip(",")) for line in document.splitlines()[1:-1]]
    risks = [row for row in entries if row["entry"] == "risk"]
    about = [row for row in risks if any(name in (row["group"] or "") + (row["topic"] or "") for name in names)]
    return {tuple(row[key] for key in ("kind", "group", "topic", "partition")): row["detail"] for row in about}


def parts_of(
    source: dict[str, t.Any], destination: dict[str, t.Any] | None, directory: Path, **options: t.Any
) -> list[str]:
    """What both modules write, as the role has them do; the second one only with a destination."""
    parts = [str(directory / f"{name}.json") for name in ("groups", "destination")]
    its = {"exclude_group_patterns": [], "assessment": parts[0], "watch_seconds": 2, **options}
    succeeds("kafka_group_info", cluster=source, **its)
    if destination is None:
        return parts[:1]
    asked = {"source": source, "destination": destination, "commits": False, "on_blocked": "skip_group"}
    succeeds("kafka_migration_info", **asked, group_patterns=options["group_patterns"], assessment=parts[1])
    return parts


def assess(parts: list[str], directory: Path, **options: t.Any) -> tuple[dict[str, t.Any], dict[str, str]]:
    """The result of the step that writes the files, and their texts."""
    result = succeeds("kafka_migration_run", directory=str(directory / "a"), state="assessed", parts=parts, **options)
    return result, {file.name: file.read_text() for file in sorted((directory / "a").iterdir())}
