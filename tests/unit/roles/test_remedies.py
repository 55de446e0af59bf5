# SPDX-License-Identifier: GPL-3.0-or-later

"""A remedy names no option that the role does not have where the message is shown."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import drafts, one_cluster, renewal
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import (
    conflicts,
    coverage,
    entry_decision,
    rollback,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion import settings, trial
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import set_variables
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import (
    OnAdvance,
    OnMissingEntry,
    OnRewind,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.promotion import PromotionOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt, ReceiptEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_plan import TopicPlan
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._records import refusals
from ansible_collections.streamshift.kafka.plugins.plugin_utils._option_names import option_names, variables

ROOT = Path(__file__).parents[3]
P = TopicPartition("orders", 0)
COMMIT, PROMOTION, PREFLIGHT = "kafka_offset_commit", "kafka_topic_promotion", "kafka_migration_info"
TRANSLATE = "kafka_offset_translate"
SOURCE = Connection("source cluster", ("broker1:9092",))
USERS = {
    TRANSLATE: ("group_migration", "mirror_maker_group_sync", "group_clone", "group_reset"),
    COMMIT: ("group_migration", "mirror_maker_group_sync", "backlog_migration", "group_clone", "group_reset"),
    PROMOTION: ("group_migration", "mirror_maker_group_sync", "topic_promotion"),
    PREFLIGHT: ("group_migration", "mirror_maker_group_sync", "backlog_migration", "group_clone"),
}


@functools.cache
def its_variables(role: str) -> list[str]:
    return variables(str(ROOT / "roles/common"), role)


def at(offset: int | None) -> CommittedOffset | None:
    return None if offset is None else CommittedOffset(offset)


def decides(found: int | None, written: int | None = 50, joined: tuple[str, ...] = ("g",)) -> str:
    """What a commit says of an entry that is planned for 50."""
    entry = PlanEntry("g", P, 50, Verdict.EXACT, (SourcePosition("g", P, 7),))
    known = (ReceiptEntry("g", P, None, at(written), at(written)),) if written else ()
    current = {} if found is None else {entry.key: CommittedOffset(found)}
    ground = entry_decision.Ground("c", current, Receipt("c", known), OnRewind.FAIL, OnAdvance.FAIL, joined)
    entry_decision.commit_writes([entry], ground)
    raise AssertionError("it is not refused")


def rolls_back(found: int | None) -> str:
    key = ("g", P)
    entry = ReceiptEntry(*key, at(5), at(50), at(50))
    rollback.without_kept([entry], {key: at(found)} if found else {}, OnRewind.FAIL, OnAdvance.FAIL, "c")
    raise AssertionError("it is not refused")


def two_sources(groups: tuple[str, str], topics: tuple[str, str]) -> str:
    raise drafts._two_sources((groups[0], topics[0]), (groups[1], topics[1]), ("g", "t"))


def unknown_setting() -> str:
    wanted = {"orders": settings.Wanted({}, {}, ("message.format.version",))}
    settings.check_known_settings(wanted, PromotionOptions(), "c")
    raise AssertionError("it is not refused")


def one_cluster_nothing_changes() -> str:
    one_cluster.check_nothing_stays([drafts.Draft("g", P, "g", P, at(5))], True, SOURCE, SOURCE)
    raise AssertionError("it is not refused")


def lines_removed() -> str:
    snapshot = Snapshot("c", (SnapshotGroup("g", "classic"),), (SnapshotEntry("g", P, CommittedOffset(5)),))
    coverage.check_covers(Plan("c", "d", snapshot.digest(), ()), snapshot, OnMissingEntry.FAIL)
    raise AssertionError("it is not refused")


def absent() -> str:
    entry = PlanEntry("g", P, 50, Verdict.EXACT, (SourcePosition("g", P, 7),), absent=Absent(3, 9))
    return conflicts.absent_objections([entry])[entry.key]


def header_unreadable() -> str:
    exc = SystemError("a header")
    exc.__cause__ = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    message = types.SimpleNamespace(offset=lambda: 3, topic=lambda: "orders", partition=lambda: 0)
    refusals.raise_for_header(exc, SOURCE, message)


def replicas() -> str:
    problem = settings.replicas_problem("orders", "3", 1, True, "c")
    assert problem is not None
    raise problem


def refused_setting(monkeypatch: pytest.MonkeyPatch) -> str:
    """A broker that does not take what a topic is made with: segment.bytes below Kafka 4's least."""

    def check(_self: object, _destination: object, remedy: str) -> None:
        raise MigrationError("the brokers would not take orders", remedy=remedy)

    monkeypatch.setattr(
        trial.topic_making,
        "ChangeObjections",
        lambda: types.SimpleNamespace(add=lambda *_each: None, missing=[], check=lambda *given: check(None, *given)),
    )
    monkeypatch.setattr(trial.topic_making, "try_topics", lambda *_given: None)
    monkeypatch.setattr(trial.topic_changes, "try_partitions", lambda *_given: {})
    monkeypatch.setattr(trial, "_by_setting", lambda *_given: {})
    trial.check(None, TopicPlan("a", "b", (), ()))  # type: ignore[arg-type]
    raise AssertionError("it is not refused")


def expires() -> str:
    return renewal.notes(["g"], 10_080)[0].text


REMEDIES: dict[str, tuple[str, Callable[..., str]]] = {
    "would be moved back": (COMMIT, lambda: decides(90, None)),
    "would be moved forward": (COMMIT, lambda: decides(10, None)),
    "has changed since the plan": (COMMIT, lambda: decides(51, 52)),
    "was moved back": (COMMIT, lambda: decides(30)),
    "has no commit any more": (COMMIT, lambda: decides(None)),
    "nobody has joined": (COMMIT, lambda: decides(70, joined=())),
    "has consumed since, and is rolled back": (COMMIT, lambda: rolls_back(70)),
    "has lost its commit, and is rolled back": (COMMIT, lambda: rolls_back(None)),
    "expires": (COMMIT, expires),
    "two groups": (PREFLIGHT, lambda: two_sources(("a", "b"), ("t", "t"))),
    "two topics": (PREFLIGHT, lambda: two_sources(("g", "g"), ("t", "u"))),
    "nothing changes": (PREFLIGHT, one_cluster_nothing_changes),
    "removed lines": (COMMIT, lines_removed),
    "absent": (COMMIT, absent),
    "unreadable header": (TRANSLATE, header_unreadable),
    "unknown setting": (PROMOTION, unknown_setting),
    "too few replicas": (PROMOTION, replicas),
    "refused setting": (PROMOTION, refused_setting),
}


@pytest.fixture
def in_role() -> Iterator[Callable[..., None]]:
    """``in_role(module, role, phase)``: messages are those of a task of this role."""

    def run(module: str, role: str, phase: str | None) -> None:
        set_variables(option_names(module, role, phase, its_variables(role)))

    yield run
    set_variables(None)


@functools.cache
def options_of_modules() -> set[str]:
    """Every option that has two words: one word may be meant as a word."""
    found = set()
    for path in (ROOT / "plugins/modules").glob("*.py"):
        text = path.read_text()
        documented = yaml.safe_load(text.partition('DOCUMENTATION = r"""')[2].partition('"""')[0])
        found |= set(documented["options"])
    return {name for name in found if "_" in name} | {"overrides", "repartitioned"}


@pytest.mark.parametrize("phase", [None, "sync", "cut_over", "rollback"])
@pytest.mark.parametrize(
    ("role", "what"), [(role, what) for what, (module, _says) in REMEDIES.items() for role in USERS[module]]
)
def test_a_remedy_names_only_what_the_role_has(in_role, monkeypatch, role, what, phase):
    module, says = REMEDIES[what]
    in_role(module, role, phase)
    try:
        told = says(monkeypatch) if says is refused_setting else says()
    except MigrationError as exc:
        assert exc.remedy, "there is no way on"
        told = str(exc)
    has = set(its_variables(role))
    words = set(re.findall(r"[a-z]+(?:_[a-z]+)*", told))
    assert words & options_of_modules() <= {"source_alias"}, told
    assert {word for word in words if word.startswith(f"{role}_")} <= has, told
