"""query('streamshift.kafka.waves', 'waves/*.yml'): the files of variables that runs take with -e @FILE."""

import re

import pytest
from ansible.errors import AnsibleLookupError

from ansible_collections.streamshift.kafka.plugins.lookup.waves import LookupModule


@pytest.fixture
def tmp_path(tmp_path):
    """An inventory's directory with a name that would be a pattern."""
    folder = tmp_path / "pr[od]"
    folder.mkdir()
    return folder


@pytest.fixture
def look_up(tmp_path):
    """Write these files beside the inventory, and look them up."""

    def found(*terms, directory="kafka-migrations/all", **texts):
        (tmp_path / "waves").mkdir(exist_ok=True)
        for name, text in texts.items():
            (tmp_path / "waves" / f"{name}.yml").write_text(text)
        lookup = LookupModule()
        lookup._load_name = "streamshift.kafka.waves"
        lookup.set_options = lambda **_given: None
        lookup.get_option = {"directory": directory}.__getitem__
        return lookup.run(list(terms or ["waves/*.yml"]), {"inventory_dir": str(tmp_path)})

    return found


def test_each_file_is_a_wave_with_its_groups_and_its_directory(look_up, tmp_path):
    waves = look_up(
        shop="group_migration_group_patterns: [shop-.*]\ngroup_migration_exclude_group_patterns: [shop-test]",
        billing="group_migration_groups: [billing]\ngroup_migration_directory: /srv/billing\nother: !unsafe 1\n"
        "group_migration_spark: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162",
    )
    assert waves == [
        {"name": "billing", "groups": ["billing"], "directory": "/srv/billing"},
        {
            "name": "shop",
            "group_patterns": ["shop-.*"],
            "exclude_group_patterns": ["shop-test"],
            "directory": str(tmp_path / "kafka-migrations/all"),
        },
    ]


def test_a_file_that_two_patterns_name_is_one_wave(look_up):
    waves = look_up("waves/*.yml", "waves/billing.yml, waves/b*.yml", billing="group_migration_groups: [billing]")
    assert [wave["name"] for wave in waves] == ["billing"]


def test_all_that_is_wrong_is_told_at_once(look_up):
    with pytest.raises(AnsibleLookupError) as failed:
        look_up(
            "waves/*.yml",
            "nowhere/*.yml",
            "waves",
            empty="",
            list="[billing]",
            broken="a: [",
            whole="$ANSIBLE_VAULT;1.1;AES256\n6162",
            vault="group_migration_groups:\n  - !vault |\n    $ANSIBLE_VAULT;1.1;AES256\n    6162",
            misspelt="group_migration_grups: [billing]",
            nested="group_migration_groups: [{name: billing}]",
            values="group_migration_groups: [a, a]\ngroup_migration_group_patterns: ['(']\ngroup_migration_phase: bogus",
        )
    said = str(failed.value)
    assert "No file matches nowhere/*.yml" in said
    assert re.search("waves is a directory. Name its files, such as .*/waves/[*].yml.", said)
    assert said.count("has no variables.") == 2
    assert "broken.yml cannot be read" in said
    assert "whole.yml is encrypted with ansible-vault" in said
    assert "vault.yml: group_migration_groups is encrypted with ansible-vault" in said
    assert "misspelt.yml: group_migration_grups is no variable of the role group_migration. Did you mean" in said
    assert "misspelt.yml: It selects no group" in said
    assert "nested.yml: group_migration_groups, entry 1 is a dictionary. Give one text." in said
    assert "values.yml: group_migration_groups names a twice. Remove one of them" in said
    assert "values.yml: group_migration_group_patterns holds '('" in said
    assert "values.yml: group_migration_phase is bogus. The choices are " in said


def test_values_that_a_run_makes_of_templates_are_left_to_the_run(look_up):
    (wave,) = look_up(a="group_migration_groups: [a]\ngroup_migration_phase: '{{ wanted }}'")
    assert wave["groups"] == ["a"]
