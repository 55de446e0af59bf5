"""What a controller asks and sets, in docs/running-from-a-controller.md, is what the roles take."""

import json
import re
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/running-from-a-controller.md").read_text(encoding="utf-8")
OWN = {"wave_name", "wave_groups"}  # of the playbook that the page shows
TYPES = {"int": "integer", "float": "float"}


def blocks(language: str) -> list[t.Any]:
    return [yaml.safe_load(text) for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)]


def variables(role: str) -> dict[str, dict[str, t.Any]]:
    specs = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    options: dict[str, dict[str, t.Any]] = specs["argument_specs"]["main"]["options"]
    return options


def test_the_survey_asks_for_what_the_role_takes() -> None:
    survey, _schedule = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    taken = variables("group_migration")
    for question in survey["spec"]:
        name, kind = question["variable"], question["type"]
        assert question["question_name"] and isinstance(question["required"], bool)
        assert question["default"] in question.get("choices", [question["default"]])
        if name not in OWN:
            assert TYPES.get(taken[name]["type"], "text") == kind.replace("multiplechoice", "text")
            assert set(question.get("choices", [])) <= set(taken[name].get("choices", question.get("choices", [])))
    assert {question["variable"] for question in survey["spec"]} >= OWN


def test_the_playbook_uses_the_answers() -> None:
    (play,) = next(block for block in blocks("yaml") if isinstance(block, list))
    playbook = play["ansible.builtin.import_playbook"].removeprefix("streamshift.kafka.")
    assert (ROOT / f"playbooks/{playbook}.yml").exists()
    assert set(play["vars"]) <= set(variables("group_migration"))
    assert all(any(name in text for text in play["vars"].values()) for name in OWN)


def test_the_schedules_variables_are_the_roles() -> None:
    (scheduled,) = [block for block in blocks("yaml") if "mirror_maker_group_sync_source" in block]
    assert set(scheduled) <= set(variables("mirror_maker_group_sync"))
    named = set(re.findall(r"`(mirror_maker_group_sync_\w+)`", PAGE))
    assert named and named <= set(variables("mirror_maker_group_sync"))


def test_the_inventory_reads_the_password_that_the_credential_sets() -> None:
    (credential,) = [block for block in blocks("yaml") if "injectors" in block]
    (name,) = credential["injectors"]["extra_vars"]
    assert f"{{{{ {name} }}}}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(field["secret"] for field in credential["inputs"]["fields"])
