"""ansible-playbook without its start: each call is a fork of a process that has loaded Ansible, and runs the program's main().

All forks share Ansible's folder of packed modules, so that each module is packed once and not once in each playbook. Both
together are a third of the processor time of a playbook. The forks take the inventory's interpreter for their own, so that
the collection's modules are not packed at all, as where Ansible runs them on its own machine.

As a program it reads a line of JSON for each call and answers with the exit code: see run_ansible_playbook().
"""

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent

_running: list[subprocess.Popen[str]] = []


def run_ansible_playbook(words: t.Sequence[str], environment: t.Mapping[str, str], python: str) -> tuple[int, str]:
    """Its exit code, and what it has printed. ANSIBLE_* variables are those of the first call."""
    if not _running:
        _running.append(_start(environment))
    server = _running[0]
    assert server.stdin and server.stdout
    with tempfile.NamedTemporaryFile("r", errors="replace") as output:
        try:
            call = {"words": ["ansible-playbook", *words], "environment": dict(environment)}
            call |= {"output": output.name, "python": python}
            print(json.dumps(call), file=server.stdin, flush=True)
            code = int(server.stdout.readline())
        except BaseException:  # a time limit, too, must not leave a playbook that goes on
            _running.clear()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            raise
        return code, output.read()


def _start(environment: t.Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _serve() -> None:
    """Until stdin ends, which it does with the process that has started this one."""
    # What the program itself would find: its own folder is on the path, and not this file's.
    sys.path[0] = str(PROGRAMS)
    sys.argv[0] = str(PROGRAMS / "ansible-playbook")
    import ansible.cli.playbook
    import ansible.executor.playbook_executor
    import ansible.plugins.strategy  # noqa: F401

    gc.freeze()  # what a fork never looks at again is not copied to it
    answers = os.fdopen(os.dup(1), "w")
    while call := sys.stdin.readline():
        child = os.fork()
        if not child:
            _play(**json.loads(call))
        _pid, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _play(words: list[str], environment: dict[str, str], output: str, python: str) -> t.NoReturn:
    """Run the program in this process, which ends with it."""
    import ansible.cli.playbook

    code = 1
    try:
        printed = os.open(output, os.O_WRONLY | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for opened, standard in ((nothing, 0), (printed, 1), (printed, 2)):
            os.dup2(opened, standard)
        sys.stdin = os.fdopen(0, closefd=False)  # else what the other side of the pipe has sent meanwhile
        os.environ.clear()
        os.environ.update(environment)
        sys.argv, sys.executable = words, python
        ansible.cli.playbook.main(words)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # the shared folder stays: it goes with the process that has made it


if __name__ == "__main__":
    _serve()
