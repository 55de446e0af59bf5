# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Partitions that a promotion has yet to make: they are planned as if they were there, and empty. Pure."""

from __future__ import annotations

import typing as t

from ..._model.cluster_identity import ClusterIdentity
from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.records import TopicPartition
from ..._model.topic_plan import TopicPlan


class Prediction(t.NamedTuple):
    """counts: how many partitions the topics have in the end. partitions: those that do not exist yet."""

    counts: dict[str, int]
    partitions: frozenset[TopicPartition] = frozenset()


def predict(
    promotion: TopicPlan | None, cluster_ids: tuple[str, str], topics: t.Collection[str], counts: t.Mapping[str, int]
) -> Prediction:
    """What the destination has once a promotion is done. None stands for no promotion.

    cluster_ids: of source and destination. topics: those of the destination that are asked about. counts: how many partitions
    they have now; missing topics are not in it. A change that is made already, or does not fit what is there, predicts nothing.
    Raises Refused for a promotion of other clusters.
    """
    if promotion is None:
        return Prediction(dict(counts))
    pairs = zip((promotion.source_id, promotion.destination_id), cluster_ids, strict=True)
    difference = next(
        (how for was, now in pairs if (how := ClusterIdentity(was).difference(ClusterIdentity(now))) is not None), None
    )
    if difference is not None:
        raise Refused(
            f"the promotion was planned for another cluster: this one {difference}",
            remedy="plan the promotion again for these clusters",
            kind=FailureKind.OTHER_CLUSTER,
        )
    after = {
        change.topic: change.after
        for change in promotion.topics
        if change.after is not None and change.topic in topics and counts.get(change.topic) == change.before
    }
    new = {
        TopicPartition(topic, number) for topic, count in after.items() for number in range(counts.get(topic, 0), count)
    }
    return Prediction({**counts, **after}, frozenset(new))
