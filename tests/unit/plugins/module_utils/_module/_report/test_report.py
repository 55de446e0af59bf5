"""A report says what the files say, refuses files of two migrations, and lets no name act as code."""

import dataclasses
import html.parser
import json
import re
import shlex
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import receipt, report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnMismatch
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import ProblemKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.run_record import Step
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._model.visible_text import visible
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report import advice
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.figures import KnownLogs, State
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.migration_files import read_files
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.page import html_page
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.page_data import page_data
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.safe_text import as_markdown
from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.ticket import markdown
from ansible_collections.streamshift.kafka.plugins.module_utils._module.digests import digest
from ansible_collections.streamshift.kafka.plugins.module_utils._module.directions import RoleSettings
from tests.support.reported import ENTRIES, entry, logs_of, texts_of, told

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><b>`code` | cell ](javascript:alert(1))",
    '=HYPERLINK("x")',
    "\u05e7\u05d1\u05d5\u05e6\u05d4",
    "turned\u202egnp.exe",
    "<!-- & ]]> {{ 7 * 7 }} {% raw %}",
    "two\nlines\r\x00",
]


PLANNED, COMMITTED = texts_of(ENTRIES), texts_of(ENTRIES, committed=True)  # with what is blocked or uncommitted
BILLING, BILLING_COMMITTED = texts_of(ENTRIES[:2]), texts_of(ENTRIES[:2], committed=True)


class Reader(html.parser.HTMLParser):
    """The elements of a page, the texts outside of scripts, and the scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _value in attrs}
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and self.scripts[-1] == "":
            self.scripts[-1] = data
        else:
            self.text += data

    @property
    def data(self):
        return json.loads(self.scripts[0])


def test_the_totals_are_those_of_the_plan_the_report_and_the_receipt():
    total = told(COMMITTED).totals
    assert (total.groups, total.partitions, total.repeats.records, total.verified, total.skipped) == (2, 5, 66, 3, 0)
    verdicts = {"exact": 2, "safe": 1, "blocked": 1, "requested": 0, "uncommitted": 1}
    assert {verdict.value: count for verdict, count in total.verdicts.items()} == verdicts
    assert total.states == {State.COMMITTED: 3, State.LEFT_ALONE: 2}


def test_a_group_repeats_what_the_totals_say_also_where_a_reset_was_asked_for():
    reset = entry("billing", "orders", 0, Verdict.REQUESTED, repeats=1000)
    page = markdown(told({"plan.json": texts_of([reset])["plan.json"]}))
    assert "| `billing` | 1 | 0 | 0 | 0 | 1,000 | 0 |" in page


def test_what_is_blocked_comes_first_with_reason_and_remedy():
    blocked, safe, uncommitted = told(PLANNED).exceptions
    assert (blocked.verdict, safe.verdict) == (Verdict.BLOCKED, Verdict.SAFE)
    assert blocked.title == "blocked (destination_lags): 1 group-partition" and safe.title.endswith(
        "66 records repeated"
    )
    assert "wait_for_replication" in blocked.sentences[0]
    assert uncommitted.title == "uncommitted: 1 group-partition" and "on_uncommitted" in uncommitted.sentences[0]


@pytest.mark.parametrize("repeats", [0, 3, None])
def test_a_remedy_against_repeats_is_given_only_where_there_may_be_any(repeats):
    its = entry("billing", "orders", 0, Verdict.SAFE, reason=Reason.EXPIRED, repeats=repeats)
    (expired,) = told(texts_of([its])).exceptions
    assert ("If repeats matter" in expired.sentences[0]) == (repeats != 0)


def test_what_was_selected_and_not_taken_is_in_the_report():
    line = "monitor heartbeats-0 to 2 (called like MirrorMaker 2's): excluded by exclude_topic_patterns"
    taken = BILLING["snapshot.json"].replace('"entries": [', f'"left_out": ["{line}"], "entries": [', 1)
    story = told(BILLING_COMMITTED | {"snapshot.json": taken})
    assert story.level == "warning" and "Not all that was selected is in the snapshot" in story.headline
    for text in (Reader(html_page(story)).text, markdown(story).replace("\\", "")):
        assert line in text and "selected, but not taken" in text


@pytest.mark.parametrize("committed", [True, False])
def test_groups_that_were_left_out_are_exceptions_and_their_consumers_stay_where_they_are(committed):
    line = "fraud: left out, because it is in use at the source."
    committing = {"may_start": ["billing"] * committed, "may_not_start": 1 - committed}
    results = {"snapshot": {"skipped_groups": ["fraud"]}, "commit": committing}
    story = told(texts_of(ENTRIES[:2], committed=committed), results=results)
    assert story.level == "warning" and story.headline.endswith(", 1 group left out because it is in use.")
    assert line in Reader(html_page(story)).text and f"* {line}" in markdown(story).splitlines()
    (step,) = story.next_steps
    assert "run the same command again." in step and story.next_command
    assert ("but not those of groups that are blocked or left out" in step) is committed


def test_of_many_lines_of_what_was_left_out_a_hundred_are_shown():
    groups = [f"group-{number}" for number in range(150)]
    in_use = [f"{group}: left out, because it is in use at the source." for group in groups]
    kept = {"kept_groups": groups, "left_out": [f"{group} orders-0: kept" for group in groups]}
    story = told(BILLING_COMMITTED, results={"snapshot": {"skipped_groups": groups}, "commit": kept})
    assert story.left_out == (*in_use[:100], "... and 200 more lines")


@pytest.mark.parametrize(
    ("texts", "occasion", "said"),
    [
        (BILLING_COMMITTED, {}, "Committed: 2 of 2 group-partitions of 1 group, 0 blocked."),
        (COMMITTED, {}, "Committed: 3 of 5 group-partitions of 2 groups, 1 blocked, 1 uncommitted."),
        (
            PLANNED, {"phase": "plan"},
            "Planned: 3 of 5 group-partitions of 2 groups can be committed, 1 blocked, 1 uncommitted.",
        ),
        (texts_of(ENTRIES, skipped=1), {}, "The verification objects to 1 of 5"),
        (PLANNED, {"failure": "no broker answers"}, "The run failed. 0 of 5"),
        ({}, {}, "There is no plan yet."),
        (texts_of([], committed=True), {}, "0 of 0 group-partitions of 0 groups"),
    ],
)  # fmt: skip
def test_the_headline_says_how_the_run_ended(texts, occasion, said):
    story = told(texts, **occasion)
    assert said in story.headline
    assert story.headline in Reader(html_page(story)).text


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (None, "Not known: there is no plan."),
        (ENTRIES[:1], "None: nothing is blocked, and no consumed record comes again."),
        ([entry("billing", "orders", 0, Verdict.REQUESTED, detail="3 offsets are repeated")], "3 offsets are repeated"),
    ],
)
def test_without_exceptions_no_more_is_said_than_is_known(entries, said):
    made = told(texts_of(entries) if entries else {})
    assert said in html_page(made) and said in markdown(made)


def test_what_failed_verification_and_was_left_out_does_not_hide_what_is_committed():
    texts = texts_of([ENTRIES[0], entry("web", "orders", 1)], committed=True, skipped=3)
    written = receipt.from_json(texts["receipt.json"], "receipt.json")
    others = dataclasses.replace(written, entries=tuple(each for each in written.entries if each.group == "web"))
    story = told(texts | {"receipt.json": receipt.to_json(others)}, written=1)
    said = "Committed: 1 of 2 group-partitions of 2 groups, 0 blocked, 1 failed verification."
    assert (story.level, story.headline) == ("warning", said)
    assert story.no_exceptions.startswith("None in the plan") and story.problems
    # What is committed itself is no success.
    objected = told(texts, written=2, results={"commit": {"may_start": ["billing", "web"]}})
    assert objected.headline == "The verification objects to 1 of 2 group-partitions of 2 groups."
    assert objected.next_steps[0] == (
        "Do not start the consumers of billing: the verification objects to offsets that are committed."
    )


def test_a_failed_run_says_why_and_what_to_do():
    story = told(PLANNED, failure="no broker answers", written=0)
    assert story.headline.startswith("The run failed, and changed no committed offset. 0 of 5 group-partitions")
    assert story.next_steps == (
        (
            "Remove the cause of the failure, and run the same command again. Until it succeeds, do not start consumers at the "
            "destination."
        ),
    )
    assert "migrate_groups" in story.next_command
    assert "no broker answers" in Reader(html_page(story)).text and "no broker answers" in markdown(story)


STEPS = (
    Step("snapshot", 0.42),
    Step("plan", 8.0, counts={"compared": 400_000}),
    Step("verify <b>", 125.4, counts={"compared": 0}),
    Step("commit", 0.0, counts={"compared": 3}),
)


def test_the_report_says_how_long_each_step_took_and_how_fast_it_was():
    story = told(PLANNED, steps=STEPS)
    shown = [line for line in markdown(story).splitlines() if line.startswith(("| snapshot", "| plan", "| verify"))]
    assert shown == [
        "| snapshot | 0.4 s |  |  |",
        "| plan | 8.0 s | 400,000 | 50,000 |",
        "| verify &lt;b&gt; | 2 min 5 s | 0 |  |",  # so few say nothing of a speed
    ]
    page = html_page(story)
    widths = re.findall(r'class="taken" width="([0-9.]+)"', page)
    assert widths == ["0.31", "5.98", "93.71", "0.00"] and "Together: 2 min 14 s." in page
    assert "verify <b>" in Reader(page).text and "b" not in Reader(page).tags
    assert "Steps" not in html_page(told(PLANNED))  # where nobody has measured


def test_a_plan_that_a_commit_would_refuse_is_not_to_be_committed():
    why = "group billing, topic orders, partition 0: offset 46 is before 99. Set on_rewind."
    story = told(PLANNED, phase="plan", refusal=why)
    assert story.level == "bad" and story.headline == (
        "Planned: 3 of 5 group-partitions of 2 groups, 1 blocked, 1 uncommitted. A commit of this plan would be refused now."
    )
    assert why in html_page(story) and why in markdown(story)
    assert story.next_steps == ("Decide about what a commit would refuse, and run the same command again.",)
    assert '"group_migration_phase": "plan"' in story.next_command


def test_after_rounds_the_consumers_stay_at_the_source_until_the_cut_over():
    results = {"commit": {"may_start": ["billing"], "stands": 2}, "readiness": {"not_ready": ["billing"]}}
    story = told(BILLING_COMMITTED, phase="sync", results=results)
    assert story.next_steps == (
        (
            "Go on with rounds until each group is ready. Then stop the consumers at the source, and run the same command with "
            "-e group_migration_phase=cut_over."
        ),
    )
    assert '"group_migration_phase": "cut_over"' in story.next_command
    # Where the source is lost, nobody waits for it.
    for more in ({"source_lost": True}, {"phase": "cut_over"}):
        told_of = told(BILLING_COMMITTED, **({"phase": "sync", "results": results} | more))
        assert told_of.next_steps[0].startswith("Start the consumers at the destination.")


def test_the_way_back_is_a_command_with_the_same_selection():
    story = told(BILLING_COMMITTED)
    assert "streamshift.kafka.rollback" in story.way_back_command
    assert '"group_migration_groups": ["billing"]' in story.way_back_command
    assert not told(BILLING).way_back_command  # nothing is committed


def test_a_command_with_many_groups_can_be_run():
    """Linux takes no argument of 128 KiB."""
    groups = [f"team-{number}.service-consumer" for number in range(6_000)]
    story = told(BILLING_COMMITTED, selection={"groups": groups, "topics": ["orders"]})
    command = shlex.split(story.way_back_command)
    assert "@file-of-variables-of-that-run.yml" in command
    given = json.loads(command[-1])
    # The file may set another phase.
    assert given.pop("group_migration_phase") == "rollback"
    assert given.keys() == {"group_migration_source", "group_migration_destination", "group_migration_directory"}
    assert dict(story.facts)["Groups"].endswith("team-99.service-consumer and 5,900 more")


def test_a_quote_in_a_group_does_not_end_the_command():
    command = told(BILLING_COMMITTED, selection={"groups": ["it's; rm -rf"]}).way_back_command
    assert "it'\"'\"'s; rm -rf" in command


KEPT = "billing orders-0: kept at offset 99 instead of 46 (on_rewind: keep)"
SET = {"may_start": ["billing"], "receipt": "receipt.json", "stands": 2}
ALL_KEPT = {"may_start": [], "kept_groups": ["billing"], "left_out": [KEPT]}


def rolled_back(texts):
    """The receipt of these files, once billing is rolled back."""
    written = receipt.from_json(texts["receipt.json"], "receipt.json")
    undone = [each._replace(written=None, after=each.before) for each in written.entries if each.group == "billing"]
    return {"receipt.json": receipt.to_json(written.merged(undone))}


BACK, BACK_BESIDE_OTHERS = rolled_back(BILLING_COMMITTED), rolled_back(COMMITTED)


def test_after_a_rollback_the_rows_say_so():
    story = told(BILLING_COMMITTED | BACK)
    assert story.totals.states == {State.ROLLED_BACK: 2} and story.headline.startswith("Rolled back: 2")
    assert not story.way_back_command


def planned_as(**counts: int) -> dict[str, t.Any]:
    return {"plan": {"counts": counts, "digest": "4b82"}}


def test_a_plan_that_is_made_after_a_rollback_is_a_plan():
    planned = told(BILLING_COMMITTED | BACK, phase="plan", results=planned_as(exact=2))
    assert planned.headline == "Planned: 2 of 2 group-partitions of 1 group can be committed, 0 blocked."
    assert '"group_migration_phase": "apply"' in planned.next_command
    refused = told(BILLING_COMMITTED | BACK, phase="plan", refusal="offset 46 is before 99.")
    assert refused.level == "bad" and refused.headline.endswith("A commit of this plan would be refused now.")


@pytest.mark.parametrize(
    ("occasion", "said"),
    [
        (
            {"written": 0, "results": {"commit": {"may_start": [], "active_groups": ["billing"], "left_out": ["in use"]}}},
            "Planned: 2 of 2 group-partitions of 1 group can be committed, 0 blocked, 1 group left out because it is in use.",
        ),
        (
            {"written": 0, "results": {"commit": ALL_KEPT}},
            (
                "Nothing to change: 0 of 2 group-partitions of 1 group were committed before this run, 0 blocked, "
                "2 not committed, 1 group left alone: see the exceptions."
            ),
        ),
        (  # a report of rounds that is made afterwards
            {"phase": "sync", "left_out": {"left_alone": 1}},
            "Planned: 2 of 2 group-partitions of 1 group can be committed, 0 blocked, 1 group left out: see the exceptions.",
        ),
    ],
)  # fmt: skip
def test_a_run_after_a_rollback_that_leaves_out_its_groups_has_not_rolled_them_back(occasion, said):
    story = told(BILLING_COMMITTED | BACK, **occasion)
    assert story.headline == said
    if "written" in occasion:
        assert story.next_steps == ("Look at what is left out, and run the same command again.",)


ROLLBACK: dict[str, t.Any] = {"phase": "rollback", "files": ["receipt.json"]}
UNDONE = {"rollback": {"changed": True}}


def test_the_report_of_a_rollback_is_about_what_was_selected_in_the_receipt_whatever_plan_is_there():
    story = told(COMMITTED | BACK_BESIDE_OTHERS, **ROLLBACK, results=UNDONE)
    assert story.headline == "Rolled back: 2 of 2 group-partitions of 1 group; 1 other in the receipt left alone."
    assert story.notes == () and {row.group for row in story.rows} == {"billing"}
    assert story.next_steps == (
        (
            "See that the groups still have committed offsets on onprem (streamshift.kafka.list_groups), and start the "
            "consumers there, or run again the playbook that had moved them."
        ),
    )
    everything = told(BACK_BESIDE_OTHERS, **ROLLBACK, selection={})
    assert everything.headline == "Rolled back: 2 of 3 group-partitions of 2 groups."
    assert html_page(everything) and markdown(everything) and html_page(story) and markdown(story)


def test_a_rollback_shows_what_it_has_restored_and_no_verdicts():
    rows = [
        {"group": "billing", "topic": "orders", "partition": number, "before": before, "changed": True}
        for number, before in enumerate((7739, None))
    ]
    story = told(BACK_BESIDE_OTHERS, **ROLLBACK, selection={}, results={"rollback": {"changed": True, "entries": rows}})
    page, ticket = html_page(story), markdown(story)
    for name, *cells in (
        ("fraud orders-0", "-", "-", "committed"),
        ("billing orders-0", "7739", "12", "rolled back"),
        ("billing orders-1", "none", "12", "rolled back"),
    ):
        assert f"| `{name}` | {' | '.join(cells)} |" in ticket and name in Reader(page).text
    assert "exact" not in ticket and "unknown" not in ticket and "| Source | onprem |" in ticket.replace("`", "")
    assert not Reader(page).scripts and "Verdicts" not in page
    assert "| `billing orders-0` | - | 12 | rolled back |" in markdown(told(BACK_BESIDE_OTHERS, **ROLLBACK))


def test_a_rollback_tells_nobody_to_start_the_consumers_of_groups_that_it_has_left_alone():
    line = "fraud orders-0: kept at offset 99 instead of 12 (on_rewind: keep)"
    both = {"selection": {"groups": ["billing", "fraud"]}}
    fraud = {"changed": True, "kept_groups": ["fraud"], "left_out": [line]}
    story = told(BACK_BESIDE_OTHERS, **ROLLBACK, **both, results={"rollback": fraud})
    assert story.headline == "Rolled back: 2 of 3 group-partitions of 2 groups, 1 group left alone: see the exceptions."
    assert line in story.left_out and story.no_exceptions.startswith("Of the other groups, none: ")
    stays, goes = story.next_steps
    assert stays == "Not rolled back: fraud. Let their consumers go on at the destination."
    assert goes.startswith("For the other groups: see that the groups still have committed offsets on onprem")
    kept = {"kept_groups": ["billing"], "active_groups": ["fraud"], "left_out": [line]}
    nothing = told({"receipt.json": COMMITTED["receipt.json"]}, **ROLLBACK, **both, results={"rollback": kept})
    assert nothing.next_steps == (
        "Not rolled back: billing, fraud. Let their consumers go on at the destination.",
        "Nothing was rolled back.",
    )


def test_what_a_commit_has_left_alone_on_purpose_is_not_to_be_committed():
    kept = told(texts_of(ENTRIES[:1]), results={"commit": ALL_KEPT}, written=0)
    assert kept.headline == (
        "Nothing to change: 0 of 1 group-partition of 1 group were committed before this run, 0 blocked, 1 not committed, "
        "1 group left alone: see the exceptions."
    )
    assert kept.level == "warning" and kept.left_out == (KEPT,) and kept.totals.states == {State.LEFT_ALONE: 1}
    # A group that has consumed since its migration is as it should be.
    results = {"commit": {"may_start": ["billing"], "kept_groups": ["billing"]}}
    goes_on = told(texts_of(ENTRIES[:1]), results=results, written=0)
    assert goes_on.level == "good" and goes_on.next_steps[0].startswith("Start the consumers at the destination.")


def test_after_a_rollback_the_way_back_is_the_playbook_of_the_migration():
    story = told(BACK_BESIDE_OTHERS, **ROLLBACK)
    assert story.way_back == (
        "To commit offsets for these groups again, run again the playbook that had moved them, with all variables of that run:"
    )
    assert "streamshift.kafka.migrate_groups" in story.way_back_command and '["billing"]' in story.way_back_command
    # A file with the variables of that run may set the phase of the rollback.
    assert '"group_migration_phase": "migrate"' in story.way_back_command
    synced = told(BACK_BESIDE_OTHERS, **ROLLBACK, role="mirror_maker_group_sync")
    assert '"mirror_maker_group_sync_phase": "sync"' in synced.way_back_command
    # What the role needs besides is not known, or which groups these were.
    for other in ({"role": "group_clone", "source": "cloud"}, {"selection": {}}, {"role": ""}):
        story = told(BACK_BESIDE_OTHERS, **ROLLBACK, **other)
        assert story.way_back.endswith("with all variables of that run.") and not story.way_back_command


def test_a_return_and_its_rollback_call_the_clusters_by_their_names():
    """What was the source of the migration is the destination of the return, and nobody is to take one for the other."""
    back = {"returns": True, "source": "cloud", "destination": "onprem"}
    returned = told(BILLING_COMMITTED, **back, results={"commit": SET})
    undone = told(BACK, **ROLLBACK, **back, results=UNDONE)
    assert returned.next_steps[0].startswith("Start the consumers on onprem.")
    assert returned.way_back.startswith(
        "To roll back, stop the consumers on onprem, and run the playbook streamshift.kafka.rollback with "
        "-e group_migration_source=cloud -e group_migration_destination=onprem"
    )
    (step,) = undone.next_steps
    assert step.startswith("See that the groups still have committed offsets on cloud ")
    assert not undone.way_back_command, "a migration in the other direction is no return"
    for made in (returned, undone):
        assert not [
            text for text in (*made.next_steps, made.way_back) if "the source" in text or "the destination" in text
        ]


def test_a_rollback_that_failed_before_its_first_write_says_so():
    why = "group biling is not in the receipt"
    story = told(COMMITTED, **ROLLBACK, failure=why, written=0, selection={"groups": ["biling"]})
    assert story.headline == "The rollback failed, and changed nothing."
    assert story.way_back == "Nothing was rolled back."
    assert story.next_steps[0].startswith("Remove the cause of the failure") and story.failure == why
    assert "biling" not in story.next_command + story.way_back_command  # it would be refused again
    assert html_page(story) and markdown(story)


@pytest.mark.parametrize(("selection", "asked"), [({"groups": ["billing"]}, "groups"), ({}, 'rollback_all": true')])
def test_a_rollback_that_failed_for_another_reason_has_a_command(selection, asked):
    story = told(COMMITTED, **ROLLBACK, failure="no broker answers", selection=selection)
    assert story.headline == "The rollback failed, perhaps after it had restored some offsets."
    assert '"group_migration_phase": "rollback"' in story.next_command
    assert f'"group_migration_{asked}' in story.next_command


WITHIN_ONE_CLUSTER = {"source": "onprem", "destination": "onprem"}


@pytest.mark.parametrize(("role", "phase"), [("group_clone", "clone"), ("group_reset", "reset")])
def test_inside_one_cluster_there_is_no_destination(role, phase):
    texts = {name: BILLING_COMMITTED[name] for name in ("plan.json", "receipt.json")}
    settings = RoleSettings(renames=role == "group_clone")
    its = {"role": role, "phase": phase, "files": [*texts], "results": {"commit": SET}, "settings": settings}
    made = told(texts, **its, **WITHIN_ONE_CLUSTER)
    assert made.title == "Migration report: onprem" and ("Cluster", "onprem (cluster ID destination-id)") in made.facts
    assert made.notes == ()  # no file is missing that was not asked for
    assert made.next_steps == (f"Start the consumers{' with the new names' * settings.renames}.",)
    assert f'"{role}_cluster": "onprem"' in made.way_back_command
    assert "streamshift.kafka.rollback" in made.way_back_command
    for said in (made.headline, *made.next_steps, made.way_back, made.way_back_command):
        assert "destination" not in said


@pytest.mark.parametrize(
    ("role", "phase", "command"),
    [
        ("group_clone", "clone", ""),  # the new names are missing
        ("group_clone", "apply", ""),
        ("group_clone", "rollback", "clone_groups"),
        ("group_reset", "reset", ""),  # the offsets are missing
        ("group_reset", "apply", ""),  # perhaps the plan is not the one that was reviewed
        ("group_reset", "rollback", "reset_groups"),
    ],
)
def test_no_command_is_offered_that_the_role_would_refuse(role, phase, command):
    story = told(BILLING, role=role, phase=phase, failure="no broker answers", **WITHIN_ONE_CLUSTER)
    assert command in story.next_command and bool(story.next_command) == bool(command)


@pytest.mark.parametrize(
    ("occasion", "said"),
    [
        ({}, r'"group_migration_phase": "apply", .*"group_migration_plan_digest": "[0-9a-f]{64}"'),
        ({"role": "group_reset"}, r'"group_reset_plan_digest": "[0-9a-f]{64}"'),
        ({"role": "group_clone"}, ""),  # the new names are missing
    ],
)
def test_a_plan_is_committed_by_its_digest(occasion, said):
    results = {"plan": {"counts": {"exact": 2}, "digest": digest(BILLING["plan.json"])}}
    story = told(BILLING, phase="plan", results=results, **(occasion and WITHIN_ONE_CLUSTER | occasion))
    assert re.search(said, story.next_command) if said else not story.next_command
    if not said:
        assert re.search(r"-e group_clone_phase=apply -e group_clone_plan_digest=[0-9a-f]{64}\.", story.next_steps[0])


@pytest.mark.parametrize("name", ["snapshot.json", "plan.json", "report.json", "receipt.json"])
def test_a_missing_file_is_named_and_fails_nothing(name):
    story = told({other: text for other, text in COMMITTED.items() if other != name})
    assert [(note.kind, name in note.text) for note in story.notes][:1] == [(NoteKind.FILE_MISSING, True)]
    assert html_page(story) and markdown(story)


@pytest.mark.parametrize(
    ("changed", "was", "becomes", "file", "said"),
    [
        ("snapshot.json", None, None, "plan.json", "another snapshot"),
        ("report.json", None, None, "report.json", "another plan"),
        ("receipt.json", "destination-id", "another-id", "receipt.json", "another-id"),
        ("snapshot.json", "source-id", "another-id", "plan.json", "another-id"),
        ("receipt.json", '"version": 1', '"version": 2', "receipt.json", "version 2"),
    ],
)
def test_files_that_do_not_belong_together_are_refused_or_left_out(changed, was, becomes, file, said):
    texts = COMMITTED | {changed: COMMITTED[changed].replace(was, becomes) if was else texts_of(ENTRIES[:1])[changed]}
    with pytest.raises((InvalidFile, Refused), match=said) as refused:
        read_files(texts, "folder", OnMismatch.FAIL)
    assert file in str(refused.value)
    files = read_files(texts, "folder", OnMismatch.LEAVE_OUT)
    assert file not in files.digests and any(file in why and said in why for why in files.left_out)


def test_a_verification_of_no_plan_is_none_of_this_plan():
    of_none = dataclasses.replace(report.from_json(PLANNED["report.json"], "report.json"), plan=None)
    files = read_files(PLANNED | {"report.json": report.to_json(of_none)}, "folder", OnMismatch.LEAVE_OUT)
    assert files.report is None and "it is about no plan" in files.left_out[0]


def test_notes_of_the_verification_keep_their_kinds_and_ten_are_shown():
    notes = tuple(Note(NoteKind.TO_COME, f"{number} records to come") for number in range(12))
    story = told(verified(PLANNED, notes=notes), files=["report.json"])
    assert [note.kind for note in story.notes] == [NoteKind.TO_COME] * 10 + [NoteKind.MORE_NOTES]
    assert story.notes[0].text == "billing orders-0: 0 records to come" and "2 more notes" in story.notes[-1].text


def test_what_other_runs_committed_is_counted_and_left_alone():
    story = told(BILLING | {"receipt.json": COMMITTED["receipt.json"]})
    assert story.totals.elsewhere == 1
    assert [note.kind for note in story.notes if "other runs" in note.text] == [NoteKind.OTHER_RUNS]


@pytest.mark.parametrize(("count", "shown", "more"), [(1, 1, ""), (4, 4, ""), (12, 10, " and 2 more")])
def test_an_exception_shows_where_all_of_it_comes_from(count, shown, more):
    source = tuple(
        SourcePosition("mailing", TopicPartition("events", number), 2305 + number) for number in range(count)
    )
    safe = entry("mailing", "events", 0, Verdict.SAFE, reason=Reason.REPARTITIONED, source=source)
    names = [f"mailing events-{number}" for number in range(shown)]
    offsets = f"{', '.join(str(2305 + number) for number in range(shown))}{more}"
    story = told({"plan.json": texts_of([safe])["plan.json"]})
    origin = f" from {', '.join(f'`{name}`' for name in names)}{more}" if count > 1 else ""
    assert f"| `mailing events-0`{origin} | {offsets} | 46 |" in markdown(story)
    page = html_page(story)
    assert f'<td class="number">{offsets}</td>' in page
    spans = [f"from <bdi>{name}</bdi>" for name in names if count > 1] + ([more.strip()] if more else [])
    assert re.findall('<span class="from">(.*?)</span>', page) == spans


def verified(texts, method="records", **of_the_first):
    """The same files, with a finding of the first entry that says otherwise. The first two entries are compared to the end."""
    found = report.from_json(texts["report.json"], "report.json")
    rows = [dataclasses.replace(each, complete=number < 2) for number, each in enumerate(found.findings)]
    rows[0] = dataclasses.replace(rows[0], **of_the_first)
    return texts | {"report.json": report.to_json(dataclasses.replace(found, findings=tuple(rows), method=method))}


def test_what_was_verified_within_the_limit_only_is_counted():
    story = told(verified(PLANNED))
    assert (story.totals.verified, story.totals.within_limit) == (3, 1)
    assert story.no_problems == "No problem: 3 group-partitions verified (1 within the limit only)."
    assert "| verified (1 within the limit only) | 3 |" in markdown(story)
    # A copy that differs is no finding about an offset.
    failed = told(verified(PLANNED), failure="copy_differs", steps=[Step("verify", 1.0, failed=True)])
    assert failed.no_problems == "The verification has failed: see the message above."
    assert "verified (1 within the limit only)" in html_page(story)
    # Anchors are two records whatever the limit.
    assert "within" not in markdown(told(verified(PLANNED, method="anchors")))


@pytest.mark.parametrize(("complete", "count"), [(False, 2), (True, 3)])
def test_offsets_without_a_record_to_compare_are_verified_only_if_the_logs_were_read_to_their_ends(complete, count):
    story = told(verified(PLANNED, compared=0, complete=complete))
    assert (story.totals.verified, story.totals.objected) == (count, 0)


@pytest.mark.parametrize(
    ("lost", "text"), [((1500, 0), "1,500"), ((20, None), "20, not counted in 1"), ((0, None), "not counted")]
)
def test_records_that_are_lost_are_in_the_totals(lost, text):
    pairs = zip(ENTRIES[:2], lost, strict=True)
    story = told(texts_of([dataclasses.replace(entry, lost=its) for entry, its in pairs]))
    assert f"| unconsumed records lost before this run | {text} |" in markdown(story)
    assert f"<strong>{text}</strong> <span>unconsumed records lost before this run</span>" in html_page(story)
    assert "lost before" not in markdown(told(BILLING))


def test_records_that_may_be_absent_are_in_the_totals():
    note = Note(NoteKind.ABSENT, "1760 unconsumed records are not at the destination")
    story = told(verified(BILLING, absent=1760, notes=(note,)))
    assert story.no_problems == (
        "No problem: 2 group-partitions verified. 1,760 unconsumed records are not at the destination: "
        "see the notes and details."
    )
    assert "| records absent at the destination | 1,760 |" in markdown(story)
    assert "<strong>1,760</strong> <span>records absent at the destination</span>" in html_page(story)
    assert "absent" not in markdown(told(BILLING))
    # What only the records beside the offsets tell is not all.
    story = told(verified(BILLING, method="anchors", complete=False, absent=3))
    assert "| records absent at the destination | at least 3 |" in markdown(story)


MAILING = tuple(entry("mailing", "events", number) for number in range(6))
OF_MAILING: dict[str, t.Any] = {"selection": {"groups": ["mailing"]}}


def planned_again(**entries):
    """Files of a run that plans four of the six partitions of mailing again, which an earlier run has committed."""
    again = [entry("mailing", "events", number, **entries) for number in range(4)]
    others = entry("billing", "orders", 0)
    return texts_of(again) | {"receipt.json": texts_of([*MAILING, others], committed=True)["receipt.json"]}


def test_a_failed_run_says_what_earlier_runs_have_committed_of_its_groups():
    texts = planned_again(verdict=Verdict.BLOCKED, reason=Reason.OTHER_PARTITIONS, detail="6 partitions, not 4")
    story = told(texts, **OF_MAILING, failure="4 entries are blocked")
    assert story.headline == (
        "The run failed. 0 of 4 group-partitions of 1 group committed at the destination as planned, and 6 by earlier runs."
    )
    assert {row.state for row in story.rows} == {State.EARLIER} and {row.after for row in story.rows} == {46}
    assert story.way_back.startswith(
        "To roll back, stop the consumers at the destination, and run the same command with"
    )
    assert "If they have consumed at the destination since, add -e group_migration_on_rewind=rewind" in story.way_back
    assert "streamshift.kafka.rollback" in story.way_back_command and '["mailing"]' in story.way_back_command
    assert [note.text[:38] for note in story.notes] == ["The receipt also holds 1 group-partiti"]  # billing stays
    assert "| committed by earlier runs | 6 |" in markdown(story) and "committed by earlier runs" in html_page(story)


def test_offsets_of_earlier_runs_are_counted_where_the_plan_has_others():
    texts = planned_again(offset=40)
    story = told(texts, **OF_MAILING, phase="plan")
    assert story.totals.states == {State.NOT_COMMITTED: 4} and story.totals.earlier == 6
    assert "rolled_back and receipt.json" in told(texts, role="").way_back
    # A name that the receipt does not have selects nothing: then the groups of the plan count.
    assert told(texts, selection={"groups": ["mailing", "mailnig"]}).totals.earlier == 6


@pytest.mark.parametrize(("topics", "counts"), [(["orders"], (0, 1)), (["orders", "clicks"], (1, 0))])
def test_what_a_rollback_of_this_run_would_leave_alone_is_not_counted_as_its_own(topics, counts):
    written = texts_of([ENTRIES[0], entry("billing", "clicks", 0)], committed=True)["receipt.json"]
    texts = texts_of(ENTRIES[:1]) | {"receipt.json": written}
    total = told(texts, selection={"groups": ["billing"], "topics": topics}).totals
    assert (total.earlier, total.elsewhere) == counts


def test_a_run_that_has_nothing_to_change_says_who_committed_and_that_it_verified_nothing():
    steps = [Step("plan", 0.4), Step("preview", 0.1)]
    story = told(BILLING_COMMITTED, written=0, steps=steps)
    assert story.headline == (
        "Nothing to change: 2 of 2 group-partitions of 1 group were committed before this run, 0 blocked."
    )
    said = "This run wrote nothing, and so it verified nothing. Earlier runs have committed these offsets: see receipt.json."
    found = "No problem: 2 group-partitions verified (1 within the limit only)"
    assert story.no_problems == f"{said} {found} by an earlier run."
    # A cut-over verifies whatever there is to write.
    assert told(BILLING_COMMITTED, written=0, steps=[Step("verify", 1.0)]).no_problems == f"{found}."
    # The report was of another plan, and so it was removed.
    texts = {name: text for name, text in BILLING_COMMITTED.items() if name != "report.json"}
    story = told(texts, written=0, steps=steps)
    assert story.no_problems == said and story.notes == ()
    assert said in html_page(story) and said in markdown(story)
    read = Step("read back", 0.2, counts={"verified": 1, "requested": 1, "compared": 3})
    story = told(texts, written=0, steps=[*steps, read])
    assert story.notes == () and story.no_problems == said.replace(
        "verified nothing", "only read 2 committed offsets back"
    )


def test_offsets_that_the_destination_had_already_are_not_said_to_be_in_a_receipt():
    story = told(texts_of([entry("billing", "orders", 0, expected=CommittedOffset(46))]), written=0)
    assert "The groups had these offsets already at the destination." in story.no_problems
    assert "receipt" not in story.no_problems
    assert (
        story.way_back == "1 offset was there already, and this directory has not written it: it cannot roll it back."
    )


@pytest.mark.parametrize(
    ("entries", "more"),
    [
        (ENTRIES[:1], {"results": {"commit": ALL_KEPT}}),
        (ENTRIES[:1], {"results": {"commit": {"active_groups": ["billing"]}}}),
        (ENTRIES[2:3], {}),  # blocked, and left out
    ],
)
def test_a_run_that_leaves_out_all_does_not_say_that_the_destination_had_these_offsets(entries, more):
    story = told(texts_of(entries), written=0, **more)
    assert story.no_problems.startswith("This run wrote nothing, and so it verified nothing.")
    assert "already" not in story.no_problems


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_acts_as_code_in_the_page(name):
    def page(its, **occasion):
        blocked = entry(its, "orders", 0, Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=its)
        return Reader(html_page(told(texts_of([blocked]), ran_by=its, **occasion)))

    plain, hostile = page("billing"), page(name, selection={"groups": [name]}, source=name)
    assert hostile.tags == plain.tags and hostile.attributes == plain.attributes
    assert visible(name) in hostile.text and visible(name) in hostile.data["texts"]
    failed = page(name, failure=name)
    assert failed.tags.count("script") == 2 and "img" not in failed.tags


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("set group_migration_on_blocked (or on_absent) to skip_group!", None),
        ("3 (of 4) events-0, no. #orders: a_b_c", None),
        ("_private_ names_, __init__, a__b", r"\_private\_ names\_, \_\_init\_\_, a\_\_b"),
        ("*bold* [a](b) ![c](d) `e` ~f~ $g$ h|i", r"\*bold\* \[a\](b) !\[c\](d) \`e\` \~f\~ \$g\$ h\|i"),
        ("see #12, org/shop#7", r"see \#12, org/shop\#7"),
        ("# heading", r"\# heading"),
        (" ## heading", r" \#\# heading"),
        ("1) one", r"1\) one"),
        ("- item", r"\- item"),
        ("http://x.invalid www.x.invalid", r"http\://x.invalid www\.x.invalid"),
    ],
)
def test_markdown_escapes_what_would_be_markup_and_nothing_else(text, escaped):
    assert as_markdown(text) == (text if escaped is None else escaped)


@pytest.mark.parametrize("message", ["`x`: __set__ on_blocked\n# heading", "```\n<b>@mia</b>\n```"])
def test_the_message_of_a_failed_run_can_be_copied_as_it_is(message):
    lines = markdown(told(PLANNED, failure=message)).split("\n")
    fence = next(line for line in lines if line.startswith("```"))
    begin = lines.index(fence)
    shown = lines[begin + 1 : lines.index(fence, begin + 1)]
    assert shown == [message.replace("\n", " ")] and fence not in message.split("\n")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_ends_a_cell_of_the_markdown(name):
    blocked = entry(name, "orders", 0, Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=name)
    lines = markdown(told(texts_of([blocked]))).splitlines()
    (row,) = [line for line in lines if "orders-0" in line and line.startswith("|")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 6
    assert "<" not in re.sub(r"(`+).*?\1", "", row)


def test_the_page_loads_nothing_and_runs_its_own_script_alone():
    page = html_page(told(PLANNED))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"(src|href)=|url\(|@import|fetch\(|XMLHttpRequest|innerHTML|\bstyle=", page)


def test_100_000_group_partitions_are_at_most_20_megabytes():
    kinds = (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED)
    detail = (
        "the last consumed record, source offset {}, is not at the destination, and none after it; wait for the tool"
    )
    one = told(texts_of([entry("g", "t", 0, kind, reason=Reason.RECOPIED) for kind in kinds[1:2]])).rows[0]
    rows = tuple(
        one._replace(
            group=f"a-group-with-a-long-name-{number // 50}",
            partition=one.partition._replace(topic=f"shop.orders.{number // 200}", partition=number % 200),
            verdict=kinds[number % 3],
            detail="" if number % 3 == 0 else detail.format(number + 10**12),
            offset=number + 10**12,
            before=number + 10**12,
            source=(one.source[0]._replace(partition=TopicPartition("t", number), offset=number + 10**12),),
        )
        for number in range(100_000)
    )
    ranges = [(10**12 - 10**9, 2 * number + 10**12 + 10**6) for number in range(100_000)]
    logs = KnownLogs(
        {row.source[0].partition: its for row, its in zip(rows, ranges, strict=True)},
        {row.partition: its for row, its in zip(rows, ranges, strict=True)},
    )
    story = dataclasses.replace(told(PLANNED), rows=rows, logs=logs)
    assert len(html_page(story).encode()) < 20_000_000


def test_the_lag_is_counted_to_the_end_of_the_source_log_and_each_source_position_once():
    story = told(PLANNED, logs=logs_of(ENTRIES))
    billing, fraud = page_data(story.rows, story.logs)["groups"]
    assert (billing[-1], fraud[-1], story.totals.lag) == (3 * 79, 79, 4 * 79)  # the uncommitted partition has none
    lines = markdown(story).splitlines()
    assert "| `fraud` | 2 | 0 | 1 | 0 | 66 | 0 | 79 |" in lines and "| lag at the source | 316 |" in lines
    merged = [entry("new", "orders", number, source=ENTRIES[0].source + ENTRIES[1].source) for number in (0, 1)]
    story = told({"plan.json": texts_of(merged)["plan.json"]}, logs=logs_of(merged))
    assert story.totals.lag == 2 * 79  # both rows come from the same two positions
    assert [row[20:] for row in page_data(story.rows, story.logs)["rows"]] == [[158, None, 40, 80]] * 2


def test_rows_from_several_source_positions_show_what_they_have_together_and_the_page_says_so():
    both = ENTRIES[0].source + ENTRIES[1].source
    merged = [entry("new", "orders", number, source=both) for number in (0, 1)]
    texts = texts_of(merged)
    found = report.from_json(texts["report.json"], "report.json")
    one, other = found.findings
    together = dataclasses.replace(one, destination=one.destination + other.destination, compared=2360)
    texts = {
        "plan.json": texts["plan.json"],
        "report.json": report.to_json(dataclasses.replace(found, findings=(together,))),
    }
    story = told(texts, logs=logs_of(merged))
    assert [row.unconsumed for row in story.rows] == [2360, 2360]
    said = "all these source partitions together"
    assert said in html_page(story) and said not in html_page(told(PLANNED, logs=logs_of(ENTRIES)))


def test_a_lag_that_is_not_known_is_not_made_up():
    note = Note(NoteKind.LOG_ENDS_MISSING, "The log ends of the source cluster are missing: no broker answers.")
    logs = logs_of([each for each in ENTRIES if each.partition.topic != "clicks"], notes=(note,))
    story = told(PLANNED, logs=logs)
    assert [each[-1] for each in page_data(story.rows, story.logs)["groups"]] == [None, 79]
    page = Reader(html_page(story)).text
    assert story.totals.lag is None and "lag at the source" not in page and "no broker answers" in page
    assert "| `billing` | 3 | 2 | 0 | 1 | 0 | 0 | - |" in markdown(story)


@pytest.mark.parametrize(
    ("first", "lag"), [((25, 120), 79), ((60, 120), 60)], ids=["at 41 of its log", "at 41, before its log"]
)
def test_what_has_expired_at_the_source_is_no_lag(first, lag):
    source = {ENTRIES[0].partition: first, ENTRIES[1].partition: (200, 200)}
    assert told(BILLING, logs=KnownLogs(source, {})).totals.lag == lag


def test_a_group_after_the_end_of_its_log_has_no_lag():
    source = {ENTRIES[0].partition: (0, 30), ENTRIES[1].partition: (50, 60)}
    texts = texts_of([entry("billing", "orders", 0, offset=130), entry("billing", "orders", 1)])
    story = told(texts, logs=KnownLogs(source, {ENTRIES[0].partition: (6, 126)}))
    rows = page_data(story.rows, story.logs)["rows"]
    # The lag is negative where the page has to draw the offset after the log; it adds nothing to the group's.
    assert [row[20:] for row in rows] == [[-11, 41, 124, -4], [19, -9, None, None]] and story.totals.lag == 10


def test_without_clusters_rows_have_no_lag():
    story = told(PLANNED)
    data = page_data(story.rows, story.logs)
    assert {len(row) for row in data["rows"]} == {20} and not data["lags"]
    assert "lag at the source" not in markdown(story)


def test_every_reason_and_problem_has_a_remedy():
    assert set(advice.REASONS) == set(Reason) and set(advice.PROBLEMS) == set(ProblemKind)
