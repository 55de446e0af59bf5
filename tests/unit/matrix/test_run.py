"""`make matrix` says in one line what has not run, and goes on; README's row of such a column stays."""

import json
import signal

import pytest

from tests.matrix import environment, run, tested

BEFORE = {name: {"ansible-core": "2.19.0", "Python": "3.11.7", "source": "before"} for name in ("lowest", "newest")}
AFTER = {"ansible-core": "2.21.5", "Python": "3.13.0", "source": "after"}

BUILD = environment.build_package


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """Files of its own for the program, and a package that need not be built. The process keeps its signals' handlers."""
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{tested.BEGIN}{tested.END}after\n")
    monkeypatch.setattr(run, "FOLDER", tmp_path / "matrix")
    monkeypatch.setattr(tested, "FILE", tmp_path / "tested.json")
    monkeypatch.setattr(tested, "README", readme)
    monkeypatch.setattr(environment, "build_package", lambda folder, _galaxy: folder / "package.tar.gz")
    tested.save(BEFORE)
    yield
    for each, handler in handlers.items():
        signal.signal(each, handler)


@pytest.fixture
def python(monkeypatch, tmp_path):
    """Let a script take the place of every interpreter."""

    def script(text):
        path = tmp_path / "python"
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(environment, "interpreter", lambda _version: path)
        return path

    return script


@pytest.fixture
def matrix(monkeypatch, capsys):
    """Run the program; returns its exit code and the lines that it has printed."""

    def play(*columns):
        monkeypatch.setattr("sys.argv", ["run.py", *columns])
        code = run.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return code, printed.out.splitlines()

    return play


def rows():
    """What is known of the columns, and README's table says the same."""
    known = json.loads(tested.FILE.read_text())
    assert tested.table(known) in tested.README.read_text()
    return known


def test_where_no_environment_can_be_made_the_next_column_runs(python, matrix):
    path = python(
        'if [ "$*" = "${*/lowest/}" ]; then exit 3; fi\n'
        'mkdir -p "$3/bin"; ln -s /bin/true "$3/bin/python"\n'
        "echo; echo No space left; exit 1"
    )
    code, lines = matrix("lowest", "newest")
    assert code == 1
    assert lines[:2] == [
        f"lowest: has not run, because {path} makes no virtual environment: No space left",
        f"newest: has not run, because {path} makes no virtual environment: it has ended with 3",
    ]
    assert rows() == BEFORE
    # The next run does not take what is left of it for an environment.
    assert not (run.FOLDER / "lowest/venv").exists()


def test_packages_that_cannot_be_had_say_nothing_of_the_versions(python, matrix):
    pip = r"#!/bin/sh\necho no such version; exit 1"
    python(f'mkdir -p "$3/bin"; cd "$3/bin"; touch python; printf "{pip}" > pip; chmod +x pip')
    code, (line, *_more) = matrix("lowest")
    assert (code, line) == (1, "lowest: has not run, because its packages cannot be installed: no such version")
    assert rows() == BEFORE


def test_an_interpreter_that_is_missing_is_named_and_no_failure(monkeypatch, matrix):
    monkeypatch.setattr(environment, "interpreter", lambda _version: None)
    code, (line, *more) = matrix("newest-python-3.14")
    assert (code, line) == (0, "newest-python-3.14: left out, because there is no Python 3.14 on this machine")
    assert more == [f"left out: {what}, because {why}" for what, why in run.IMPOSSIBLE.items()]
    assert rows() == BEFORE


def test_what_has_run_and_failed_loses_its_row_and_what_succeeds_gets_a_new_one(monkeypatch, python, matrix):
    python("")

    def story(column, _python, _package):
        if column.name == "lowest":
            raise environment.StepFailed("$ ansible-playbook\nno offset")
        return AFTER, ["migrated"]

    monkeypatch.setattr(run, "run", story)
    code, lines = matrix("lowest", "newest")
    assert code == 1 and "no offset" in lines and lines[0].startswith("lowest: failed after ")
    assert rows() == {"newest": AFTER}


@pytest.fixture
def interruptible():
    """What a shell starts in the background ignores SIGINT, the tests and all that they start included."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("reason", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_one_line_and_no_other_column_begins(python, matrix, reason, interruptible):
    python(f"sleep 0.5; kill -{reason.value} $PPID; exec sleep 60")  # the parent has to be waiting by then
    code, lines = matrix("lowest", "newest")
    assert code == 130
    assert lines == ["interrupted: the rows of columns that have not ended stay in README.md as they were"]
    assert rows() == BEFORE and not (run.FOLDER / "lowest/venv").exists()


def test_a_package_that_cannot_be_built_ends_the_program_in_one_line(monkeypatch, matrix, tmp_path):
    nowhere = tmp_path / "nowhere/ansible-galaxy"
    monkeypatch.setattr(environment, "build_package", lambda folder, _galaxy: BUILD(folder, nowhere))
    code, (line,) = matrix("lowest")
    assert code == 1 and line.startswith("no column has run, because the package cannot be built: ")
    assert str(nowhere) in line and rows() == BEFORE


def test_a_column_that_may_fail_fails_nothing(monkeypatch, python, matrix):
    python("exit 0")

    def fail(*_given):
        raise environment.StepFailed("a module is gone")

    monkeypatch.setattr(run, "run", fail)
    (name,) = [column.name for column in run.COLUMNS if column.may_fail]
    code, lines = matrix(name)
    assert code == 0 and lines[0].startswith(f"{name}: failed after ") and "This column may fail" in lines[2]
