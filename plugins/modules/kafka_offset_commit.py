#!/usr/bin/python
# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_offset_commit
short_description: Commit the offsets of a plan for consumer groups, or roll them back
version_added: 0.1.0
description:
  - Commits the planned offsets for the groups of a cluster, or restores the offsets that were committed before.
  - Checks everything before the first write. The cluster must be the one in the plan, the plan must contain nothing
    blocked, every group must have the committed offsets that the plan expects, and no group may be in use. Then the
    module commits the offsets with their metadata, and reads them back.
  - Saves the receipt to disk before the first write. The receipt contains the offsets that were committed before, and
    makes a rollback possible.
  - Does not write offsets that are already correct, and leaves a group alone that was migrated earlier and has consumed
    since.
author: The streamshift.kafka authors (@streamshift)
extends_documentation_fragment:
  [streamshift.kafka._attributes, streamshift.kafka._attributes.files, streamshift.kafka._cluster,
   streamshift.kafka._selection, streamshift.kafka._selection.topics, streamshift.kafka._cluster.source,
   streamshift.kafka._entries, streamshift.kafka._receipt]
options:
  source:
    description:
      - The Kafka cluster that the groups come from. If it is set, the module reads the groups there twice - before the
        first write, together with the second reading of the destination, and after the last write. O(on_active_source)
        applies to groups that have members, or whose committed offsets differ from those that the plan was made from.
      - The first reading is the snapshot that the plan was made from. So the module detects every consumer that commits
        at the source between the snapshot and the last write. It also looks at groups that have all planned offsets already.
      - Ignored with O(state=rolled_back).
  state:
    description:
      - Which offsets the groups have afterwards.
      - V(committed) commits the offsets of O(plan).
      - V(rolled_back) restores, for the selected groups, the offsets that were committed before according to
        O(receipt). The module deletes offsets that did not exist before, and groups that have no offsets left. If the
        user may not describe every topic, the brokers delete such a group themselves, unless it has committed offsets
        that the user does not see. Brokers before Kafka 2.4 delete only whole groups, with all their offsets. The module
        leaves everything else in the receipt alone, whether it is in use or not. It reads C(return/receipt.json) beside
        O(receipt), if it is there, to know which groups repeat nothing because a return has set them at the source since.
    type: str
    choices: [committed, rolled_back]
    default: committed
  plan:
    description:
      - Path of the plan file, as M(streamshift.kafka.kafka_offset_translate) writes it.
      - The module writes nothing if the metadata of a planned offset is longer than the brokers'
        C(offset.metadata.max.bytes). If the user lacks the ACL CLUSTER DESCRIBE_CONFIGS, the module assumes 4096,
        Kafka's default.
      - Required with O(state=committed).
    type: path
  plan_digest:
    description:
      - SHA-256 digest of the plan file that was reviewed, as M(streamshift.kafka.kafka_offset_translate) returns it and
        C(sha256sum) prints it.
      - Nothing is written if the plan file has another digest, so that exactly the reviewed plan is committed.
    type: str
  snapshot:
    description:
      - Path of a snapshot file. The module writes nothing unless the plan was made from exactly this snapshot. So a
        reviewed plan is committed only if the source's groups have not moved since.
      - The plan must also cover the whole snapshot; see O(on_missing_entry).
    type: path
  on_missing_entry:
    description:
      - What to do if the plan has no entry for a group-partition in O(snapshot), because somebody has removed the line.
      - V(fail) writes nothing at all, and fails.
      - V(skip) leaves out these group-partitions. Their consumers start according to their C(auto.offset.reset), which
        may skip or repeat records.
    type: str
    choices: [fail, skip]
    default: fail
  groups:
    description:
      - With O(state=rolled_back), names of the groups to roll back. O(exclude_group_patterns) does not apply to them. A
        name that is not in the receipt is an error, unless O(removed) or the snapshot beside the receipt has it, or the
        snapshot has left it out.
      - With O(state=committed) and without O(snapshot), what the plan must be about. The module refuses a plan with groups
        or topics that are not selected, and tells groups that are named and not in the plan as left out.
      - Set O(groups) or O(group_patterns), unless O(everything=true).
      - O(groups), O(group_patterns), O(topics) and O(topic_patterns) select by the names at the source. A receipt of a
        release that did not record the source contains only the names at the destination.
    type: list
    elements: str
    default: []
  everything:
    description: With O(state=rolled_back), whether to roll back everything in the receipt, including what other runs in
      the same directory have committed.
    type: bool
    default: false
  removed:
    description:
      - With O(state=rolled_back), path of the file of M(streamshift.kafka.kafka_group_removal), which need not exist. Set it to
        roll back a rename.
      - The module then refuses to take offsets from a new group if its old group has none, or is in the file and was not made
        again, because no group would have them after that. In check mode, it expects that removed groups are made again.
    type: path
  report:
    description:
      - Path of the report file that M(streamshift.kafka.kafka_offset_verify) has written for O(plan). Offsets that
        failed verification count as blocked, with the reason C(verification_failed); see O(on_blocked).
      - The module refuses a report about another plan, or about an earlier state of the plan file.
      - Without a report, the module trusts the offsets of O(plan). O(plan_digest) binds it to the plan that was reviewed.
    type: path
  on_absent:
    description:
      - Without O(report), what to do if O(plan) says that unconsumed records are absent at the destination although later
        records are there (C(absent)). With O(report), the O(streamshift.kafka.kafka_offset_verify#module:on_absent) of the
        verification decides.
      - V(fail) counts these offsets as blocked, with the reason C(verification_failed); see O(on_blocked).
      - V(warn) commits them. The group never gets these records.
    type: str
    choices: [fail, warn]
    default: fail
  on_blocked:
    description:
      - What to do if the plan contains blocked group-partitions, or if O(report) contains offsets that failed
        verification.
      - V(fail) writes nothing at all, and fails.
      - V(skip_group) leaves out every group that has a blocked group-partition.
      - V(skip_partition) leaves out only the blocked group-partitions. Their consumers continue from what they have
        committed at the destination, or start according to their C(auto.offset.reset), which may skip or repeat
        records.
    type: str
    choices: [fail, skip_group, skip_partition]
    default: fail
  on_rewind:
    description:
      - What to do if a group has committed an offset at the destination that is after the planned offset. The planned
        offset would move the group back.
      - V(fail) writes nothing at all, and fails.
      - V(keep) keeps the committed offset. Records between the planned and the committed offset may be skipped.
      - V(rewind) commits the planned offset. Records between the planned and the committed offset may be repeated.
      - The same for a group that was migrated earlier, and of which it is not known how far it has consumed. Either its
        committed offset is gone, or it is a later one although no consumer has ever joined the group. With V(keep), records may
        be skipped; with V(rewind), they may be repeated. After a reset inside one cluster, a later one counts as consumed.
      - With O(state=rolled_back), the option applies to groups that have consumed since they were migrated, or whose
        committed offset is not the one in O(receipt). V(keep) leaves all partitions of such a group alone, V(rewind)
        rolls them back.
    type: str
    choices: [fail, keep, rewind]
    default: fail
  on_advance:
    description:
      - What to do if a group has committed an offset at the destination that is before the planned offset. The planned
        offset would move the group forward.
      - V(advance) commits the planned offset. The group does not read the records between the committed and the planned
        offset.
      - V(keep) keeps the committed offset. Records between the committed and the planned offset may be repeated.
      - V(fail) writes nothing at all, and fails.
      - With O(state=rolled_back), V(keep) leaves all partitions of such a group alone.
    type: str
    choices: [advance, keep, fail]
    default: advance
  on_active_group:
    description:
      - What to do for a group in use at the destination. A group is in use if it has members, or if its committed
        offsets change within O(idle_wait).
      - V(fail) writes nothing at all, and fails.
      - V(skip_group) leaves the group out, and writes the others.
    type: str
    choices: [fail, skip_group]
    default: fail
  on_active_source:
    description:
      - What to do for a group in use at O(source). A group is in use if it has members, or if its committed offsets
        change, from the snapshot until the last write.
      - V(fail) writes nothing at all, and fails.
      - V(skip_group) leaves the group out, and writes the others.
      - V(warn) commits the planned offsets and returns a note. Records that the group has consumed at the source since
        the snapshot are repeated at the destination.
      - If the use is detected only after the last write, V(fail) and V(skip_group) fail. The written offsets stay; the
        message says which records would be skipped or repeated at the destination, and how to continue.
    type: str
    choices: [fail, skip_group, warn]
    default: fail
  on_expiring:
    description:
      - What to do for a group of the plan that exists, is empty and had members once. Unless a member joins, its
        committed offsets expire C(offsets.retention.minutes) after its last member has left. For such a group of the
        classic protocol, a commit does not start this time anew, and no request tells when it began.
      - V(warn) returns a note for each such group.
      - V(renew) removes such a group and makes it again with everything that it has committed, so that the time starts
        anew. Until this is done, the group is gone for a moment; O(receipt) has all its committed offsets. If the
        module is killed in between, its next run completes it. The user needs the ACL GROUP DELETE, and TOPIC DESCRIBE
        on all topics of the group, because brokers hide committed offsets of other topics, and these would be lost. For a
        group that was migrated earlier and has consumed since, it returns the note.
      - Ignored with O(state=rolled_back), which completes what was killed, too.
    type: str
    choices: [warn, renew]
    default: warn
  on_still_written:
    description:
      - What to do if producers still write to the groups' topics at O(source). The module compares the ends of the logs before
        and after O(idle_wait), and again after its last write. Records that come there later reach the groups only as long as
        a replication tool copies them.
      - V(note) returns a note, and C(still_written) in the result.
      - V(fail) writes nothing at all, and fails. What is seen only after the last write is a note.
      - If it is not set, the module does not look. Without O(source), and with O(state=rolled_back), it is an error.
    type: str
    choices: [note, fail]
  idle_wait:
    description:
      - How many seconds to wait before reading the committed offsets a second time, once for all groups together.
      - This detects consumers that use C(assign). They never appear as members; only their committed offsets change,
        every 5 seconds by default.
      - With O(report), the verification has read them a first time, and so many seconds from then on are enough. A group whose
        committed offsets have changed since is waited for from now on.
      - The module does not wait if there is nothing to write, unless it looks for producers (O(on_still_written)).
    type: float
    default: 5
seealso: [{module: streamshift.kafka.kafka_offset_translate}, {module: streamshift.kafka.kafka_offset_verify}]
"""

EXAMPLES = r"""
- name: Commit the offsets of a plan
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Commit exactly the reviewed plan, and only if the groups are not in use at the source
  streamshift.kafka.kafka_offset_commit:
    source: "{{ hostvars.onprem.kafka_cluster }}"
    cluster: "{{ hostvars.cloud.kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    plan_digest: "{{ reviewed_digest }}"
    receipt: "{{ inventory_dir }}/receipt.json"

- name: Commit all groups except those with an offset that failed verification
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    report: "{{ inventory_dir }}/report.json"
    on_blocked: skip_group

- name: Commit thousands of groups, return only numbers, and renew groups whose committed offsets would expire with older ones
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    plan: "{{ inventory_dir }}/plan.json"
    receipt: "{{ inventory_dir }}/receipt.json"
    on_expiring: renew
    return_entries: none

- name: Roll back one group
  streamshift.kafka.kafka_offset_commit:
    cluster: "{{ kafka_cluster }}"
    receipt: "{{ inventory_dir }}/receipt.json"
    state: rolled_back
    groups:
      - billing
"""

RETURN = r"""
receipt:
  description: Path of the receipt file; null if there is none, because nothing was ever written.
  returned: success
  type: str
  sample: /srv/onprem-to-cloud/receipt.json
entries:
  description: The committed offsets before and after, sorted by group, topic and partition; null if there is none.
    After a rollback, only the selected ones.
  returned: success
  type: list
  elements: dict
  contains:
    group: {description: The group at the destination., type: str, sample: billing}
    topic: {description: The topic at the destination., type: str, sample: orders}
    partition: {description: The partition., type: int, sample: 3}
    before: {description: The offset that was committed before., type: int, sample: null}
    after:
      description: The offset that is committed now. In check mode, the offset that would be committed.
      type: int
      sample: 41877
    changed:
      description: Whether the module has written or deleted the committed offset, be it for another metadata or leader epoch
        alone. In check mode, whether it would.
      type: bool
      sample: true
written:
  description: Number of committed offsets that the module has written or deleted. In check mode, the number that it
    would write or delete. A module that has failed returns 0 if it has failed before its first write; otherwise it returns no
    number.
  returned: success, or failure before anything is written
  type: int
  sample: 12
stands:
  description: How many group-partitions of the plan have their offset after this task, or have had it and consumed since. Null
    with O(state=rolled_back).
  returned: success
  type: int
  sample: 12
unwritten:
  description: How many group-partitions of RV(stands) had their offset before this task although O(receipt) has no line of
    their group, so that O(state=rolled_back) cannot roll it back. 0 with O(state=rolled_back).
  returned: success
  type: int
  sample: 0
may_start:
  description: Names of the groups that have all planned offsets after this task, or have consumed since, so that their
    consumers may start. A group with a partition that is blocked, or that O(on_missing_entry) leaves out, and those in
    RV(kept_groups) or RV(active_groups) are not among them. Empty with O(state=rolled_back).
  returned: success
  type: list
  elements: str
  sample: [billing]
may_not_start:
  description: How many groups of O(plan) and O(snapshot) are not in RV(may_start), because something of theirs is blocked or
    left out. 0 with O(state=rolled_back).
  returned: success
  type: int
  sample: 0
blocked:
  description: One line for each group-partition that is blocked in the plan, and that O(on_blocked) leaves out.
  returned: success
  type: list
  elements: str
  sample: []
left_out:
  description: One line for what else was asked for and is not done - what the snapshot does not have, partitions that are
    V(uncommitted), and groups and group-partitions that are left alone because of an option. A group-partition that was
    migrated earlier and has consumed since is not among them; C(summary) has a line for it.
  returned: success
  type: list
  elements: str
  sample: []
kept_groups:
  description: Names of the groups of which the module left an offset alone because of O(on_rewind) or O(on_advance), and of
    those that O(on_active_source=skip_group) leaves out. Those that were migrated earlier and have consumed since are not
    among them.
  returned: success
  type: list
  elements: str
  sample: []
active_groups:
  description: Names of the groups that are left out because they are in use, and for which the plan has other offsets than the
    groups have, or that cannot be rolled back because they are in use.
  returned: success
  type: list
  elements: str
  sample: []
still_written:
  description: Topics at O(source) that have grown while the module looked, with O(on_still_written).
  returned: success
  type: list
  elements: dict
  contains:
    topic: {description: The topic., type: str, sample: orders}
    records: {description: By how many offsets it has grown at the last look., type: int, sample: 12}
    last:
      description: When its last record was written, as its producer says, in milliseconds since the epoch. Null if the brokers
        do not tell.
      type: int
      sample: 1764108900000
    producers:
      description: Who has written it last, and until a minute before. Brokers of version 2.8 and later tell that of
        idempotent and transactional producers. RV(still_written[].producers[].transactional_id) is empty if they do not
        tell it.
      type: list
      elements: dict
      contains:
        producer_id: {description: The id that the brokers have given to the producer., type: int, sample: 2001}
        last: {description: "When it has written, in milliseconds since the epoch.", type: int, sample: 1764108900000}
        transactional_id: {description: Its C(transactional.id)., type: str, sample: shop-7}
notes:
  description: One line for each group that is still in use at O(source), with O(on_active_source=warn), and for each group
    whose committed offsets may expire soon, with O(on_expiring=warn).
  returned: success
  type: list
  elements: str
  sample: []
note_kinds: {description: "Kinds of the RV(notes), in the same order.", returned: success, type: list, elements: str}
summary:
  description: A human-readable table, as lines, with the totals last. After a rollback, the first line is the number of
    groups that were rolled back.
  returned: success
  type: list
  elements: str
  sample:
    - "group    partitions  changed"
    - "billing          12       12"
    - "Total: 1 group, 12 group-partitions: 12 changed, 0 left out."
failure: {description: "What C(msg) says, as data. See C(docs/troubleshooting.md).", returned: failure, type: dict}
"""

import functools
import os
import time
import typing as t

from ..module_utils._migration._committing import commit as use_case
from ..module_utils._migration._committing.conflicts import own_objections
from ..module_utils._migration._committing.outcome import CommitOptions, CommitOutcome, Save
from ..module_utils._model import offset_formats, plan, receipt, removed, snapshot
from ..module_utils._model.connection import Connection
from ..module_utils._model.errors import WRITTEN, InvalidFile, MigrationError
from ..module_utils._model.migrated_groups import DirectoryFiles, groups_of
from ..module_utils._model.notes import Note
from ..module_utils._model.policies import OnAbsent, OnActiveGroup, ReturnEntries
from ..module_utils._model.selection import Selection
from ..module_utils._module import digests, files, options, summaries
from ..module_utils._module.commit_results import commit_result
from ..module_utils._module.frame import Module
from ..module_utils._module.migration_directory import is_in_return, read_return, to_undo


def commit(module: Module) -> dict[str, t.Any]:
    try:
        return _done(module)
    except MigrationError as exc:
        if module.params["receipt"] not in WRITTEN:  # it is saved before the first write
            exc.result["written"] = 0
        raise


def _save(path: str, is_rollback: bool, done: receipt.Receipt) -> None:
    # What has begun goes on, and nothing keeps a receipt that has grown from being written again, or rolled back.
    there = os.path.getsize(path) if os.path.exists(path) else 0
    most = files.LARGEST if path in WRITTEN else max(files.MOST_WRITTEN, there)
    # Only what is new is read, to see that later runs can: 2 s of CPU for 100,000 entries. Nothing is new in a rollback, nor
    # where brokers have read back what was saved before the write.
    is_new = bool(done.renewing) or any(entry.written and not entry.is_confirmed for entry in done.entries)
    reader = receipt.from_json if is_new and not is_rollback else None
    files.write_document(path, receipt.to_json(done), reader, most=most)


def _objections(
    params: dict[str, t.Any], made: plan.Plan, verified: t.Mapping[receipt.Key, str]
) -> t.Mapping[receipt.Key, str]:
    """Why offsets must not be written: what the plan itself says, and what the verification says.

    Absent records are for the verification, or for the user, to decide; an edited offset is for neither.
    """
    decided = params["report"] or params["on_absent"] == OnAbsent.WARN
    own = own_objections(made.entries, absent=not decided)
    return {**own, **verified}


def _returned(recorded: receipt.Receipt, path: str) -> frozenset[str]:
    """The groups that a return has set at the source since, as far as its receipt is there and can be read."""
    try:
        back = read_return(os.path.dirname(path))
    except InvalidFile:  # serves a message alone
        return frozenset()
    groups = groups_of(DirectoryFiles("", None, recorded, back))
    return frozenset(group.group for group in groups if group.is_returned)


def _check_rollback(params: dict[str, t.Any]) -> None:
    idle = "plan_digest", "snapshot", "report", "on_still_written"
    options.check_unused(params, "a rollback rests on the receipt alone", *idle)
    files.check_rollback_file(params["receipt"], "receipt")


class _Done(t.NamedTuple):
    """What was done, and what only a commit or only a rollback says of it, as in the result."""

    outcome: CommitOutcome
    notes: list[Note]
    head: t.Sequence[str] = ()
    costs: str = ""
    stands: int | None = None
    unwritten: int = 0
    may_start: t.Sequence[str] = ()
    may_not_start: int = 0


def _committed(params: dict[str, t.Any], selection: Selection | None, cluster: Connection, save: Save | None) -> _Done:
    path = params["receipt"]
    text = files.read_required(params["plan"], "plan", "kafka_offset_translate")
    if params["plan_digest"] is not None:
        digests.check_digest(text, params["plan_digest"], params["plan"])
    taken = params["snapshot"] and files.read_required(params["snapshot"], "snapshot", "kafka_group_offsets")
    made = plan.from_json(text, params["plan"])
    known = files.parsed(path, receipt.from_json)
    # What a role has kept beside the plan need not be what the plan was made from.
    beside = os.path.join(os.path.dirname(params["plan"]), "snapshot.json")
    verified = digests.read_objections(params["report"], params["plan"], text)
    notes = files.lost_receipt(path)
    outcome = use_case.commit(
        made,
        known,
        cluster,
        options.filled(CommitOptions, params),
        save,
        offset_formats.read_snapshot(taken, params["snapshot"]) if taken else None,
        options.connection(params, "source") if params["source"] else None,
        objections=_objections(params, made, verified.lines),
        now=int(time.time()),
        selection=selection,
        earlier=verified.look,
        returns=is_in_return(path),
        kept=lambda: files.parsed_or_none(beside, snapshot.from_json),
    )
    standing = outcome.standing(made.entries)
    return _Done(
        outcome,
        notes,
        costs=summaries.costs(made, standing, outcome.after, verified.absent),
        stands=len(standing) + len(outcome.going_on),
        unwritten=len(outcome.unwritten(standing, known)),
        may_start=outcome.may_start(made.entries),
        may_not_start=len(outcome.may_not_start(made.entries)),
    )


def _rolled_back(
    params: dict[str, t.Any], selection: Selection | None, cluster: Connection, save: Save | None
) -> _Done:
    path = params["receipt"]
    recorded = files.parsed_required(path, receipt.from_json, "receipt", None)
    # The groups that a rename has removed, None if they are of no concern.
    gone = files.parsed(params["removed"], removed.from_json)
    if gone is None and params["removed"] is not None:
        gone = removed.Removed(recorded.cluster_id)
    selection, notes = to_undo(selection, recorded, path, gone)
    policies = options.filled(CommitOptions, params)
    outcome = use_case.roll_back(recorded, selection, cluster, policies, save, _returned(recorded, path), gone)
    head = [summaries.rollback_line(outcome.set, {entry.group for entry in recorded.entries})]
    return _Done(outcome, notes, [*head, *summaries.first_lines([f"  {line}" for line in outcome.unmoved])])


def _done(module: Module) -> dict[str, t.Any]:
    params = module.params
    path, is_rollback = params["receipt"], params["state"] == "rolled_back"
    why = "the module looks there for producers"
    options.check_all(
        params,
        lambda: options.rollback_selection(params),
        None if is_rollback else functools.partial(options.check_needed, params, "source", "on_still_written", why=why),
        lambda: _check_rollback(params) if is_rollback else files.check_writable(path),
    )
    selection, cluster = options.rollback_selection(params), options.connection(params, "cluster")
    save = None if module.check_mode else functools.partial(_save, path, is_rollback)
    with files.locked(path):
        done = (_rolled_back if is_rollback else _committed)(params, selection, cluster, save)
    outcome, return_entries = done.outcome, ReturnEntries(params["return_entries"])
    return {
        "receipt": path if outcome.set or os.path.exists(path) else None,
        "stands": done.stands,
        "unwritten": done.unwritten,
        "may_start": list(done.may_start),
        "may_not_start": done.may_not_start,
        **commit_result(outcome, cluster, return_entries, list(done.head), done.costs),
        **module.warned([*done.notes, *outcome.notes]),
    }


def main() -> None:
    spec = {
        **options.cluster_spec("cluster"),
        **options.SELECTION,
        **options.RETURN_ENTRIES,
        **options.spec_of(CommitOptions),
        **options.cluster_spec("source", required=False),
        "state": options.choices("committed", "rolled_back", default="committed"),
        **options.optional("path", "plan", "snapshot", "report", "removed"),
        "plan_digest": {"type": "str"},
        "receipt": {"type": "path", "required": True},
        "everything": {"type": "bool", "default": False},
        "on_absent": options.choices(OnAbsent, default="fail"),
        "on_active_group": options.choices(OnActiveGroup.FAIL, OnActiveGroup.SKIP_GROUP, default="fail"),
        "on_active_source": options.choices(
            OnActiveGroup.WARN, OnActiveGroup.SKIP_GROUP, OnActiveGroup.FAIL, default="fail"
        ),
    }
    Module(spec, required_if=[("state", "committed", ["plan"])]).run(commit)


if __name__ == "__main__":
    main()
