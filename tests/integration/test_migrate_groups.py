"""The role and its playbooks, played as users play them."""

import hashlib
import json
import re
import subprocess

import pytest

from testbed.clients import Message, commit, committed, consume, create_topic, list_groups, produce
from tests.support.consumers import member, unconsumed
from tests.support.modules import Migration
from tests.support.playbooks import Controller, done, failed
from tests.support.replication_tool import copied_topic, copy

FILES = ["plan.json", "snapshot.json"]
DRY_RUN = "Dry run: nothing of this has been written."
STEPS = ("snapshot", "plan", "preview", "verify", "commit", "read back")
RUN = "look at the offsets, and run the same command without --check."
GO_ON = (
    "see that the groups still have committed offsets on onprem (streamshift.kafka.list_groups), and start the consumers "
    "there, or run again the playbook that had moved them."
)
LINES = 60  # of a run of a few groups, with blank ones, where display_skipped_hosts is false as in the example configuration
START = (
    "start the consumers at the destination. To roll back, stop them, and run the same command with "
    "-e group_migration_phase=rollback."
)
IDLE = START.replace(
    ". To", ", because nothing is left to write. If the last run was stopped before its end, run it again first. To"
)


def ended(played, what_next, *steps):
    """A playbook that must have succeeded, and whose totals end with the seconds of these steps and with what to do next."""
    times = ", ".join(rf"{step} [0-9]+[.][0-9] s" for step in steps)
    assert re.search(rf'"It took: {times}[.]",\s+"Next: {re.escape(what_next)}"', played.output), played.output
    return done(played)


@pytest.fixture
def orders(source, destination, topic):
    """A topic with two partitions of 20 records, copied; a group of its name stands at 5 and 20."""
    return prepare(source, destination, topic)


def prepare(source, destination, topic, to=None):
    return copied_topic(source, destination, topic, 20, (5, "kept"), 20, to=to, junk=2)


@pytest.fixture
def controller(source, destination, tmp_path):
    """An inventory with two clusters, and a third that is not there and nobody asks for."""
    return Controller(
        tmp_path / "infrastructure", onprem=source, cloud=destination, gone={"bootstrap_servers": ["127.0.0.1:1"]}
    )


@pytest.fixture
def home(controller):
    """The directory of the migration's files, as the role names it."""
    folder = controller.directory / "kafka-migrations/onprem-to-cloud"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def by_modules(source, destination, home):
    """The same migration in the same directory, by the modules that the role calls: a tenth of a playbook's time."""
    return Migration(home, source, destination)


def lines(output):
    """All but those that only tell how far a task is, and are more on a busy machine."""
    return [line for line in output.splitlines() if not line.startswith("[cloud]")]


def test_by_default_a_migration_of_one_group_is_short_and_ends_with_its_report_and_what_is_next(controller, orders):
    its = {"groups": [orders], "verify": "records", "write_report": True}
    migrated = ended(controller.migrate_groups(**its), START, *STEPS)
    assert migrated.ran <= 11 and "[WARNING]" not in migrated.output, migrated.output
    assert len(lines(migrated.output)) <= LINES, migrated.output
    report = controller.directory / "kafka-migrations/onprem-to-cloud/report.html"
    assert report.is_file() and migrated.output.count(f"Report: {report}") == 1
    # Beside it, and in the history, the run is told in numbers alone.
    run = json.loads((report.parent / "run.json").read_text())
    assert [step["step"] for step in run["entries"]] == list(STEPS) and run["failure"] is None
    assert (run["role"], run["phase"], run["written"]) == ("group_migration", "migrate", 2)
    assert run["plan"] == hashlib.sha256((report.parent / "plan.json").read_bytes()).hexdigest()
    assert run["versions"].keys() > {"streamshift.kafka", "brokers of the source cluster"}
    (kept,) = controller.history()
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=kept, check=True)
    assert (kept / "run.json").read_text() == (report.parent / "run.json").read_text() and orders not in str(run)
    # A dry run that finds nothing to do asks for no other run.
    ended(controller.migrate_groups("--check", **its), IDLE, *STEPS[:3], "commit")


def test_the_main_job(source, destination, orders, controller):
    selection = {"groups": [orders]}
    # A dry run shows every offset, and changes nothing at all.
    dry = ended(controller.migrate_groups("--check", "--diff", **selection), RUN, *STEPS[:-1])
    assert f"+{orders} {orders}-0: 7 'kept'" in dry.output
    assert f"+{orders} {orders}-0: 5 -> 7, exact" in dry.output
    assert dry.changed > 0
    assert DRY_RUN in dry.output
    assert "2 verified, 0 without records" in dry.output
    assert controller.files() == {}
    assert orders not in list_groups(destination)

    real = ended(controller.migrate_groups("--diff", verify="records", **selection), START, *STEPS)
    assert f"+{orders} {orders}-0: 7 'kept'" in real.output and DRY_RUN not in real.output
    assert dry.changed == real.changed, dry.output  # with the directory that there was not yet
    assert committed(destination, orders) == {(orders, 0): (7, "kept"), (orders, 1): (22, "")}
    assert unconsumed(destination, orders, orders) == unconsumed(source, orders, orders)
    home = controller.directory / "kafka-migrations/onprem-to-cloud"
    written = sorted([*FILES, "receipt.json", "report.json"])
    assert sorted(file.name for file in home.iterdir() if file.is_file()) == written
    assert "2 verified, 0 without records, 15 records compared." in real.output
    assert "2 committed offsets read back, 3 records beside them compared." in real.output
    assert {file.stat().st_mode & 0o777 for file in home.iterdir() if file.is_file()} == {0o600}
    (kept,) = controller.history()
    assert kept.parent.parent == home and kept.stat().st_mode & 0o777 == 0o700
    of_the_run = {"run.json", "SHA256SUMS"}
    assert {file.name: file.read_bytes() for file in kept.iterdir() if file.name not in of_the_run} == {
        name: (home / name).read_bytes() for name in written
    }

    files = controller.files()
    again = done(controller.migrate_groups(verify="records", **selection))
    assert again.changed == 0
    assert "records compared" in real.output and " verified, " not in again.output  # nothing was to be written
    assert "2 committed offsets read back" in again.output
    # The application goes on at the destination: that is no conflict.
    assert consume(destination, orders, [orders], 5) == 5
    moved = committed(destination, orders)
    again = done(controller.migrate_groups(**selection))
    assert again.changed == 0
    assert "migrated earlier, has consumed since" in again.output
    assert (controller.files(), committed(destination, orders)) == (files, moved)
    assert controller.history() == [kept]  # nothing was written since, and no dry run keeps anything

    # The application was not stopped at the source, and has consumed more there than here.
    commit(source, orders, {(orders, 0): 15, (orders, 1): 20})
    files = controller.files()
    assert done(controller.migrate_groups("--check", "--diff", **selection)).changed > 0
    assert (controller.files(), committed(destination, orders)) == (files, moved)
    assert done(controller.migrate_groups(**selection)).changed > 0
    assert committed(destination, orders)[orders, 0] == (17, "")
    assert unconsumed(destination, orders, orders) == unconsumed(source, orders, orders)

    files, moved = controller.files(), committed(destination, orders)
    dry = done(controller.rollback("--check", "--diff", **selection))
    assert f"-{orders} {orders}-0: 17" in dry.output and DRY_RUN in dry.output and dry.changed > 0
    assert (controller.files(), committed(destination, orders)) == (files, moved)
    assert ended(controller.rollback(**selection), GO_ON, "rollback").changed > 0
    assert committed(destination, orders) == {}
    assert controller.phases() == ["migrate", "migrate", "rollback"]


def test_the_plan_and_the_totals_are_shown_where_ansible_hides_what_has_not_changed(orders, controller, monkeypatch):
    monkeypatch.setenv("ANSIBLE_DISPLAY_OK_HOSTS", "false")
    for partitions, words in ((2, ["--check"]), (2, []), (0, [])):
        output = done(controller.migrate_groups(*words, groups=[orders])).output
        assert "TASK [streamshift.kafka.common : Say what was done]" not in output
        plan, commit = re.findall(r"\[cloud\] (Total: .*)", output)  # what only looks ahead says nothing
        assert "1 group, 2 group-partitions: 2 exact, 0 safe, 0 blocked" in plan
        assert f"1 group, 2 group-partitions: {partitions} changed, 0 left out." in commit
    assert "[cloud] 2 verified, 0 without records" in output


def test_a_rollback_sends_no_consumers_back_of_groups_that_it_keeps(
    source, destination, orders, controller, home, by_modules
):
    stopped, went_on = f"{orders}-stopped", f"{orders}-went-on"
    for group in (stopped, went_on):
        commit(source, group, {(orders, 0): 5, (orders, 1): 20})
        by_modules.plan(group)
        by_modules.commit()
    assert consume(destination, went_on, [orders], 5) == 5
    options = {"groups": [stopped, went_on], "on_rewind": "keep", "directory": str(home)}
    for others in (True, False):
        said = " ".join(done(controller.rollback(**options)).output.split())
        assert f"{went_on}: left alone" in said and "Let their consumers go on at the destination" in said
        assert "set group_migration_on_rewind to rewind" in said and f"Next: {GO_ON}" not in said
        assert (f"Next, for the other groups: {GO_ON}" in said) is others
        assert ("Nothing was rolled back." in said) is not others and "If other files" not in said
    assert committed(destination, went_on) and committed(destination, stopped) == {}


def test_of_two_waves_the_second_is_rolled_back_while_the_first_goes_on(
    source, destination, orders, controller, home, by_modules
):
    first, second = f"{orders}-first", f"{orders}-second"
    new_name = [{"name": second, "to": f"new-{second}"}]
    for group in (first, second):
        commit(source, group, {(orders, 0): 5, (orders, 1): 20})
        by_modules.plan(group, group_map=new_name)
        by_modules.commit()
    with member(destination, first, [orders]):
        moved = committed(destination, first)
        wanted = {"groups": [second], "group_map": new_name}
        played = done(controller.rollback(source="gone", directory=str(home), **wanted))  # the source may be lost
        assert "Rollback of 1 of 2 groups in the receipt" in played.output and "does not use" not in played.output
        assert [name for name in list_groups(destination) if orders in name and committed(destination, name)] == [first]
        assert committed(destination, first) == moved
    unused = {"on_blocked": "skip_group", "plan_digest": "0" * 64}  # of the command of the migration
    played = done(controller.rollback(rollback_all=True, on_rewind="rewind", write_report=True, **unused))
    said = "A rollback does not use group_migration_on_blocked, group_migration_plan_digest."
    assert said in " ".join(played.output.split())
    assert committed(destination, first) == {}
    # The plan that is there is the second wave's.
    ticket = (home / "report.md").read_text()
    assert "Rolled back: 2 of 4 group-partitions of 2 groups." in ticket and "lag at the source" not in ticket


def test_the_status_tells_what_a_wave_has_left_out_after_the_plan_of_another(source, orders, controller):
    mixed, whole, other = (f"{orders}-{name}" for name in ("mixed", "whole", "other"))
    commit(source, mixed, {(orders, 0): 99, (orders, 1): 20})
    commit(source, whole, {(orders, 0): 99, (orders, 1): 20})
    commit(source, other, {(orders, 1): 20})
    done(controller.migrate_groups(groups=[mixed], on_blocked="skip_partition"))
    done(controller.migrate_groups(groups=[whole, orders], on_blocked="skip_group"))
    done(controller.migrate_groups(groups=[other], phase="plan"))
    told = " ".join(done(controller.migration_status()).output.split())
    kept_in = r"plan\.json and report\.json in \S+/history/\S+-migrate say why\. Remove the cause"
    assert re.search(rf"{mixed}: 1 of 2 partitions left out: {kept_in}", told), told
    assert re.search(rf"{whole}: nothing is written; 1 of 2 partitions blocked: {kept_in}", told), told
    assert f"1 not_started ({mixed}): do not start the consumers at the destination, because partitions are" in told
    assert f"1 not_started ({orders}): start the consumers at the destination" in told
    assert f"1 planned ({whole}): remove what blocks partitions" in told and f"1 planned ({other}): look at" in told


@pytest.fixture
def mia(monkeypatch, tmp_path_factory):
    """She runs what the test runs."""
    monkeypatch.setenv("USER", "mia")
    monkeypatch.setenv("ANSIBLE_REMOTE_TMP", str(tmp_path_factory.mktemp("mia")))  # she has no home


def test_a_reviewed_plan_is_applied_whole_and_only_while_the_source_stands(
    source, destination, orders, controller, mia
):
    its = {"phase": "apply", "groups": [orders]}
    output = done(controller.migrate_groups(phase="plan", groups=[orders], write_report=True)).output
    page = controller.directory / "kafka-migrations/onprem-to-cloud/report.html"
    assert f"Report: {page}" in output
    assert "Planned: 2 of 2 group-partitions of 1 group can be committed, 0 blocked." in page.read_text()
    ticket = page.with_suffix(".md").read_text()
    assert "| lag at the source | 15 |" in ticket and "| Run by | `mia` |" in ticket and "log ends" not in ticket
    planned = controller.files()
    assert [name.rpartition("/")[2] for name in planned if name.endswith("json")] == [
        FILES[0],
        "report.json",
        "run.json",
        FILES[1],
    ]
    assert orders not in list_groups(destination)
    file = controller.directory / "kafka-migrations/onprem-to-cloud/plan.json"
    reviewed = file.read_bytes()
    digest = hashlib.sha256(reviewed).hexdigest()
    assert f"The digest of plan.json is {digest}." in output
    changes = f"-e group_migration_phase=apply -e group_migration_plan_digest={digest}"
    assert f"Next: look at the plan. To commit exactly this one, run the same command with {changes}." in output

    commit(source, orders, {(orders, 0): 6, (orders, 1): 20})
    output = failed(controller.migrate_groups(**its))
    assert "the source's groups have moved since the plan was made" in output
    assert f"group {orders}: {orders}-0 from 5 to 6" in output
    assert controller.files() == planned
    commit(source, orders, {(orders, 0): (5, "kept"), (orders, 1): 20})

    # Somebody takes an entry out of it.
    plan = json.loads(reviewed)
    del plan["entries"][1]
    file.write_text(json.dumps(plan))
    output = failed(controller.migrate_groups("--check", plan_digest=digest, **its))
    assert f"plan file {file} is not the one that was reviewed" in output and ".kafka-migration/" not in output
    output = failed(controller.migrate_groups(**its, write_report=True))
    assert "The run failed, and changed no committed offset. 0 of 1 group-partition" in page.read_text()
    assert "no entry for 1 commit of the snapshot that it was made from" in page.read_text()
    assert f"no entry for 1 commit of the snapshot that it was made from: {orders} {orders}-1" in output
    assert orders not in list_groups(destination)
    options = {"plan_digest": hashlib.sha256(file.read_bytes()).hexdigest(), "on_missing_entry": "skip"}
    output = done(controller.migrate_groups(**its, **options)).output
    assert f"{orders} {orders}-1: no entry in the plan: left out (group_migration_on_missing_entry: skip)" in output
    assert committed(destination, orders) == {(orders, 0): (7, "kept")}

    file.write_bytes(reviewed)
    before = controller.files()
    dry = done(controller.migrate_groups("--check", "--diff", plan_digest=digest, **its))
    assert f"+{orders} {orders}-1: 22" in dry.output
    assert controller.files() == before
    assert done(controller.migrate_groups(**its)).changed > 0
    assert committed(destination, orders) == {(orders, 0): (7, "kept"), (orders, 1): (22, "")}
    assert file.read_bytes() == reviewed  # the plan file itself was applied
    assert done(controller.migrate_groups(**its, write_report=True)).changed == 0
    assert "Nothing to change: 2 of 2 group-partitions of 1 group were committed before this run" in page.read_text()
    assert "This run wrote nothing, and so it only read 2 committed offsets back." in page.read_text()
    assert controller.phases() == ["plan", "apply-failed", "apply-failed", "apply", "apply"]


def test_a_plan_says_what_a_commit_would_refuse(source, destination, orders, controller):
    commit(destination, orders, {(orders, 0): 9})
    output = done(controller.migrate_groups(phase="plan", groups=[orders])).output
    assert "A commit of this plan would be refused now: " in output
    assert f"group {orders}" in output and "would move back to 7" in output and "group_migration_on_rewind" in output
    assert "Next: decide about what a commit would refuse, and run the same command again." in output
    assert committed(destination, orders) == {(orders, 0): (9, "")}
    allowed = done(controller.migrate_groups(phase="plan", groups=[orders], on_rewind="rewind")).output
    assert "would be refused" not in allowed and "-e group_migration_phase=apply" in allowed


def test_patterns_and_maps(source, destination, topic, controller):
    for name in ("billing", "shipping", "retry"):
        prepare(source, destination, f"{topic}-{name}", f"eu.{topic}-{name}")
    played = done(
        controller.migrate_groups(
            group_patterns=[f"{topic}-.*", "misspelt-.*"],
            exclude_group_patterns=[".*-retry"],
            write_report=True,
            topic_map=[{"pattern": "(.*)", "to": "eu.\\1"}],
            group_map=[{"name": f"{topic}-billing", "to": f"new-{topic}-billing"}],
            directory="elsewhere",
            verify="none",
        )
    )
    assert "Nothing was verified (group_migration_verify: none)." in played.output
    assert f"{topic}-retry" in played.output  # what was left out is said
    told = "is matched by misspelt-.*. Correct group_migration_group_patterns"
    assert played.output.count("is matched by misspelt-") == 1
    assert told in (controller.directory / "elsewhere/report.md").read_text().replace("\\", "")
    names = [name for name in list_groups(destination) if topic in name]
    assert names == [f"new-{topic}-billing", f"{topic}-shipping"]
    for group, name in ((names[0], "billing"), (names[1], "shipping")):
        assert committed(destination, group) == {
            (f"eu.{topic}-{name}", 0): (7, "kept"),
            (f"eu.{topic}-{name}", 1): (22, ""),
        }
    assert (controller.directory / "elsewhere/receipt.json").exists()


def test_without_java_the_other_way_to_verify_is_named_before_anything_is_read(source, orders, controller, destination):
    for words, phase in (((), "plan"), (("--check",), "migrate")):
        its = {"phase": phase, "groups": [orders], "spark": {"java_home": "/nowhere"}}
        said = failed(controller.migrate_groups(*words, verify="records", **its))
        assert "Spark needs Java 17 or newer" in said and "group_migration_verify: anchors" in said
        assert controller.files() == {}
    assert orders not in list_groups(destination)


def test_a_wrong_plan_is_never_written(destination, orders, controller, home, by_modules):
    by_modules.plan(orders)
    plan = json.loads((home / "plan.json").read_text())
    plan["entries"][0]["offset"] += 5  # by somebody who knows better
    (home / "plan.json").write_text(json.dumps(plan))
    before = controller.files()
    its = {"phase": "apply", "groups": [orders]}
    for words in (["--check"], []):
        assert controller.files() == before
        said = failed(controller.migrate_groups(*words, **its))
        assert "offset 12 would skip the copy of the first unconsumed record" in said and "the plan was edited" in said
    assert orders not in list_groups(destination)
    assert not (home / "receipt.json").exists()


def test_what_reads_back_otherwise_says_how_to_go_on(destination, orders, controller, home, by_modules):
    by_modules.plan(orders)
    by_modules.commit()
    file = home / "plan.json"
    plan = json.loads(file.read_text())
    plan["entries"][0]["evidence"]["before"]["fingerprint"] = "0" * 32
    file.write_text(json.dumps(plan))
    # What is verified by anchors needs no Java.
    its = {"phase": "apply", "groups": [orders], "spark": {"java_home": "/nowhere"}}
    receipt = (home / "receipt.json").rename(home / "elsewhere.json")
    output = failed(controller.migrate_groups(**its))
    assert "cannot roll them back. The same playbook, run again, verifies it again." in output
    assert "group_migration_phase=rollback" not in output
    receipt.rename(home / "receipt.json")
    output = failed(controller.migrate_groups(**its))
    assert "Keep consumers stopped, and roll back what the receipt has." in output
    assert "To roll back, run the same command with -e group_migration_phase=rollback. The same playbook, run" in output
    done(controller.rollback(groups=[orders]))
    assert committed(destination, orders) == {}


def test_records_that_the_replication_tool_left_out(source, destination, topic, controller):
    for cluster in (source, destination):
        create_topic(cluster, topic, partitions=1, retention_ms=-1)
    produce(source, topic, [Message(b"%d" % number) for number in range(40)])
    copy(source, destination, topic, keep=lambda record: record.offset != 30)
    commit(source, topic, {(topic, 0): 10})
    its = {"groups": [topic]}
    said = failed(controller.migrate_groups("--check", **its))
    assert "1 problem of 1 kind: absent 1" in said and "set group_migration_on_absent to warn" in said
    assert controller.files() == {} and topic not in list_groups(destination)
    said = done(controller.migrate_groups(**its, on_absent="warn")).output
    assert "(on_absent: warn)" in said
    assert committed(destination, topic) == {(topic, 0): (10, "")}


def test_a_blocked_plan_fails_and_commits_nothing(source, destination, orders, controller):
    blocked = f"{orders}-beyond"
    commit(source, blocked, {(orders, 0): 99})
    output = failed(controller.migrate_groups(groups=[orders, blocked]))
    assert f"first {blocked} {orders}-0 (beyond_end: " in output
    assert len(lines(output)) <= LINES, output
    assert not {orders, blocked} & set(list_groups(destination))
    assert not (controller.directory / "kafka-migrations/onprem-to-cloud/receipt.json").exists()
    done(controller.migrate_groups(groups=[orders, blocked], on_blocked="skip_group"))
    assert {orders, blocked} & set(list_groups(destination)) == {orders}
    undone = done(controller.migrate_groups(groups=[orders, blocked], on_blocked="skip_group", phase="rollback")).output
    assert f"Earlier runs wrote nothing for {blocked}. So this one leaves it out." in undone
    assert committed(destination, orders) == committed(destination, blocked) == {}


def test_what_another_directory_has_written_is_not_offered_to_be_rolled_back(source, destination, orders, controller):
    its = {"groups": [orders]}
    done(controller.migrate_groups(**its, directory="first"))
    written = committed(destination, orders)
    output = done(controller.migrate_groups(**its, write_report=True)).output
    assert "there already, and this directory has not written" in output and "To roll back" not in output
    ticket = (controller.directory / "kafka-migrations/onprem-to-cloud/report.md").read_text()
    assert "cannot roll" in ticket and "Keep receipt.json" not in ticket
    other = f"{orders}-other"
    commit(source, other, {(orders, 0): 1})
    done(controller.migrate_groups(groups=[other]))  # there is a receipt now
    status = done(controller.migration_status()).output
    assert f"not_started ({orders}): start the consumers at the destination." in status
    refused = failed(controller.migrate_groups(**its, phase="rollback"))
    assert f"group {orders} is not in the receipt" in refused and committed(destination, orders) == written
    undone = done(controller.migrate_groups(groups=[other], phase="rollback", write_report=True)).output
    assert "Rollback of 1 of 1 group in the receipt" in undone
    ticket = (controller.directory / "kafka-migrations/onprem-to-cloud/report.md").read_text()
    assert re.search(rf"{other} {orders}-0.* \| \d+ \| none \| rolled back \|", ticket), ticket
    assert done(controller.migrate_groups(**its, directory="first", phase="rollback"))
    assert committed(destination, orders) == {}


def test_a_named_group_keeps_a_topic_called_like_one_of_a_tool_and_what_a_pattern_leaves_out_is_listed(
    source, destination, orders, controller
):
    beats, named, by_pattern = f"{orders}.heartbeats", f"{orders}-named", f"{orders}-pattern"
    prepare(source, destination, beats)
    for group in (named, by_pattern):
        commit(source, group, {(beats, 0): 5, (beats, 1): 7, (orders, 0): 5})
    asked = {"groups": [named], "group_patterns": [f"{by_pattern}.*"], "write_report": True, "verify": "anchors"}
    output = done(controller.migrate_groups(**asked)).output
    at_destination = committed(destination, named)
    assert set(at_destination) == {(beats, 0), (beats, 1), (orders, 0)}
    assert unconsumed(source, named, beats) == unconsumed(destination, named, beats)
    assert set(committed(destination, by_pattern)) == {(orders, 0)}
    line = (
        f"{by_pattern} {beats}-0 to 1 (called like MirrorMaker 2's): excluded by group_migration_exclude_topic_patterns"
    )
    why = "no commit in the snapshot: left alone (group_migration_on_uncommitted: ignore)"
    uncommitted = f"{named} {orders}-1: uncommitted, {why}"
    assert line in output and uncommitted in output and "left out: see the 3 lines above." in output
    ticket = (controller.directory / "kafka-migrations/onprem-to-cloud/report.md").read_text().replace("\\", "")
    assert line in ticket and "2 uncommitted" in ticket.splitlines()[2]
