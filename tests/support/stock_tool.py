"""Kafka's own kafka-consumer-groups, from its jars."""

import subprocess

from testbed.clients import Servers
from testbed.sandbox import java_command

_MAIN = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def consumer_groups(cluster: Servers, *words: str) -> str:
    """What the tool prints. CalledProcessError where it fails."""
    command = java_command("4.3.0", _MAIN, *words, memory="128m")
    command += ["--bootstrap-server", ",".join(cluster.bootstrap_servers)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
