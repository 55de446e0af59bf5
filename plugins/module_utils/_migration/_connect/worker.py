# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A source connector of a Kafka Connect whose workers run: its offsets are read and changed by the REST interface."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import connect_rest, topics
from ..._control.connect_rest import ConnectRest
from ..._model import connect_offsets
from ..._model.connection import Connection
from ..._model.errors import ConnectorUnfit, DamagedRecord, OtherCluster
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.records import TopicPartition
from ..._model.replication_policy import ReplicationPolicy
from .stores import Changes, Misplaced, StoredOffsets

_PACKAGE = "org.apache.kafka.connect.mirror."
_POLICIES = {"identity": f"{_PACKAGE}IdentityReplicationPolicy", "default": f"{_PACKAGE}DefaultReplicationPolicy"}
_ELSEWHERE = "producer.override.bootstrap.servers"
_CLASSES = (f"{_PACKAGE}MirrorSourceConnector", "MirrorSourceConnector", "MirrorSource")  # as Connect lets it be called


@dataclasses.dataclass(frozen=True, slots=True)
class RestStore:
    """A connector of a running worker, which is stopped itself. destination: the cluster that it copies to."""

    rest: ConnectRest
    destination: Connection
    connector: str
    policy: ReplicationPolicy

    def __str__(self) -> str:
        return f"connector {self.connector}"

    @property
    def source_alias(self) -> str:
        """What the connector calls the source."""
        return self.policy.source_alias

    def check(self) -> tuple[Note, ...]:
        """The worker answers, and the connector is STOPPED, copies to the destination, and goes by the same policy."""
        cluster_id = connect_rest.check_worker(self.rest)
        # Asked for its settings, a worker says at once that there is no such connector. It may have no status yet.
        config = connect_rest.read_config(self.rest, self.connector)
        self._check_policy(config)
        notes = self._check_cluster(cluster_id, config)
        connect_rest.wait_until_stopped(self.rest, self.connector)
        return notes

    def read(self) -> StoredOffsets:
        """What the worker tells of this source's partitions."""
        offsets: dict[TopicPartition, int] = {}
        for partition, offset in connect_rest.read_offsets(self.rest, self.connector):
            try:
                connector_key = connect_offsets.ConnectorKey(self.connector, partition)
                alias, source_partition = connect_offsets.mirror_source_partition(connector_key)
            except DamagedRecord:
                continue
            last = None if offset is None else offset.get("offset")
            if alias == self.source_alias and isinstance(last, int) and last >= 0:
                offsets[source_partition] = last
        return StoredOffsets(offsets)

    def check_removal(self, misplaced: Misplaced) -> None:
        """Nothing to check: Connect writes the keys itself, so none is misplaced."""

    def write(self, changes: Changes, misplaced: Misplaced) -> None:  # noqa: ARG002
        """Connect writes the keys itself, so none is misplaced."""
        rows = [
            ({"cluster": self.source_alias, **partition._asdict()}, None if offset is None else {"offset": offset})
            for partition, offset in sorted(changes.items())
        ]
        connect_rest.write_offsets(self.rest, self.connector, rows)

    def _check_cluster(self, cluster_id: str | None, config: t.Mapping[str, str]) -> tuple[Note, ...]:
        """A connector copies to its worker's cluster, unless it gives its producer another one, which nobody can look at."""
        destination_id = topics.cluster_id(self.destination)
        if cluster_id in (None, destination_id):
            return ()
        what = f"the worker belongs to the cluster {cluster_id}, and the destination is {destination_id}"
        if _ELSEWHERE not in config:
            raise OtherCluster(
                what,
                cluster=str(self.rest),
                why=f"connector {self.connector} copies to its worker's cluster, because it does not set {_ELSEWHERE}",
                remedy=f"correct {option_name('rest')}, or the destination; if the worker itself lets producers write to the "
                f"destination, set {_ELSEWHERE} of the connector, too",
            )
        text = f"{self.rest}: {what}. See that {_ELSEWHERE} of connector {self.connector} is the destination's."
        return (Note(NoteKind.NOT_COMPARED, text),)

    def _check_policy(self, config: t.Mapping[str, str]) -> None:
        """Connect would store positions of any alias and topic, beside those that the connector looks for."""
        settings = {
            "connector.class": "",
            "source.cluster.alias": "source",
            "replication.policy.class": _POLICIES["default"],
            "replication.policy.separator": ".",
            **config,
        }
        if settings["connector.class"] not in _CLASSES:
            raise ConnectorUnfit(
                f"connector {self.connector} is a {settings['connector.class']}",
                cluster=str(self.rest),
                remedy="name the MirrorSourceConnector that goes on",
            )
        wanted = {"source.cluster.alias": self.source_alias}
        if settings["replication.policy.class"] in _POLICIES.values():  # of others nothing is known
            wanted["replication.policy.class"] = _POLICIES[self.policy.name]
        if self.policy.name == "default":
            wanted["replication.policy.separator"] = self.policy.separator
        for name, value in wanted.items():
            # nor of what a provider of configurations fills in
            if settings[name] != value and "${" not in settings[name]:
                raise ConnectorUnfit(
                    f"connector {self.connector} has {name} {settings[name]}, "
                    f"and {option_name('replication_policy')} says {value}",
                    cluster=str(self.rest),
                    remedy=f"correct {option_name('replication_policy')}, or the connector",
                )
