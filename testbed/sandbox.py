"""The program of the role kafka_sandbox, as functions.

start, stop, stop_all, describe: real Kafka clusters. java_command, spawn, end: another Java program of Kafka.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "roles/kafka_sandbox/files"
if str(PROGRAM) not in sys.path:
    sys.path.insert(0, str(PROGRAM))

from kafka_sandbox import Cluster, SandboxError, describe, names, start, stop, stop_all
from sandbox_java import archive, keep_archives
from sandbox_java import command as java_command
from sandbox_processes import Process, alive, configured_below, end, free_ports, last_words, spawn

__all__ = [
    "Cluster",
    "Process",
    "SandboxError",
    "alive",
    "archive",
    "configured_below",
    "describe",
    "end",
    "free_ports",
    "java_command",
    "keep_archives",
    "last_words",
    "names",
    "spawn",
    "start",
    "stop",
    "stop_all",
]
