# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the user decides of a promotion of topics. The module's documentation says what each choice does."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from . import known_names
from .acls import check_principal
from .errors import InvalidInput, MigrationError
from .faults import all_of, faults_of, of_entries, raise_any
from .mapping import Rule
from .option_names import option_name
from .policies import Acls, OnFewerPartitions, OnLockout, OnMissing, OnUnknownSetting, Settings
from .selection import Selection, check_patterns
from .visible_text import quoted

# A topic that a pattern promotes is used by whatever tool finds it: its own would take it for theirs.
EXCLUDED_TOPICS = known_names.patterns(known_names.TOPICS, by_default=False)
# MirrorMaker 2's config.properties.exclude, with the topics' names of the two timestamp limits in place of the brokers' names,
# which no topic has. Source: DefaultConfigPropertyFilter of Kafka 4.3. And remote.storage.enable, which is about the brokers'
# disks, and which brokers from 3.9 on refuse to reset (KIP-950).
EXCLUDED_SETTINGS = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.timestamp\.after\.max\.ms",
    r"message\.timestamp\.before\.max\.ms",
    r"message\.timestamp\.difference\.max\.ms",
    r"message\.timestamp\.type",
    r"min\.insync\.replicas",
    r"remote\.storage\.enable",
    r"unclean\.leader\.election\.enable",
)


class CommittedTopics(t.NamedTuple):
    """In place of a selection: the source topics on which groups have committed offsets, as far as they still exist."""

    topics: frozenset[str]
    exclude_topic_patterns: tuple[str, ...] = ()


class Override(t.NamedTuple):
    """topics: patterns of source topics. settings: what these have at the destination; None for the brokers' default."""

    topics: tuple[str, ...]
    settings: dict[str, str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class PromotionOptions:
    """replication_factor: None for the source's, -1 for the brokers' default, or a number."""

    on_missing: OnMissing = OnMissing.CREATE
    replication_factor: int | None = None
    on_fewer_partitions: OnFewerPartitions = OnFewerPartitions.FAIL
    settings: Settings = Settings.MERGE
    keep_settings: tuple[str, ...] = ()
    exclude_settings: tuple[str, ...] = EXCLUDED_SETTINGS
    overrides: tuple[Override, ...] = ()
    on_unknown_setting: OnUnknownSetting = OnUnknownSetting.FAIL
    acls: Acls = Acls.NONE
    acl_groups: tuple[str, ...] = ()
    acl_transactional_ids: tuple[str, ...] = ()
    acl_wildcards: bool = False
    principal_rules: tuple[Rule, ...] = ()
    remove_acls: bool = False
    on_lockout: OnLockout = OnLockout.FAIL

    def check(self) -> None:
        """Raise InvalidInput for options that contradict each other, or a pattern that is no regular expression."""
        options = ("keep_settings", "exclude_settings", "acl_groups", "acl_transactional_ids")
        checks = [functools.partial(check_patterns, option, getattr(self, option)) for option in options]
        for number, override in enumerate(self.overrides, 1):
            place = f"{option_name('overrides')}, entry {number}"
            checks.append(functools.partial(check_patterns, place, override.topics))
        raise_any([*faults_of(*checks), *self._contradictions(), *self._faults_of_principals()])

    def _contradictions(self) -> t.Iterator[InvalidInput]:
        if self.settings is Settings.NONE and self.overrides:
            yield InvalidInput(
                f"{option_name('overrides')} give settings, and {option_name('settings')} is none",
                remedy=f"set {option_name('settings')} to merge, or remove {option_name('overrides')}",
            )
        if self.settings is not Settings.EXACT and self.keep_settings:
            yield InvalidInput(
                f"{option_name('keep_settings')} only works with {option_name('settings')}: exact, "
                f"and {option_name('settings')} is {self.settings}",
                why="without exact, nothing that only the destination sets is changed",
                remedy=f"remove {option_name('keep_settings')}",
            )
        acl_options = {
            "acl_groups": self.acl_groups,
            "acl_transactional_ids": self.acl_transactional_ids,
            "acl_wildcards": self.acl_wildcards,
            "principal_map": self.principal_rules,
            "remove_acls": self.remove_acls,
        }
        given = [option_name(name) for name, value in acl_options.items() if value]
        if self.acls is Acls.NONE and given:
            are, them = ("is", given[0]) if len(given) == 1 else ("are", "them")
            yield InvalidInput(
                f"{' and '.join(given)} {are} about ACLs, and {option_name('acls')} is none",
                remedy=f"set {option_name('acls')} to mirror or cutover, or remove {them}",
            )

    def _faults_of_principals(self) -> t.Iterator[MigrationError]:
        for number, rule in enumerate(self.principal_rules, 1):
            # What a pattern makes of a principal with references to its groups is only known with the principal.
            for text in (rule.name, None if rule.pattern is not None and "\\" in rule.to else rule.to):
                if text is not None:
                    what = f"{option_name('principal_map')}, entry {number}: {quoted(text)}"
                    yield from faults_of(functools.partial(check_principal, text, what))


def check_selection(selection: Selection | CommittedTopics) -> None:
    """Raise InvalidInput for a selection without topics: a promotion of everything must be asked for with a pattern.

    Groups may have committed on no topic that is left, and nothing is promoted then.
    """
    if isinstance(selection, CommittedTopics):
        check_patterns("exclude_topic_patterns", selection.exclude_topic_patterns)
    else:
        selection.check("topic")


def replication_factor_from(text: str) -> int | None:
    """The number that the option replication_factor means, or InvalidInput. See PromotionOptions."""
    if text == "source":
        return None
    if text == "broker":
        return -1
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) < 1 << 15:
        raise InvalidInput(
            f"{option_name('replication_factor')} is {text!r}",
            remedy="set it to source, to broker, or to a number from 1 on",
        )
    return int(text)


def overrides_from(rows: t.Iterable[dict[str, t.Any]]) -> tuple[Override, ...]:
    """The values of the option overrides, or InvalidInput that names the entries."""
    return of_entries("overrides", rows, _override)


def _override(place: str, row: dict[str, t.Any]) -> Override:
    topics, settings = tuple(row.get("topics") or ()), row.get("settings")
    faults = []
    if not topics:
        faults.append(InvalidInput(f"{place} names no topics", remedy="set topics; the pattern .* means all"))
    if not settings:
        faults.append(InvalidInput(f"{place} gives no settings", remedy="set settings, or remove the entry"))
    raise_any(faults)
    return Override(topics, dict(all_of(lambda item: (str(item[0]), _text(place, *item)), (settings or {}).items())))


def _text(place: str, name: t.Any, value: t.Any) -> str | None:
    """As Kafka writes it: YAML's true is Kafka's "true"."""
    if isinstance(value, dict | list):
        raise InvalidInput(f"{place}: the value of {name} is not a text or a number", remedy="give lists with commas")
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
