# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a cluster would not take in a commit is known before the first one is written."""

from __future__ import annotations

import typing as t

from ..._control.configs import broker_number
from ..._model.connection import Connection
from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.group_state import CommittedOffset
from ..._model.receipt import Key

METADATA_LIMIT = "offset.metadata.max.bytes"
DEFAULT_METADATA_LIMIT = 4096


def check_targets(destination: Connection, targets: t.Mapping[Key, CommittedOffset | None]) -> None:
    """Raise Refused for metadata that is longer than the brokers take, which names the first entry that it is about.

    Where their limit may not be read, it is Kafka's default. A cluster is asked only where an entry has metadata. What no
    cluster would take is in no file (_model/documents.py).
    """
    lengths = {key: _length(target.metadata) for key, target in sorted(targets.items()) if target and target.metadata}
    if not lengths:
        return
    limit = broker_number(destination, METADATA_LIMIT)
    for (group, partition), length in lengths.items():
        if length > (DEFAULT_METADATA_LIMIT if limit is None else limit):
            why = f"the brokers' {METADATA_LIMIT} is {limit}"
            remedy = f"raise {METADATA_LIMIT} of the brokers, or shorten the metadata in the file"
            if limit is None:
                why = (
                    f"Kafka's default of {METADATA_LIMIT} is {DEFAULT_METADATA_LIMIT}, and this user may not "
                    "read the brokers'"
                )
                remedy = "grant ACL CLUSTER DESCRIBE_CONFIGS, or shorten the metadata in the file"
            raise Refused(
                f"the metadata of {length} characters is too long to be committed",
                cluster=str(destination),
                group=group,
                **partition._asdict(),
                why=why,
                remedy=remedy,
                kind=FailureKind.METADATA_TOO_LONG,
            )


def _length(metadata: str) -> int:
    """As brokers count, which call it bytes: String.length() of Java, that is, units of UTF-16."""
    return len(metadata.encode("utf-16-le")) // 2
