"""docs/works-with.md says of each request what the code knows of it, and no request is needed in two ways."""

import json
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from tests.matrix import tested
from tests.matrix.columns import FROM_OLD

PAGE = Path(__file__).parents[2] / "docs/works-with.md"
PROFILES = Path(__file__).parents[1] / "data/profiles"


def test_the_table_of_old_brokers_is_that_of_the_code():
    needs = [ability.value for ability in Ability]
    rows = [f"| {its.since} | {its.use} | {its.request} {its.version} | {its.without}. |" for its in needs]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8"), "\n".join(rows)


def test_the_page_says_of_each_profile_what_its_test_shows():
    """tests/integration/test_hidden_requests.py runs the profiles."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(PROFILES.glob("*.json"))]
    rows = [
        f"| {its['service']} | {its['works']} | tested with the profile of [{its['link']}]({its['source']}) |"
        for its in found
    ]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8"), "\n".join(rows)


def test_each_version_of_a_request_is_needed_for_one_thing():
    found = [(ability.value.request, ability.value.version) for ability in Ability]
    assert len(found) == len(set(found))


def test_the_page_names_the_old_versions_from_which_the_matrix_has_migrated():
    *others, last = FROM_OLD
    assert f"| Kafka {', '.join(others)} and {last} | as the source" in PAGE.read_text(encoding="utf-8")
    assert {f"from-{version}" for version in FROM_OLD} <= tested.load().keys()
