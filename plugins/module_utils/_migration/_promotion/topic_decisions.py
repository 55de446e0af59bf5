# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What becomes of each topic of the destination: pure, from what both clusters have."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.errors import TopicUnsuitable
from ..._model.mapping import Mapping
from ..._model.new_topics import IN_SYNC, topic_like
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name, ways
from ..._model.policies import Acls, OnFewerPartitions, OnMissing, Settings
from ..._model.promotion import PromotionOptions
from ..._model.topic_plan import ADD, SettingChange, TopicChange, TopicPlan
from ..._model.wording import counted, first_names
from . import access, lockout, settings
from .survey import Survey, TopicState


class Planned(t.NamedTuple):
    """notes: what the user should know."""

    plan: TopicPlan
    notes: tuple[Note, ...]


def decide_topics(survey: Survey, mapping: Mapping, options: PromotionOptions, destination: str) -> Planned:
    """Decide for all topics and ACLs. destination: what the cluster calls itself. Raises Refused or InvalidInput."""
    settings.check_overrides(options.overrides, survey.names)
    notes = list(survey.notes)
    topics = []
    carried = {
        source: settings.wanted_settings(source, survey.source[source].configs.own, options, survey.known)
        for source, name in survey.names.items()
        if name not in survey.destination or options.settings is not Settings.CREATED
    }
    settings.check_known_settings(carried, options, destination)
    for source, name in survey.names.items():
        pair = _TopicPair(source, name, survey.source[source], carried.get(source, settings.Wanted({}, {})))
        destination_state = survey.destination.get(name)
        if source in carried:
            alone = [
                f"{name}: the brokers do not know {setting}, which is left out." for setting in pair.wanted.unknown
            ]
            alone += [
                f"{source}: the source's brokers hide the value of {setting}, which is left out."
                for setting in sorted(pair.state.configs.hidden)
            ]
            notes += [Note(NoteKind.SETTING_LEFT_ALONE, line) for line in alone]
        if destination_state is None:
            topics.append(_missing(pair, survey.brokers.known, options, notes))
        else:
            topics.append(_existing(pair, destination_state, survey, options, notes, destination))
        # How many the brokers' defaults would give a new topic is asked later, see trial.py.
        replicas = topics[-1].replication_factor if destination_state is None else destination_state.replicas
        in_sync = topics[-1].settings.get(IN_SYNC)
        up = survey.brokers.up if destination_state is None else None
        settings.check_replicas(name, in_sync and in_sync.after, replicas or 0, up, destination)
    made = TopicPlan(survey.source_id, survey.destination_id, tuple(sorted(topics, key=lambda each: each.topic)))
    if options.acls is not Acls.NONE:
        changes, acl_notes = access.acl_changes(survey, mapping, options)
        made = dataclasses.replace(made, acls=changes)
        added, is_open = made.acls_that(ADD), survey.open_without_acls
        notes += lockout.check_lockout(added, survey.destination_acls, is_open, options.on_lockout, destination)
        notes += acl_notes
    return Planned(made, tuple(notes))


class _TopicPair(t.NamedTuple):
    """A topic of the source as it is, what it is called at the destination, and the settings that it must have there."""

    source: str
    name: str
    state: TopicState
    wanted: settings.Wanted


def _missing(pair: _TopicPair, brokers: int, options: PromotionOptions, notes: list[Note]) -> TopicChange:
    source, name, source_state, wanted = pair
    if options.on_missing is OnMissing.LEAVE:
        text = f"{name} is missing at the destination, and {option_name('on_missing')} leaves it so."
        notes.append(Note(NoteKind.TOPIC_LEFT_MISSING, text))
        return TopicChange(name, source, None, None)
    new = topic_like(source_state.partitions, source_state.replicas, wanted.values, brokers, options.replication_factor)
    if options.replication_factor is None and new.replication_factor < source_state.replicas:
        text = (
            f"{name} gets {counted(new.replication_factor, 'replica')} instead of the source's {source_state.replicas}, "
            f"because the destination has {counted(brokers, 'broker')}."
        )
        notes.append(Note(NoteKind.FEWER_REPLICAS, text))
    changes = {setting: SettingChange(None, value, wanted.origins[setting]) for setting, value in new.configs.items()}
    return TopicChange(name, source, None, new.partitions, new.replication_factor, changes)


def _existing(
    pair: _TopicPair,
    destination_state: TopicState,
    survey: Survey,
    options: PromotionOptions,
    notes: list[Note],
    destination: str,
) -> TopicChange:
    source, name, source_state, wanted = pair
    before, at_source = destination_state.partitions, source_state.partitions
    grows = before < at_source and _grows(pair, before, name in survey.empty, options, destination)
    if grows:
        readers = survey.readers.get(name, ())
        read = f" Groups that read it: {first_names(readers)}." if readers else ""
        text = (
            f"{name} grows from {before} to {at_source} partitions: from now on, records with a key go to other partitions "
            f"than before.{read}"
        )
        notes.append(Note(NoteKind.PARTITIONS_GROW, text))
    elif before != at_source:
        filled, stays = "", "It stays so, and records with a key may be in other partitions"
        if before < at_source:
            filled = (
                " and holds records" if options.on_fewer_partitions is OnFewerPartitions.GROW_EMPTY_OR_LEAVE else ""
            )
            by_option = ways(("on_fewer_partitions", f"{option_name('on_fewer_partitions')} leaves it so"))
            stays = by_option or "It stays so"
        text = (
            f"{name} has {counted(before, 'partition')}{filled}, and {source} has {at_source} at the source. {stays}."
        )
        notes.append(Note(NoteKind.PARTITIONS_DIFFER, text))
    hidden = destination_state.configs.hidden & wanted.values.keys()
    notes += [
        Note(NoteKind.SETTING_LEFT_ALONE, f"{name}: the brokers hide the value of {setting}, which is left alone.")
        for setting in sorted(hidden)
    ]
    now = destination_state.configs
    changes = settings.setting_changes(wanted, now.own, now.hidden, options, source_state.configs.hidden)
    rests = grows and options.on_fewer_partitions is not OnFewerPartitions.GROW
    after, its_id = at_source if grows else before, destination_state.topic_id
    return TopicChange(name, source, before, after, None, changes, its_id, rests)


def _grows(pair: _TopicPair, partitions: int, is_empty: bool, options: PromotionOptions, destination: str) -> bool:
    """Whether a topic with so many, and fewer, partitions gets as many; Refused where it may not stay as it is, either."""
    why = ""
    match options.on_fewer_partitions:
        case OnFewerPartitions.GROW:
            return True
        case OnFewerPartitions.LEAVE:
            return False
        case OnFewerPartitions.GROW_EMPTY_OR_LEAVE:
            return is_empty
        case OnFewerPartitions.GROW_EMPTY:
            if is_empty:
                return True
            why = " and holds records"
        case OnFewerPartitions.FAIL:
            pass
        case _:
            t.assert_never(options.on_fewer_partitions)
    raise TopicUnsuitable(
        f"the topic has {counted(partitions, 'partition')}{why}, and {pair.source} has "
        f"{pair.state.partitions} at the source",
        cluster=destination,
        topic=pair.name,
        remedy=f"set {option_name('on_fewer_partitions')} to leave; or to grow, "
        "after which records with a key go to other partitions",
    )
