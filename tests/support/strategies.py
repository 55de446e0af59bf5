"""What a strategy gets, for tests that ask one without a plan around it."""

import collections
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    StrategyInput,
    TranslateOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent


def strategy_input(
    source: ClusterLogs, destination: ClusterLogs, searched: t.Iterable[Draft] = (), **more: t.Any
) -> StrategyInput:
    """By default, topics have the partitions that were learned of them, there was no plan before, and Spark is not needed."""
    given: dict[str, t.Any] = {
        "merged": (),
        "source_counts": collections.Counter(at.topic for at in source.logs),
        "destination_counts": collections.Counter(at.topic for at in destination.logs),
        "same_topics": {},
        "previous": None,
        "options": TranslateOptions(),
        "spark": lambda: pytest.fail("Spark is not needed"),
        "say": silent,
        **more,
    }
    return StrategyInput({draft.key: draft for draft in searched}, source=source, destination=destination, **given)
