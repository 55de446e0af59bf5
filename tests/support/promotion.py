"""kafka_topic_promotion between two clusters, taken as a careful user takes it."""

import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import topic_configs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import partition_counts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from tests.support.clusters import KafkaCluster
from tests.support.modules import Result, succeeds

MODULE = "kafka_topic_promotion"


class Promotion:
    """One promotion with its files."""

    def __init__(self, folder: Path, source: KafkaCluster, destination: KafkaCluster) -> None:
        self.source, self.destination = source, destination
        self.plan_file, self.receipt_file = folder / "topics.json", folder / "topics-receipt.json"

    def run(self, via: t.Callable[..., t.Any] = succeeds, **options: t.Any) -> t.Any:
        """The module; options replace or add to those that every run has."""
        its: dict[str, t.Any] = {
            "source": self.source.connection,
            "destination": self.destination.connection,
            "plan": str(self.plan_file),
            "receipt": str(self.receipt_file),
        }
        return via(MODULE, **its | options)

    def carefully(self, **options: t.Any) -> Result:
        """The result of a run that check mode has predicted, and after which a second one has nothing to do."""
        files = self.files()
        predicted = self.run(check=True, diff=True, **options)
        assert self.files() == files, "check mode has written a file"
        done: Result = self.run(diff=True, **options)
        assert done == predicted, "check mode has predicted something else"
        files = self.files()
        assert self.run(**options)["changed"] is False, "a second run has found something to do"
        assert self.files() == files
        return done

    def files(self) -> dict[str, bytes]:
        """The files that are there."""
        return {file.name: file.read_bytes() for file in (self.plan_file, self.receipt_file) if file.exists()}

    def own(self, topic: str) -> dict[str, str]:
        """What is set on a topic of the destination itself."""
        return topic_configs(connection_from(self.destination.connection), [topic])[topic].own

    def partitions(self, *topics: str) -> dict[str, int]:
        """How many partitions those of these topics have that the destination has."""
        return partition_counts(connection_from(self.destination.connection), topics)
