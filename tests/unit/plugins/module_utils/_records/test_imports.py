"""Records can be read where neither Ansible nor the other client is installed, as on a Spark executor."""

import subprocess
import sys

PROGRAM = """
import sys
for name in ("ansible", "kafka"):
    sys.modules[name] = None  # importing it fails
from ansible_collections.streamshift.kafka.plugins.module_utils._records import consumer_client, fingerprint, range_reader
"""


def test_records_need_neither_ansible_nor_kafka_python(pytestconfig):
    path = str(pytestconfig.rootpath / ".ansible/collections")
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env={"PYTHONPATH": path})
