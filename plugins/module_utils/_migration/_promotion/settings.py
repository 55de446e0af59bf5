# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which settings a topic of the destination gets, and where each value comes from: pure."""

from __future__ import annotations

import math
import typing as t

from ..._model.errors import InvalidInput, OptionRefused, TopicUnsuitable
from ..._model.faults import raise_any
from ..._model.new_topics import IN_SYNC, following_settings, is_same_value, takes_no_records
from ..._model.option_names import option_name, ways
from ..._model.policies import OnUnknownSetting, Settings
from ..._model.promotion import Override, PromotionOptions
from ..._model.selection import matches
from ..._model.topic_plan import DEFAULT, OVERRIDE, SOURCE, SettingChange
from ..._model.wording import counted, first_of

_POLICY = "cleanup.policy"


class Wanted(t.NamedTuple):
    """The settings that a topic must have, None for the brokers' default, and where each comes from.

    unknown: what the destination's version does not know, and leaves out.
    """

    values: dict[str, str | None]
    origins: dict[str, str]
    unknown: tuple[str, ...] = ()


def wanted_settings(
    topic: str, own: t.Mapping[str, str], options: PromotionOptions, known: t.Collection[str]
) -> Wanted:
    """What the destination must set, of a source topic that sets own.

    known: the settings that the destination's version knows; empty where that cannot be told.
    """
    if options.settings is Settings.NONE:
        return Wanted({}, {})
    carried = following_settings(own, options.exclude_settings)
    overridden = _overridden(topic, options.overrides)
    values: dict[str, str | None] = {**carried, **overridden}
    unknown = tuple(sorted(name for name in values if known and name not in known))
    kept = {name: value for name, value in sorted(values.items()) if name not in unknown}
    return Wanted(kept, {name: OVERRIDE if name in overridden else SOURCE for name in kept}, unknown)


def check_known_settings(wanted: t.Mapping[str, Wanted], options: PromotionOptions, destination: str) -> None:
    """Raise Refused for settings that the destination's version does not know, with on_unknown_setting=fail.

    wanted: by topic.
    """
    unknown = [f"{', '.join(each.unknown)} of {topic}" for topic, each in wanted.items() if each.unknown]
    if unknown and options.on_unknown_setting is OnUnknownSetting.FAIL:
        raise TopicUnsuitable(
            f"the brokers do not know the setting {first_of(unknown)}",
            cluster=destination,
            why="it is misspelt, or they run another version of Kafka than the source's",
            remedy=ways(
                ("overrides", f"correct {option_name('overrides')}"),
                ("exclude_settings", f"add it to {option_name('exclude_settings')}"),
                ("on_unknown_setting", f"set {option_name('on_unknown_setting')} to leave"),
                ("", "create the topic yourself"),
            ),
        )


def setting_changes(
    wanted: Wanted,
    own: t.Mapping[str, str],
    hidden: t.Collection[str],
    options: PromotionOptions,
    source_hidden: t.Collection[str],
) -> dict[str, SettingChange]:
    """What changes at a topic that sets own; hidden are settings whose values the broker does not tell, which stay.

    source_hidden: the same of the source, which sets them: they are not the destination's alone.
    """
    if options.settings is Settings.NONE:
        return {}
    changes = {
        name: SettingChange(own.get(name), value, wanted.origins[name])
        for name, value in wanted.values.items()
        if name not in hidden and not is_same_value(own.get(name), value)
    }
    if options.settings is Settings.EXACT:
        stays = (*options.keep_settings, *options.exclude_settings)
        changes |= {
            name: SettingChange(value, None, DEFAULT)
            for name, value in own.items()
            if name not in {*wanted.values, *hidden, *source_hidden} and not matches(name, stays)
        }
    return dict(sorted(changes.items()))


def kept_less(before: t.Mapping[str, str], after: t.Mapping[str, str | None]) -> list[str]:
    """The settings with which a topic keeps or takes fewer records than before, as far as both are known.

    before, after: the defaults included; None for a default that nobody knows, which counts as less.
    """
    old = before.get(_POLICY, "")
    new = "compact,delete" if after.get(_POLICY) is None else str(after[_POLICY])
    is_known = bool(old) and _POLICY in after
    less = [_POLICY] if is_known and any(word in new and word not in old for word in ("compact", "delete")) else []
    limits = ("retention.bytes", "retention.ms") if "delete" in old and "delete" in new else ()
    return less + [
        name
        for name in ("max.message.bytes", *limits)
        if name in before and name in after and _is_less(after[name], before[name])
    ]


def _is_less(value: str | None, than: str) -> bool:
    """Is one limit less than another? -1 is none. What is no number, as services may have it, is not compared."""
    try:
        new, old = 0 if value is None else int(value), int(than)
    except ValueError:
        return False
    return (math.inf if new < 0 else new) < (math.inf if old < 0 else old)


def check_overrides(overrides: t.Sequence[Override], topics: t.Collection[str]) -> None:
    """Raise InvalidInput for an override that is about none of these source topics."""
    raise_any(
        InvalidInput(
            f"{option_name('overrides')}, entry {number} ({', '.join(override.topics)}) is about no selected topic of the "
            "source",
            remedy="correct its topics, which are patterns of source topics, or remove it",
        )
        for number, override in enumerate(overrides, 1)
        if not any(matches(topic, override.topics) for topic in topics)
    )


def check_replicas(topic: str, in_sync: str | None, replicas: int, brokers: int | None, destination: str) -> None:
    """Raise Refused where more replicas had to be in sync than can be: nothing could be written with acks=all.

    in_sync: min.insync.replicas, as far as it is known. brokers: of a new topic, how many are up; else None.
    """
    up = replicas if brokers is None else min(replicas, brokers)
    if not takes_no_records(in_sync, up):
        return
    has_too_few = takes_no_records(in_sync, replicas)
    factor = ("replication_factor", f"set {option_name('replication_factor')} to at least that")
    where_new = [*([factor] if has_too_few else []), ("", "create the topic yourself")]
    missing = f", {up} of them on brokers that are up" if up < replicas else ""
    raise (OptionRefused if has_too_few else TopicUnsuitable)(
        f"{IN_SYNC} would be {in_sync}, and the topic has {counted(replicas, 'replica')}{missing}",
        cluster=destination,
        topic=topic,
        why="producers with acks=all could write nothing",
        remedy=ways(
            *([("", "start the brokers that are down")] if missing else []),
            ("overrides", f"give a lower number in {option_name('overrides')}"),
            *(where_new if brokers is not None else []),
            ("", "leave the topic out"),
        ),
    )


def _overridden(topic: str, overrides: t.Sequence[Override]) -> dict[str, str | None]:
    """The first override that fits wins, setting by setting."""
    values: dict[str, str | None] = {}
    for override in overrides:
        if matches(topic, override.topics):
            values = {**override.settings, **values}
    return values
