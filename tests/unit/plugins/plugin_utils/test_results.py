"""Which results a run is told by: those of its tasks, whatever rows they have."""

from ansible_collections.streamshift.kafka.plugins.module_utils._module._report.sections import MOST_ROWS
from ansible_collections.streamshift.kafka.plugins.plugin_utils._results import results_of


class Unread(list):
    """Rows that are copied by nobody."""

    def __iter__(self):
        raise AssertionError("the rows are read")

    __copy__ = __deepcopy__ = __iter__


def test_results_are_found_by_the_names_of_variables_and_their_rows_are_left_alone():
    plan = {"changed": True, "entries": Unread(), "counts": {"exact": 3}}
    told = results_of(
        {"plan": "__common_plan", "commit": "__common_commit", "copy": {"written": 1, "ranges": Unread()}},
        {"__common_plan": plan},
    )
    assert told == {"plan": {"changed": True, "counts": {"exact": 3}}, "commit": {}, "copy": {"written": 1}}


def test_nothing_is_passed_on_that_ansible_adds():
    failed = {
        "failed": True,
        "msg": "no broker answers",
        "exception": "secret",
        "invocation": {},
        "warnings": [object()],
    }
    assert results_of({"plan": failed}, {}) == {"plan": {"failed": True, "msg": "no broker answers"}}


def test_the_report_of_a_rollback_gets_the_first_rows():
    # One may have got other metadata alone.
    rows = [{"partition": number, "before": 5, "after": 5, "changed": True} for number in range(MOST_ROWS)]
    stays = {"partition": MOST_ROWS, "before": 9, "after": 9, "changed": False}  # has consumed since
    assert results_of(
        {"rollback": {"entries": [*rows, stays]}, "groups": {"entries": rows, "groups": ["audit"]}}, {}
    ) == {
        "rollback": {"entries": [stays, *rows[:-1]]},
        "groups": {"groups": ["audit"]},
    }
