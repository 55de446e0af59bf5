"""Lines of progress are few, and read well."""

import time

from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import paced, repeating


def test_lines_that_come_too_soon_are_left_out(monkeypatch):
    now, said = 100.0, []
    monkeypatch.setattr(time, "monotonic", lambda: now)
    say = paced(said.append, 5)
    for now in (100.0, 104.9, 105.0, 107.0, 111.0):
        say(f"at {now:.0f}")
    assert said == ["at 100", "at 105", "at 111"]


def test_a_line_is_repeated_where_nothing_else_is_said():
    said = []
    with repeating(said.append, 0.05) as say:
        say("reading")
        while len(said) < 2:
            time.sleep(0.01)
        say("done")
    assert said[0] == "reading"
    assert said[1].startswith("reading (for 0 s")
    assert said[-1] == "done"
    count = len(said)
    time.sleep(0.1)
    assert len(said) == count
