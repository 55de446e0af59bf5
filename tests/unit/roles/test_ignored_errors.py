"""A play that ignores errors goes on after each task that fails; what it commits is verified all the same."""

import json

from tests.support.playbooks import NOWHERE, Controller, done


def test_a_plan_is_verified_though_the_preview_of_its_commit_has_failed(tmp_path):
    controller = Controller(tmp_path / "infrastructure", onprem=NOWHERE, cloud=NOWHERE)
    its = {
        "role": "group_migration",
        "phase": "migrate",
        "source": "onprem",
        "destination": "cloud",
        "directory": str(controller.directory / "migration"),  # without a plan, so that no cluster is asked
        "steps": ["verify", "commit"],
        "selection": {"groups": ["billing"], "group_patterns": [], "topics": [], "topic_patterns": []},
        "verify_options": {"method": "records", "on_absent": "fail"},
        "commit_options": {"on_blocked": "fail", "on_rewind": "fail", "on_active_group": "fail", "idle_wait": 0},
    }
    task = {
        "name": "Migrate",
        "ansible.builtin.import_role": {"name": "streamshift.kafka.common", "tasks_from": "round"},
        "vars": {f"_common_{name}": value for name, value in its.items()},
    }
    play = {"name": "Play", "hosts": "cloud", "gather_facts": False, "ignore_errors": True, "tasks": [task]}
    playbook = tmp_path / "ignoring.json"
    playbook.write_text(json.dumps([play]))
    output = done(controller.run(str(playbook))).output
    for step in ("See what would be written", "Verify the plan before anything is written", "Set the groups"):
        said = output.partition(f"{step}] ")[2].partition("TASK [")[0]
        assert "...ignoring" in said and "plan.json" in said, output
