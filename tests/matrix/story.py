"""What a user does with the installed collection, on two clusters: look, dry run, migration, second run, rollback.

The clusters' records come and are read by this checkout's own clients, so that only the collection depends on the column.
"""

import json
import re

from testbed.clients import Message, Servers, commit, committed, create_topic, produce
from tests.matrix.environment import ROOT, Environment, StepFailed
from tests.support.consumers import unconsumed
from tests.support.replication_tool import copy, repartition

DAY_2026 = 1_767_225_600_000
# At the destination the topic orders has other offsets, and events other partitions.
ORDERS, EVENTS = "orders", "events"
BILLING, ANALYTICS = "billing", "analytics"
EARLIER = {(ORDERS, 0): (3, "earlier")}
KINDS = {"modules": "module", "lookup": "lookup"}


def tell(
    environment: Environment, source: Servers, destination: Servers, *, spark: bool, headers: bool = True
) -> list[str]:
    """Do all of it; returns what has been seen, a clause each. StepFailed if anything is not as it should be.

    headers: records have some, which brokers before 0.11 do not take.
    """
    prepare(source, destination, headers)
    groups = [BILLING, ANALYTICS]
    user = User(environment, source, destination, groups, spark=spark)
    before = committed(destination, BILLING)
    seen = [read_documentation(environment)]

    listed = user.play("list_groups")
    _expect(all(group in listed for group in groups), "list_groups does not list the groups", listed)

    dry = user.play("migrate_groups", "--check", "--diff")
    _expect(changes(dry) > 0 and committed(destination, BILLING) == before, "the dry run was none", dry)
    done = user.play("migrate_groups")
    _expect(changes(done) == changes(dry), "the dry run has predicted other changes", dry + done)
    _expect(
        unconsumed(destination, BILLING, ORDERS) == unconsumed(source, BILLING, ORDERS),
        f"{BILLING} does not get at the destination what it has not consumed at the source",
        done,
    )
    got = unconsumed_values(destination, ANALYTICS)
    _expect(unconsumed_values(source, ANALYTICS) <= got, f"{ANALYTICS} would skip records", done)
    again = user.play("migrate_groups")
    _expect(changes(again) == 0, "a second run changes something", again)
    seen.append(f"{' and '.join(groups)} migrated {'with' if spark else 'without'} Spark")

    back = user.play("rollback")
    _expect(committed(destination, BILLING) == before, "the rollback has not restored the earlier offset", back)
    _expect(not committed(destination, ANALYTICS), "the rollback has left offsets of a new group", back)
    return [*seen, "rolled back"]


class User:
    """Somebody with an inventory, who plays the collection's playbooks."""

    def __init__(
        self, environment: Environment, source: Servers, destination: Servers, groups: list[str], *, spark: bool
    ) -> None:
        self._environment = environment
        self._folder = environment.folder / "user"
        self._folder.mkdir(exist_ok=True)
        hosts = {
            name: {"kafka_cluster": {"bootstrap_servers": list(cluster.bootstrap_servers)}}
            for name, cluster in (("onprem", source), ("cloud", destination))
        }
        local = {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "ansible_pipelining": True,
        }
        inventory = {"kafka_clusters": {"vars": local, "hosts": hosts}}
        (self._folder / "inventory.json").write_text(json.dumps(inventory))
        variables = {
            "source": "onprem",
            "destination": "cloud",
            "groups": groups,
            "idle_wait": 0,
            "repartitioned": [EVENTS],
        }
        if spark:
            variables |= {"search_limit": 300, "spark": {"master": "local[1]"}}  # then Spark counts events
        self._variables = json.dumps({f"group_migration_{name}": value for name, value in variables.items()})

    def play(self, playbook: str, *words: str) -> str:
        """What the playbook prints. StepFailed if it fails."""
        of_a_user = ["-i", "inventory.json", "-e", self._variables, *words]
        return self._environment.run("ansible-playbook", f"streamshift.kafka.{playbook}", *of_a_user, cwd=self._folder)


def read_documentation(environment: Environment) -> str:
    """ansible-doc of every plugin and role."""
    names = {
        kind: sorted(file.stem for file in (ROOT / "plugins" / folder).glob("[!_]*.py"))
        for folder, kind in KINDS.items()
    }
    names["role"] = sorted(file.parents[1].name for file in (ROOT / "roles").glob("*/meta/argument_specs.yml"))
    for kind, found in names.items():
        wanted = [f"streamshift.kafka.{name}" for name in found]
        told = environment.run("ansible-doc", "--json", "--type", kind, *wanted)
        missing = set(wanted) - json.loads(told[told.index("{") :]).keys()
        _expect(not missing, f"ansible-doc has not found {', '.join(sorted(missing))}", told)
    return f"{sum(map(len, names.values()))} plugins and roles documented"


def changes(output: str) -> int:
    """How many tasks of a playbook have changed something."""
    return sum(map(int, re.findall(r"\bchanged=(\d+)", output)))


def unconsumed_values(cluster: Servers, group: str) -> set[bytes | None]:
    """The values of what a group gets of the repartitioned topic."""
    return {record[3] for record in unconsumed(cluster, group, EVENTS)}


def prepare(source: Servers, destination: Servers, headers: bool = True) -> None:
    """Topics, their copies, and what the groups have committed."""
    for topic in (ORDERS, EVENTS):
        create_topic(source, topic, 2, retention_ms=-1)
        create_topic(destination, topic, {ORDERS: 2, EVENTS: 3}[topic], retention_ms=-1)
        records = [
            Message(
                b"%s %d" % (topic.encode(), n),
                b"%d" % (n % 17),
                (("n", b"%d" % n),) if headers else (),
                DAY_2026 + n,
                n % 2,
            )
            for n in range(400)
        ]
        produce(source, topic, records)
    copy(source, destination, ORDERS, junk=4)
    repartition(source, destination, [EVENTS], EVENTS, 3)
    commit(source, BILLING, {(ORDERS, 0): (70, "kept"), (ORDERS, 1): 200})
    commit(source, ANALYTICS, {(EVENTS, 0): 100, (EVENTS, 1): 150})
    commit(destination, BILLING, EARLIER)


def _expect(met: bool, otherwise: str, printed: str) -> None:
    if not met:
        raise StepFailed(f"{otherwise}:\n{printed}")
