"""make demo: a company moves to another cluster.

Two sandboxes, a company's records and groups, and a real MirrorMaker 2 that copies most of them and commits for the
groups as well as it can; a script copies the rest. Then the playbook takes over: dry run, run, run again, roll back,
run. Then all records of both clusters are read, and a table tells for each group what MirrorMaker's commits and the
playbook's would have repeated. In the last act, a group is cut over while its producer goes on, consumes at the new
cluster, and is taken back.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import json
import multiprocessing
import os
import shlex
import shutil
import signal
import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from demo import last_act, own_tool
from demo.company import PARTITIONS, Groups, found_company
from demo.played import PlaybookFailed, Player
from demo.proof import Logs, Outcome, contradicted, outcome, read_logs
from demo.terminal import step, table, title
from testbed.clients import Commits, committed, create_topic, delete_groups
from testbed.mirror_maker import MirrorMaker
from testbed.sandbox import Cluster, SandboxError, start, stop_all

FOLDER = ROOT / ".cache/demo"
PLAYER = Player(ROOT / ".cache/demo-output")  # which stays when the demo is over
MIGRATE, ROLLBACK = "streamshift.kafka.migrate_groups", "streamshift.kafka.rollback"
CLUSTERS = (
    "-i",
    "demo/inventory.yml",
    "-e",
    "group_migration_source=onprem",
    "-e",
    "group_migration_destination=cloud",
)
# MirrorMaker copies what the company's own tool does not.
MIRRORED = sorted(set(PARTITIONS) - set(own_tool.TOPICS))
RESTAMPED, REPARTITIONED = ("telemetry",), ("events",)
CHOSEN: dict[str, t.Any] = {
    "group_migration_group_patterns": [".*"],
    "group_migration_repartitioned": REPARTITIONED,
    "group_migration_search_limit": 10_000,  # so that telemetry, too, is large enough for Spark
}
if os.environ.get("SPARK"):  # such as spark://host:7077
    CHOSEN["group_migration_spark"] = {"master": os.environ["SPARK"]}
GROUPS = ("-e", json.dumps(CHOSEN))


class DemoFailed(Exception):
    """Something did not go as this demo promises."""


def main() -> int:
    """Run the demo; 0 when everything went as it should."""
    for reason in (signal.SIGTERM, signal.SIGHUP):  # then, too, the clusters have to be stopped
        signal.signal(reason, signal.default_int_handler)
    clear()
    shutil.rmtree(PLAYER.folder, ignore_errors=True)
    try:
        onprem, cloud = start_clusters()
        groups = work_for_years(onprem)
        by_mirror_maker = copy_with_mirror_maker(onprem, cloud, groups)
        copy_by_script(onprem, cloud)
        migrate(cloud, groups)
        compare(onprem, cloud, groups, by_mirror_maker)
        last_act.cut_over(onprem, cloud, functools.partial(play_cut_over, FOLDER / "cut-over"), step)
    except (DemoFailed, PlaybookFailed, last_act.Failed, SandboxError, TimeoutError) as failed:
        print(f"\nThe demo has failed: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe demo was interrupted", file=sys.stderr)
        return 130
    finally:
        if os.environ.get("KEEP", "0") in ("", "0"):
            clear()
            step("both clusters are stopped, and nothing is left of them but what was printed, and the report:")
            print(f"          {PLAYER.folder / 'report.html'}")
        else:
            tell_how_to_go_on()
    return 0


def start_clusters() -> tuple[Cluster, Cluster]:
    """The company's old cluster, and its new one."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        onprem, cloud = pool.map(lambda name: start(name, FOLDER), ("onprem", "cloud"))
    for cluster in (onprem, cloud):
        step(f"{cluster.name} runs: Kafka {cluster.version} on {cluster.bootstrap_servers[0]}")
    return onprem, cloud


def work_for_years(onprem: Cluster) -> Groups:
    """Fill the old cluster."""
    groups = found_company(onprem)
    partitions = sum(len(group.positions) for group in groups.values())
    step(f"onprem has {len(PARTITIONS)} topics and {len(groups)} groups, which have committed {partitions} offsets")
    return groups


def copy_with_mirror_maker(onprem: Cluster, cloud: Cluster, groups: Groups) -> dict[str, Commits]:
    """Copy all topics, take down what MirrorMaker has committed, and let the groups start clean."""
    for topic in RESTAMPED:
        create_topic(cloud, topic, PARTITIONS[topic], retention_ms=-1, message_timestamp_type="LogAppendTime")
    # Without this it would copy aborted payments, too, and for its readers they would be paid.
    more = {"src.consumer.isolation.level": "read_committed"}
    with MirrorMaker(FOLDER / "mirror-maker", onprem, cloud, topics=",".join(MIRRORED), more=more) as mirror_maker:
        mirror_maker.wait_until_caught_up(MIRRORED)
        step(f"MirrorMaker 2 has copied {len(MIRRORED)} topics to cloud, which stamps {RESTAMPED[0]} with its own time")
        commits = mirror_maker.wait_until_groups_stand(groups)
        count = sum(map(len, commits.values()))
        step(f"MirrorMaker 2 has committed {count} offsets for {len(commits)} of the groups there")
    shown = {
        group: [[topic, partition, *at] for (topic, partition), at in sorted(entries.items())]
        for group, entries in commits.items()
    }
    kept = FOLDER / "mirror-maker-commits.json"
    kept.write_text(json.dumps(shown, indent=1, sort_keys=True) + "\n")
    delete_groups(cloud, commits)
    step(f"MirrorMaker 2 is stopped; its commits are kept in {kept.name}, and no longer at cloud")
    return commits


def copy_by_script(onprem: Cluster, cloud: Cluster) -> None:
    """The topics that MirrorMaker was not to copy."""
    own_tool.copy_sessions(onprem, cloud)
    step("a script has copied sessions, was restarted, and has copied them once more")
    own_tool.copy_events(onprem, cloud)
    step(f"it has copied events, too, from {PARTITIONS['events']} partitions into {own_tool.EVENT_PARTITIONS}")


def migrate(cloud: Cluster, groups: Groups) -> None:
    """Play the playbooks, and look after each whether cloud is as it should be."""
    # The records beside each offset are compared in seconds; the last run compares all of them.
    quick = ("-e", "group_migration_verify=anchors")
    play = PLAYER.play
    play("A dry run", MIGRATE, *CLUSTERS, *GROUPS, *quick, "--check", "--diff", whole_plan=True)
    expect("the dry run has changed nothing", not standing(cloud, groups) and not (FOLDER / "migration").exists())
    play("The migration", MIGRATE, *CLUSTERS, *GROUPS, *quick)
    migrated = standing(cloud, groups)
    expect(f"{len(migrated)} groups stand at cloud", set(migrated) == set(groups))
    recap = play("The same again", MIGRATE, *CLUSTERS, *GROUPS, *quick)
    expect("the second run had nothing to change", "changed=0" in recap and standing(cloud, groups) == migrated)
    play("The way back", ROLLBACK, *CLUSTERS, *GROUPS)
    expect("the rollback has left no group at cloud", not standing(cloud, groups))
    # The plan of before is verified to the end of every partition, because the limit is 0, and applied as it is.
    whole = ("-e", "group_migration_phase=apply", "-e", "group_migration_verify_limit=0")
    play("And there again, by the same plan", MIGRATE, *CLUSTERS, *GROUPS, *whole)
    expect("all groups stand where they stood before the rollback", standing(cloud, groups) == migrated)
    expect_proof(groups)
    for page in ("report.html", "report.md"):
        shutil.copy(FOLDER / "migration" / page, PLAYER.folder)


def expect_proof(groups: Groups) -> None:
    """Look into the report of the last run: every group is in it, to the end of every partition, and nothing is wrong."""
    report = json.loads((FOLDER / "migration/report.json").read_text())["entries"]
    compared = sum(entry["compared"] for entry in report)
    expect(
        f"every group was verified before it was set, by {compared:,} records that follow where it stands",
        {entry["group"] for entry in report} == set(groups)
        and all(entry["complete"] and not entry["problems"] for entry in report),
    )


def play_cut_over(directory: Path, what: str, phase: str) -> str:
    """Play a phase of the last act, whose group has a directory of its own."""
    its = {
        "group_migration_groups": [last_act.GROUP],
        "group_migration_phase": phase,
        "group_migration_verify": "anchors",
        "group_migration_directory": str(directory),
    }
    return PLAYER.play(what, MIGRATE, *CLUSTERS, "-e", json.dumps(its))


def expect(what: str, fulfilled: bool) -> None:
    """Say what is so, or end the demo because it is not."""
    if not fulfilled:
        raise DemoFailed(f"it is not true that {what}")
    step(what)


def standing(cloud: Cluster, groups: Groups) -> dict[str, Commits]:
    """What the groups have committed at cloud."""
    return {group: commits for group in groups if (commits := committed(cloud, group))}


def compare(onprem: Cluster, cloud: Cluster, groups: Groups, by_mirror_maker: t.Mapping[str, Commits]) -> None:
    """Read everything, print the table, and see whether the plan has told the truth."""
    title("What the groups would get twice, or never, at cloud")
    read_all = functools.partial(read_logs, topics=list(PARTITIONS), restamped=RESTAMPED)
    # A fork would inherit what librdkafka has open, and may crash when it clears that away.
    with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        source, destination = pool.map(read_all, (onprem, cloud))
    by_us, plan = standing(cloud, groups), json.loads((FOLDER / "migration/plan.json").read_text())["entries"]
    rows: list[list[str | int]] = []
    theirs, ours = Outcome(), Outcome()
    for name, group in groups.items():
        before = committed(onprem, name)
        mirrored = {where: at for where, at in before.items() if where[0] in MIRRORED}
        their = outcome(mirrored, by_mirror_maker.get(name, {}), source, destination)
        our = outcome(before, by_us.get(name, {}), source, destination, REPARTITIONED)
        theirs, ours = theirs + their, ours + our
        verdicts = collections.Counter(entry["verdict"] for entry in plan if entry["group"] == name)
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        rows.append([name, group.story, *_cells(their, our), told])
    head = [
        "group",
        "where it stands",
        "consumed",
        "MM2 repeats",
        "loses",
        "no commit",
        "we repeat",
        "lose",
        "verdicts",
    ]
    table(head, [*rows, [], ["all", "", *_cells(theirs, ours), ""]])
    print(
        "\nMM2: MirrorMaker 2. Where it has not committed, its count is that of a consumer that begins at the beginning"
        "\n(auto.offset.reset=earliest); with latest it would lose the backlog instead.\n"
    )
    step(f"all records have been compared: {size(source):,} at onprem, {size(destination):,} at cloud")
    expect(
        f"no verdict is contradicted by the records, of {len(plan)}",
        not contradicted(plan, source, destination, REPARTITIONED),
    )
    expect("no record is lost", ours.losses == 0)


def _cells(theirs: Outcome, ours: Outcome) -> list[str | int]:
    missing = f"{theirs.missing} of {theirs.entries}" if theirs.missing else ""
    told: list[str | int] = [theirs.repeats, theirs.losses] if theirs.entries else ["not", "copied"]
    return [ours.consumed, *told, missing, ours.repeats, ours.losses]


def size(logs: Logs) -> int:
    """The number of records."""
    return sum(map(len, logs.values()))


def clear() -> None:
    """Stop what this or an earlier demo has started, and remove its files."""
    stop_all(FOLDER)
    shutil.rmtree(FOLDER, ignore_errors=True)


def tell_how_to_go_on() -> None:
    """For KEEP=1."""
    program = "roles/kafka_sandbox/files/kafka_sandbox.py"
    print(
        "\nBoth clusters are still up. Look at them, play with them, and stop them:"
        "\n  less .cache/demo/migration/plan.json"
        "\n  xdg-open .cache/demo/migration/report.html"
        f"\n  .venv/bin/ansible-playbook {MIGRATE} {shlex.join([*CLUSTERS, *GROUPS])} --check --diff"
        f"\n  .venv/bin/python {program} describe --work .cache/demo"
        f"\n  .venv/bin/python {program} stop --work .cache/demo",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
