"""Clusters that tests without brokers tell apart by ids, and topics that they have there."""

import dataclasses
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import clusters
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import (
    NO_TRAITS,
    ClusterIdentity,
    Traits,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection


@dataclasses.dataclass
class Identities:
    """id_of: what a cluster calls itself. counts: how many partitions which of the topics have that are asked about.

    traits: what a test notes of clusters, by that name.
    """

    id_of: t.Callable[[Connection], str]
    counts: t.Callable[[Connection, t.Collection[str]], t.Mapping[str, int]]
    traits: dict[str, Traits] = dataclasses.field(default_factory=dict)

    def identify(self, connection: Connection, names: t.Collection[str] = ()) -> ClusterIdentity:
        found = self.id_of(connection)
        return ClusterIdentity(found, self.traits.get(found, NO_TRAITS))

    def look_at(
        self, connection: Connection, names: t.Collection[str], others: t.Collection[str] = ()
    ) -> ClusterIdentity:
        found = self.identify(connection, names)
        counts = self.counts(connection, names)
        return found if found.traits.logs else found._replace(traits=found.traits.with_counts(counts))

    def are_one(self, source: Connection, destination: Connection) -> bool:
        return self.id_of(source) == self.id_of(destination)


def known_by_id(
    monkeypatch: pytest.MonkeyPatch,
    id_of: t.Callable[[Connection], str],
    counts: t.Callable[[Connection, t.Collection[str]], t.Mapping[str, int]] = lambda _connection, names: dict.fromkeys(
        names, 10
    ),
) -> Identities:
    """Let every use case see these clusters."""
    its = Identities(id_of, counts)
    monkeypatch.setattr(clusters, "identify", its.identify)
    monkeypatch.setattr(clusters, "look_at", its.look_at)
    monkeypatch.setattr(clusters, "are_one", its.are_one)
    return its
