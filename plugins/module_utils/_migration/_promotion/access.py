# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which ACLs the destination gets: pure.

While a replication tool still writes, ACLs that let or forbid others write would hit the tool or the copies, so mirror carries
only what is about reading. What an ACL means: org.apache.kafka.metadata.authorizer.StandardAuthorizerData.
"""

from __future__ import annotations

import bisect
import typing as t

from ..._model.acls import (
    ALLOW,
    DENY,
    EVERY,
    GROUP,
    LITERAL,
    PREFIXED,
    TOPIC,
    TRANSACTIONAL_ID,
    Acl,
    acls_text,
    check_principal,
)
from ..._model.errors import OptionRefused
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.policies import Acls
from ..._model.promotion import PromotionOptions
from ..._model.selection import matches
from ..._model.topic_plan import ADD, EXTRA, REMOVE, AclChange
from ..._model.visible_text import quoted
from ..._model.wording import first_of
from . import lockout
from .survey import Survey

_ANONYMOUS = "ANONYMOUS"  # org.apache.kafka.common.security.auth.KafkaPrincipal
# What is about reading, of the operations that a resource has. Nobody reads a transactional id.
_READING = {
    TOPIC: ("DESCRIBE", "DESCRIBE_CONFIGS", "READ"),
    GROUP: ("DESCRIBE", "READ"),
    TRANSACTIONAL_ID: ("DESCRIBE",),
}
# What an operation that is allowed implies: org.apache.kafka.common.acl.AclOperation.
_IMPLIED = {
    **dict.fromkeys(("READ", "WRITE", "DELETE", "ALTER"), ("DESCRIBE",)),
    "ALTER_CONFIGS": ("DESCRIBE_CONFIGS",),
}


def acl_changes(
    survey: Survey, mapping: Mapping, options: PromotionOptions
) -> tuple[tuple[AclChange, ...], tuple[Note, ...]]:
    """What becomes of the destination's ACLs, sorted; and notes of what was left out, and why.

    Raises Refused for a prefix that does not map to one prefix, InvalidInput for a principal without a type.
    """
    topics, destination = survey.names.values(), survey.destination_acls
    notes: list[Note] = []
    carried, narrowed = _carried(survey, mapping, options, notes)
    mirrored = {each for acl in carried | narrowed for each in _mirrored(acl)}
    wanted = {each for acl in carried | narrowed for each in _wanted(acl, options)}
    # Mirror and cutover do not take each other's ACLs for ones that only the destination has.
    known = carried | narrowed | mirrored
    resources = {each[:3] for acl in carried for each in _wanted(acl, options)}
    covers, covers_others = covering(topics), covering(set(survey.destination_topics) - set(topics))
    extras = {acl for acl in destination - known if acl[:3] in resources or covers(acl)}
    stays = {"": extras}
    if options.remove_acls:
        denying = {acl for acl in extras if acl.permission == DENY}
        allowing = extras - denying
        wide = {acl for acl in allowing if acl.name == EVERY or (acl[:3] not in resources and covers_others(acl))}
        removed = allowing - wide
        only = lockout.only_acls(removed, (destination - removed) | wanted, survey.open_without_acls)
        stays = {
            ", and they stay, because without them somebody gets access": denying,
            ", and they stay, because they also cover what is not selected": wide,
            f", and they stay, because {lockout.OPEN}": set(only),
        }
    for why, acls in stays.items():
        if acls:
            text = f"Only the destination has these ACLs{why}: {acls_text(sorted(acls))}."
            notes.append(Note(NoteKind.ACL_DESTINATION_ONLY, text))
    stay = set().union(*stays.values())
    added = wanted - destination
    if wider := sorted(acl for acl in added if acl.pattern == PREFIXED and covers_others(acl)):
        text = f"These ACLs also cover topics that only the destination has: {acls_text(wider)}."
        notes.append(Note(NoteKind.ACL_COVERS_MORE, text))
    changes = [AclChange(acl, ADD) for acl in added]
    changes += [AclChange(acl, EXTRA) for acl in extras & stay]
    changes += [
        AclChange(acl, REMOVE, only_selected=acl.pattern == PREFIXED and acl[:3] not in resources)
        for acl in extras - stay
    ]
    return tuple(sorted(changes)), tuple(dict.fromkeys(notes))


def _carried(
    survey: Survey, mapping: Mapping, options: PromotionOptions, notes: list[Note]
) -> tuple[set[Acl], set[Acl]]:
    """The source's ACLs as the destination has them after the cut-over, and what is denied besides: see _narrowed()."""
    names, topics = survey.names, survey.topics
    covers = covering(topics)
    carried: set[Acl] = set()
    wildcards: list[Acl] = []
    denying: list[Acl] = []
    early: list[Acl] = []
    if fenced := sorted(acl for acl in survey.source_acls & survey.fence if acl.name in names):
        text = f"ACLs of the fence at the source are left out: {acls_text(fenced)}."
        notes.append(Note(NoteKind.ACL_LEFT_OUT, text))
    for acl in sorted(survey.source_acls - survey.fence):
        is_wildcard = acl.name == EVERY and acl.pattern == LITERAL
        if is_wildcard and not options.acl_wildcards:
            (denying if acl.permission == DENY else wildcards).append(acl)
        elif acl.resource == TOPIC and not is_wildcard:
            parts = _of_topics(acl, names, topics, mapping, notes)
            carried.update(parts)
            if acl.permission == DENY and acl.pattern not in {part.pattern for part in parts}:  # not carried as a whole
                denying += _renamed(acl, topics, mapping)
            if acl.name in survey.later_names and not covers(acl):
                early.append(acl)
        elif _is_about(acl, options):
            carried.add(acl)
        elif acl.permission == DENY:
            denying.append(acl)
    carried = {_for_principal(acl, options) for acl in carried}
    narrowed: set[Acl] = set()
    for acl in denying:
        narrow = _narrowed(_for_principal(acl, options), carried, survey.destination_acls)
        if any(_wanted(part, options) for part in narrow):
            narrowed |= narrow
            if any(part[:3] != acl[:3] for part in narrow - carried):
                text = (
                    f"{acl} becomes one ACL for each name or prefix on which it overrides an ACL that is carried over. It "
                    "is left out elsewhere."
                )
                notes.append(Note(NoteKind.ACL_SPLIT, text))
        elif acl.name == EVERY:
            wildcards.append(acl)
    if wildcards := [acl for acl in wildcards if _is_about(acl, options)]:
        text = f"ACLs on * are left out, because {option_name('acl_wildcards')} is false: {acls_text(wildcards)}."
        notes.append(Note(NoteKind.ACL_LEFT_OUT, text))
    existing = survey.destination_acls.union(*(_wanted(acl, options) for acl in narrowed))
    early = [acl for acl in early if not _is_granted(_renamed(acl, topics, mapping), existing, options)]
    if early:
        text = f"ACLs are left out, because the source has no topic yet that they are about: {acls_text(early)}."
        notes.append(Note(NoteKind.ACL_LEFT_OUT, text))
    return carried, narrowed


def _is_granted(acls: t.Sequence[Acl], existing: frozenset[Acl], options: PromotionOptions) -> bool:
    return bool(acls) and all(existing.issuperset(_wanted(_for_principal(acl, options), options)) for acl in acls)


def _narrowed(acl: Acl, carried: t.Iterable[Acl], destination: t.Iterable[Acl]) -> set[Acl]:
    """What must be denied at the destination of an ACL that is not carried, so that no ACL which it overrides gives access.

    carried: the others. destination: what is there, which may deny it already, and more.
    """
    overridden = [other for other in carried if other.permission == ALLOW and _overrides(acl, other)]
    # On the narrower of both resources.
    parts = {
        acl if lockout.concerns(other, acl) else acl._replace(name=other.name, pattern=other.pattern)
        for other in overridden
    }
    return {part for part in parts if not any(other != part and _denies(other, part) for other in destination)}


def _overrides(denying: Acl, allowing: Acl) -> bool:
    """Does an ACL take away something of what another one gives?"""
    if not (lockout.concerns(denying, allowing) or lockout.concerns(allowing, denying)):
        return False
    if denying.principal != allowing.principal and not any(map(lockout.is_everybody, (denying, allowing))):
        return False
    given = {allowing.operation, *_IMPLIED.get(allowing.operation, ())}
    return denying.operation in given or "ALL" in (denying.operation, allowing.operation)


def _denies(wider: Acl, acl: Acl) -> bool:
    """Does one ACL deny all that another one denies?"""
    return (
        wider.permission == DENY
        and lockout.concerns(wider, acl)
        and wider.operation in ("ALL", acl.operation)
        and wider.host in (EVERY, acl.host)
        and (wider.principal == acl.principal or lockout.is_everybody(wider))
    )


def covering(topics: t.Iterable[str]) -> t.Callable[[Acl], bool]:
    """What tells of an ACL, unless it is on all topics, whether it is about one of these."""
    names = sorted(topics)

    def covers(acl: Acl) -> bool:
        if acl.resource != TOPIC or acl.name == EVERY:
            return False
        at = bisect.bisect_left(names, acl.name)  # where those that begin so begin
        return any(
            name == acl.name if acl.pattern == LITERAL else name.startswith(acl.name) for name in names[at : at + 1]
        )

    return covers


def _is_about(acl: Acl, options: PromotionOptions) -> bool:
    """Whether the ACL's resource is one that is carried, but for names of topics."""
    if acl.resource == TOPIC:
        return True
    patterns = {GROUP: options.acl_groups, TRANSACTIONAL_ID: options.acl_transactional_ids}[acl.resource]
    return bool(patterns) if acl.name == EVERY else matches(acl.name, patterns)


def _of_topics(
    acl: Acl, names: t.Mapping[str, str], topics: t.Collection[str], mapping: Mapping, notes: list[Note]
) -> list[Acl]:
    """An ACL on one topic, or on all with a prefix, as the destination needs it; none where no selected topic is concerned."""
    if acl.pattern == LITERAL:
        return [acl._replace(name=names[acl.name])] if acl.name in names else []
    covered = [topic for topic in topics if topic.startswith(acl.name)]
    selected = [topic for topic in covered if topic in names]
    if not selected:
        return []
    if len(selected) < len(covered):
        left_out = first_of(sorted(set(covered) - set(selected)))
        why = f"the selection leaves out topics with this prefix: {left_out}"
    else:
        prefix = _prefix(acl, covered, mapping)
        if prefix is None:
            raise OptionRefused(
                f"the source's {acl} covers topics with a prefix, and {option_name('topic_map')} does not give them one prefix",
                why="an ACL with a prefix also covers topics that do not exist yet",
                remedy=f"map the whole prefix by one rule of {option_name('topic_map')}; "
                f"or set {option_name('acls')} to none, and grant the ACLs yourself",
            )
        if prefix:
            return [acl._replace(name=prefix), *_exceptions(acl, covered, mapping)]
        why = f"{option_name('topic_map')} removes the whole prefix"
    notes.append(Note(NoteKind.ACL_SPLIT, f"{acl} becomes one ACL for each selected topic, because {why}."))
    return [acl._replace(name=names[topic], pattern=LITERAL) for topic in selected]


def _renamed(acl: Acl, topics: t.Iterable[str], mapping: Mapping) -> list[Acl]:
    """An ACL on topics with the destination's name; one on each of these topics where its prefix becomes no prefix."""
    covered = [acl.name] if acl.pattern == LITERAL else [topic for topic in topics if topic.startswith(acl.name)]
    if acl.pattern == PREFIXED and (prefix := _prefix(acl, covered, mapping)):
        return [acl._replace(name=prefix), *_exceptions(acl, covered, mapping)]
    return [acl._replace(name=mapping.topic(topic), pattern=LITERAL) for topic in covered]


def _exceptions(acl: Acl, covered: t.Iterable[str], mapping: Mapping) -> list[Acl]:
    """An ACL with a prefix on each of its topics that gets a name with an alias although its prefix stays."""
    return [
        acl._replace(name=mapping.topic(topic), pattern=LITERAL) for topic in covered if mapping.is_exception(topic)
    ]


def _prefix(acl: Acl, covered: t.Sequence[str], mapping: Mapping) -> str | None:
    """The destination's prefix for a prefix of the source; None for several, and empty where it is removed.

    _exceptions() do not count. Topics that do not exist yet must be covered as well.
    """
    prefix = acl.name
    named = [rule.name for rule in mapping.topic_rules if rule.name and rule.name.startswith(prefix)]
    kept = [topic for topic in covered if not mapping.is_exception(topic)]
    probes = [*kept, *named, f"{prefix}-", f"{prefix}0", f"{prefix}x", f"{prefix}.x_1"]
    prefixes = set()
    for topic in probes:
        rest, new = topic[len(prefix) :], mapping.topic(topic)
        prefixes.add(new.removesuffix(rest) if new.endswith(rest) else None)
    return prefixes.pop() if len(prefixes) == 1 else None


def _wanted(acl: Acl, options: PromotionOptions) -> list[Acl]:
    """What the destination gets of an ACL that is carried."""
    return _mirrored(acl) if options.acls is Acls.MIRROR else [acl]


def _mirrored(acl: Acl) -> list[Acl]:
    """The ACLs of mirror: DENY ALL forbids only to read, so that nobody reads at the destination who must not at the source."""
    operations = _READING[acl.resource]
    if acl.permission == DENY:
        reading = [acl._replace(operation="READ")] if "READ" in operations else []
        return {"WRITE": [], "ALL": reading}.get(acl.operation, [acl])
    if acl.operation == "ALL":
        return [acl._replace(operation=operation) for operation in operations]
    return [acl] if acl.permission == ALLOW and acl.operation in operations else []


def _for_principal(acl: Acl, options: PromotionOptions) -> Acl:
    is_general = acl.principal.partition(":")[2] in (EVERY, _ANONYMOUS)
    for rule in options.principal_rules:
        if is_general and rule.name is None:
            continue
        for new in rule.apply(acl.principal):  # one at most: only groups may get several names
            check_principal(new, f"{option_name('principal_map')} makes {quoted(new)} of {acl.principal}, which")
            return acl._replace(principal=new)
    return acl
