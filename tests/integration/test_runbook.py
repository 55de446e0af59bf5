"""The run-book that a plan writes: its commands do the wave, one after the other, and go back."""

import re
import shlex
from pathlib import Path

import pytest

from testbed.clients import committed, consume
from tests.support.consumers import unconsumed
from tests.support.playbooks import done, failed
from tests.support.replication_tool import copied_topic


@pytest.fixture
def orders(source, destination, topic):
    return copied_topic(source, destination, topic, 40, 15, partitions=1, junk=2)


def test_the_commands_of_a_run_book_do_the_wave_and_go_back(source, destination, orders, controller):
    wave = {"groups": [orders], "directory": "wave-1", "write_report": True}
    planned = done(controller.migrate_groups(phase="plan", runbook=True, **wave))
    book = (controller.directory / "wave-1/runbook.md").read_text()
    assert f"Run-book: {controller.directory}/wave-1/runbook.md" in planned.output
    assert f"{orders}           1            1                 0" in book and "who | when" in book

    place = Path(re.search("Run every command in `(.*)`", book)[1])
    commands = [line for line in book.splitlines() if line.startswith("ansible-playbook ")]
    assert not [line for line in commands if orders in line], "of many groups, no shell would pass it on"
    returns = [line for line in commands if ".return_groups " in line]
    (migrate,) = [line for line in commands if "group_migration_phase=migrate" in line and "--check" not in line]
    assert "group_migration_stop_timeout=120" in migrate and "group_migration_wait_for_replication=60" in migrate

    def play(line):
        _program, playbook, _i, inventory, *words = shlex.split(line)
        assert (place / inventory).resolve() == controller.inventory
        done(controller.run(playbook, *(re.sub("^@", f"@{place}/", word) for word in words)))
        return playbook.rpartition(".")[2]

    done_in_order = []
    for line in commands:
        if line not in returns:  # which are done in place of the rollback
            done_in_order.append(play(line))
        if line == migrate:
            assert unconsumed(destination, orders, orders) == unconsumed(source, orders, orders)
    assert done_in_order == [
        *["migrate_groups"] * 2,
        "list_groups",
        "migrate_groups",
        "migration_status",
        *["rollback"] * 2,
    ]
    assert committed(destination, orders) == {}

    play(migrate)
    consume(destination, orders, [orders], 5)
    assert [play(line) for line in returns] == ["return_groups"] * 2
    assert unconsumed(source, orders, orders) == unconsumed(destination, orders, orders)

    (controller.directory / "bad.j2").write_text("{{ nothing_of_this_name }}")
    said = failed(controller.migrate_groups(phase="plan", runbook=True, runbook_template="bad.j2", **wave))
    assert "because its template fails" in said and "nothing_of_this_name" in said
    said = failed(controller.migrate_groups(phase="plan", runbook=True, runbook_template="none.j2", **wave))
    assert "because its template fails: Could not find" in said and "none.j2" in said
