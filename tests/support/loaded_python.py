"""An interpreter for ansible_python_interpreter that has loaded what modules import: each call is a fork of one process.

Ansible packs a module's sources into an archive, from which Python compiles them for each task anew. With the imports of
libraries that is more processor time than most modules take for their work, and half of what the tests of playbooks take.

What it runs is the checkout's code, and not the archive's. A ProgramController uses the plain interpreter, and so do tests
that look at a module's process.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[2]
COLLECTION = "ansible_collections.streamshift.kafka.plugins"

# What Ansible calls. It hands its files, environment and directory over, and ends as the module does.
CLIENT = """\
#!{python} -IS
import json, os, re, socket, subprocess, sys

if sys.argv[1:] and "AnsiballZ_" not in sys.argv[1]:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
piped = "" if sys.argv[1:] else sys.stdin.read()
# Modules of other collections are in their archives alone, and ansible_collections is loaded from the checkout.
if re.search("module_fqn='ansible_collections[.](?!streamshift)", piped or open(sys.argv[1]).read()):
    sys.exit(subprocess.run([{python!r}, *sys.argv[1:]], input=piped, text=True).returncode)
call = {{"words": sys.argv[1:], "piped": piped, "environment": dict(os.environ), "directory": os.getcwd()}}
said = json.dumps(call).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(said).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(said)
    ended = server.recv(1)
sys.exit(ended[0] if ended else 1)
"""

# The ansible-playbook beside it takes it for its own interpreter: it need not pack the collection's modules then, which takes a
# second for each.
PLAYBOOK = """\
#!{python}
import sys
from ansible.cli.playbook import main

sys.argv[0], sys.executable = {program!r}, {client!r}
main()
"""

_running: list[tuple[subprocess.Popen[str], tempfile.TemporaryDirectory[str], str]] = []


def loaded_python() -> str:
    """The interpreter's path. It works as long as this process lives."""
    if not _running:
        folder = tempfile.TemporaryDirectory(prefix="loaded-python-")
        client, address = Path(folder.name, "python"), str(Path(folder.name, "socket"))
        client.write_text(CLIENT.format(python=sys.executable, address=address))
        program = Path(sys.executable).with_name("ansible-playbook")
        playbook = client.with_name(program.name)
        playbook.write_text(PLAYBOOK.format(python=sys.executable, program=str(program), client=str(client)))
        for file in (client, playbook):
            file.chmod(0o700)
        server = subprocess.Popen(
            [sys.executable, __file__, address],
            env={**os.environ, "PYTHONPATH": str(ROOT / ".ansible/collections")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        _running.append((server, folder, str(client)))
    return _running[0][2]


def _serve(address: str) -> str:
    """Until stdin ends, which it does with the process that has started this one. Returns in a module's process only."""
    del sys.path[0]  # this file's folder
    _load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        gc.freeze()
        print("ready", flush=True)
        while True:
            readable, _unused, _unused = select.select([listener.fileno(), 0], [], [])
            if 0 in readable:
                os._exit(0)
            connection, _unused = listener.accept()
            if not os.fork():
                break
            connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return _become_module(connection)


def _load() -> None:
    """Import what modules import."""
    importlib.import_module("ansible.module_utils.basic")
    utils = importlib.import_module(f"{COLLECTION}.module_utils")
    for found in pkgutil.walk_packages(utils.__path__, f"{utils.__name__}."):
        importlib.import_module(found.name)
    tasks = os.listdir("/proc/self/task")
    assert len(tasks) == 1, "a fork has but one of these threads"


def _become_module(connection: socket.socket) -> str:
    """What Ansible pipes to Python, if anything, in the process that is to run it; the one that is left tells how it ended."""
    length, files, _flags, _address = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as sent:
        call = json.loads(sent.read(int.from_bytes(length, "big")))
    module = os.fork()
    if module:
        for file in (0, 1, 2, *files):
            os.close(file)
        _wait(module, connection)
    connection.close()
    for file, standard in zip(files, (0, 1, 2), strict=True):
        os.dup2(file, standard)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, closefd=False),
        os.fdopen(1, "w", closefd=False),
        os.fdopen(2, "w", 1, closefd=False),
    )
    os.chdir(call["directory"])
    os.environ.clear()
    os.environ.update(call["environment"])
    sys.argv = call["words"] or ["-"]
    return str(call["piped"])


def _wait(module: int, connection: socket.socket) -> t.NoReturn:
    ended = os.pidfd_open(module)
    readable, _unused, _unused = select.select([ended, connection.fileno()], [], [])
    if ended not in readable:  # Ansible has killed the client
        os.kill(module, signal.SIGKILL)
    _pid, status = os.waitpid(module, 0)
    code = os.waitstatus_to_exitcode(status)
    if ended in readable:
        connection.send(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


if __name__ == "__main__":
    if piped := _serve(sys.argv[1]):
        sys.path.insert(0, "")
        exec(compile(piped, "<stdin>", "exec"), {"__name__": "__main__"})  # noqa: S102  as Python itself does
    else:
        sys.path.insert(0, str(Path(sys.argv[0]).parent))
        runpy.run_path(sys.argv[0], run_name="__main__")
