"""Where a module's lines of progress go; that somebody reads them: tests/unit/plugins/plugin_utils/test_progress.py."""

from ansible_collections.streamshift.kafka.plugins.module_utils._module.progress_file import reporter


def test_every_line_is_there_at_once(tmp_path):
    say = reporter(str(tmp_path / "progress"))
    say("Spark is starting")
    assert (tmp_path / "progress").read_text() == "Spark is starting\n"
    say("one\nline")
    assert (tmp_path / "progress").read_text() == "Spark is starting\none line\n"


def test_work_goes_on_where_lines_cannot_be_written(tmp_path):
    for nowhere in (None, str(tmp_path), str(tmp_path / "missing/progress")):
        reporter(nowhere)("Spark is starting")
    assert list(tmp_path.iterdir()) == []
