"""kafka_migration_run writes two files beside those of the migration, and is never changed."""

import functools
import hashlib
import json

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import admin_client
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import log_bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, NotAuthorized
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_run
from tests.support.reported import ENTRIES, texts_of


@pytest.fixture
def migration(tmp_path):
    """A directory with the files of a migration that has committed."""
    folder = tmp_path / "migration"
    folder.mkdir()
    for name, text in texts_of(ENTRIES, committed=True).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def report(run_module, migration):
    """``report(**options)`` makes the report of this migration."""
    return functools.partial(run_module, kafka_migration_run, state="reported", directory=str(migration))


def test_two_files_are_written_for_their_owner_alone_and_nothing_is_changed(report, migration):
    result = report(role="group_migration", phase="migrate")
    assert not result["changed"] and result["headline"].startswith("Committed: 3 of 5 group-partitions")
    page, ticket = migration / "report.html", migration / "report.md"
    assert (result["html"], result["markdown"]) == (str(page), str(ticket))
    assert result["headline"] in page.read_text() and "## The way back" in ticket.read_text()
    assert {path.stat().st_mode & 0o777 for path in (page, ticket)} == {0o600}


def test_what_is_rolled_back_in_the_directory_of_a_return_is_a_return(report, migration):
    """Whoever rolls it back gives the names of the return, in which the source is the cluster that the groups had left."""
    back = migration / "return"
    back.mkdir()
    (back / "receipt.json").write_text((migration / "receipt.json").read_text())
    asked = {"role": "group_migration", "phase": "rollback", "source": "cloud", "destination": "onprem"}
    for folder, cluster in ((migration, "at the destination"), (back, "on onprem")):
        report(directory=str(folder), files=["receipt.json"], results={"rollback": {"kept_groups": ["web"]}}, **asked)
        assert f"Let their consumers go on {cluster}." in (folder / "report.md").read_text()


def test_check_mode_returns_the_same_and_writes_nothing(report, migration):
    before = sorted(migration.iterdir())
    predicted = report(check=True)
    assert sorted(migration.iterdir()) == before
    assert report() == predicted


def test_the_report_says_who_ran_it_how_long_the_steps_took_and_that_nothing_was_written(report, migration):
    results = {"plan": {"seconds": 2, "records_read": 66}, "verify": {}, "commit": {"written": 0}}
    result = report(ran_by="mia", results={**results, "read back": {"seconds": 0.25}})
    assert not result["changed"] and result["headline"].startswith("Nothing to change: 3 of 5 group-partitions")
    ticket = (migration / "report.md").read_text()
    assert "| Run by | `mia` |" in ticket
    assert "| plan | 2.0 s | 66 |  |" in ticket and "| read back | 0.2 s |  |  |" in ticket


def test_a_report_that_is_made_afterwards_tells_of_the_run_that_made_the_files(run_module, report, migration):
    """run.json says how long its steps took and how it ended, unless it is about another plan or another phase."""
    digest = hashlib.sha256((migration / "plan.json").read_bytes()).hexdigest()
    results = {"plan": {"seconds": 2, "records_read": 66, "digest": digest}}
    results["verify"] = {"seconds": 1, "failed": True, "failure": {"kind": "verification_failed"}}
    ended = {"state": "ended", "phase": "migrate", "keep": 0, "results": results, "holder": {"host": "a", "process": 1}}
    run_module(kafka_migration_run, directory=str(migration), **ended)

    def ticket(**options):
        report(**options)
        return (migration / "report.md").read_text().replace("\\", "")

    assert "| plan | 2.0 s | 66 |  |" in ticket(phase="migrate")
    assert "The step verify failed (verification_failed)." in ticket() and "| Phase | `migrate` |" in ticket()
    assert "## Steps" not in ticket(phase="apply")
    text = (migration / "run.json").read_text()
    (migration / "run.json").write_text(text.replace(digest, "0" * 64))
    assert "## Steps" not in ticket()
    (migration / "run.json").write_text("{")
    result = report()
    assert result["failed"] and "run.json" in result["msg"] and "Remove it" in result["msg"]


PLANNED = hashlib.sha256(texts_of(ENTRIES[:2])["plan.json"].encode()).hexdigest()


MOVED = {
    "commit": {"written": 2, "may_start": ["billing"]},
    "readiness": {"not_ready": ["billing"], "not_started": ["billing"]},
}
IN_USE = {
    "commit": {"written": 0, "may_start": [], "left_out": ["billing: in use"], "active_groups": ["billing", "fraud"]}
}
KEPT = {"commit": {"written": 0, "may_start": [], "kept_groups": ["billing"], "left_out": ["billing orders-0: kept"]}}
REFUSED = {"refusal": "offset 46 is before 99."}


@pytest.mark.parametrize(
    ("phase", "committed", "results", "options", "left_out"),
    [
        ("cut_over", True, MOVED, {}, 1),
        ("migrate", False, IN_USE, {}, 2),
        ("migrate", False, KEPT, {}, 1),
        ("plan", False, {"plan": {"changed": True, "digest": PLANNED}}, REFUSED, 0),
    ],
)
def test_a_report_that_is_made_afterwards_is_no_more_confident_than_that_of_the_run(
    run_module, tmp_path, phase, committed, results, options, left_out
):
    for name, text in texts_of(ENTRIES[:2], committed=committed).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    its = {"directory": str(tmp_path), "phase": phase, "role": "group_migration"}
    ended = {"keep": 0, "results": results, "holder": {"host": "a", "process": 1}, **options}
    run_module(kafka_migration_run, state="ended", **its, **ended)
    of_the_run = (tmp_path / "report.md").read_text()
    result = run_module(kafka_migration_run, state="reported", **its)
    ticket = (tmp_path / "report.md").read_text()
    said = f"This run left out {left_out} group"
    assert (said in ticket) is bool(left_out) and said not in of_the_run
    next_steps, then = (
        page.partition("## What to do next")[2].partition("## The way back")[0] for page in (of_the_run, ticket)
    )
    if left_out:
        assert "Look at what is left out, and run the same command again." in next_steps
        assert "The last lines of the run have said what is next." in then and "tart the consumers" not in then
    else:
        assert "Decide about what a commit would refuse, and run the same command again." in next_steps
        assert "Decide about what a commit would refuse" in then and REFUSED["refusal"] in of_the_run
    assert ("left out: see the exceptions." in result["headline"]) is bool(left_out)


def test_a_message_of_several_lines_is_shown_without_escapes(report, migration):
    report(results={"plan": {"failed": True, "msg": "topics is empty.\ngroups is empty."}})
    for name in ("report.md", "report.html"):
        assert "topics is empty. groups is empty." in (migration / name).read_text()


def cluster(port=1, **more):
    return {"bootstrap_servers": [f"127.0.0.1:{port}"], **more}


def test_the_lag_is_read_from_the_clusters_that_are_given(report, migration, monkeypatch):
    asked = {}

    def bounds(connection, partitions, deadline):
        asked[connection.name] = (sorted(map(str, partitions)), connection.request_timeout, deadline)
        known = {at: Bounds(1, 120, 121) for at in partitions}
        return ("source-id" if connection.name == "source cluster" else "destination-id"), known

    monkeypatch.setattr(log_bounds, "bounds_as_far_as_known", bounds)
    both = {"source_cluster": cluster(), "destination_cluster": cluster(request_timeout=2)}
    result = report(**both)
    # Only partitions with an offset are asked for: others are perhaps not there.
    assert asked == {
        "source cluster": (["clicks-0", "orders-0", "orders-1"], 5, 5),
        "destination cluster": (["orders-0", "orders-1"], 2, 5),
    }
    assert result["notes"] == result["note_kinds"] == [] and not result["changed"]
    assert "| lag at the source | 320 |" in (migration / "report.md").read_text()


@pytest.mark.parametrize(
    ("refuse", "said"),
    [
        (ConnectionFailed("no broker answers", cluster="source cluster broker1:9092", why="time out"), "time out"),
        (NotAuthorized("needs ACL"), "needs ACL"),
        (None, "the files are about another cluster, because this one has the id another, not source-id."),
    ],
)
def test_a_cluster_that_does_not_tell_its_log_ends_fails_nothing(report, migration, monkeypatch, refuse, said):
    def bounds(*_arguments):
        if refuse:
            raise refuse
        return "another", {}

    monkeypatch.setattr(log_bounds, "bounds_as_far_as_known", bounds)
    result = report(source_cluster=cluster())
    (note,) = result["notes"]
    assert result["note_kinds"] == ["log_ends_missing"]
    assert note.startswith("The log ends of the source cluster are missing: ") and said in note
    assert note in (migration / "report.md").read_text().replace("\\", "") and "broker1" not in note


def test_a_cluster_that_is_down_costs_a_note_without_a_secret(report, migration, monkeypatch):
    monkeypatch.setattr(admin_client, "CONNECT_SECONDS", 0.3)
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "mia"}
    down = cluster(**login, sasl_password="s3cret-password")
    result = report(destination_cluster=down)
    assert "The log ends of the destination cluster are missing: " in result["notes"][0]
    written = "".join(path.read_text() for path in migration.iterdir())
    assert "s3cret" not in written and "s3cret" not in json.dumps(result)


def test_partitions_that_are_not_there_are_named(report, migration, monkeypatch):
    monkeypatch.setattr(log_bounds, "bounds_as_far_as_known", lambda *_arguments: ("source-id", {}))
    (note,) = report(source_cluster=cluster())["notes"]
    assert "3 of 3 partitions do not exist" in note and "clicks-0, orders-0, orders-1." in note


def test_an_empty_directory_gets_a_report_that_says_so(report, tmp_path):
    result = report(directory=str(tmp_path))
    assert result["headline"] == "There is no plan yet." and "snapshot.json, plan.json" in result["notes"][0]
    assert result["note_kinds"] == ["file_missing"]


def test_a_file_that_does_not_belong_to_the_others_is_refused_or_left_out(report, migration):
    (migration / "snapshot.json").write_text(texts_of(ENTRIES[:1])["snapshot.json"], encoding="utf-8")
    refused = report()
    assert refused["failed"] and "another snapshot" in refused["msg"] and not (migration / "report.html").exists()
    result = report(on_mismatch="leave_out")
    kinds = dict(zip(result["notes"], result["note_kinds"], strict=True))
    assert [kind for note, kind in kinds.items() if "another snapshot" in note] == ["file_left_out"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(({"results": {"plan": wrong}}, "'plan' in results is no result of") for wrong in (3, ["plan"], {"seconds": "soon"})),
        ({"source_cluster": cluster(sasl_mechanism="PLAIN")}, "source cluster: "),
        ({"directory": "/nowhere"}, "is no directory"),
        ({"selection": {"group": ["billing"]}}, "'group'"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(report, migration, options, said):
    result = report(**options)
    assert result["failed"] and said in result["msg"] and not (migration / "report.html").exists()


@pytest.mark.parametrize("groups", ["billing,shipping", 1234])
def test_a_text_or_a_number_selects_what_ansible_makes_of_it_for_the_other_modules(report, migration, groups):
    result = report(selection={"groups": groups})
    assert not result.get("failed") and (migration / "report.html").exists()
