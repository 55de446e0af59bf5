"""The columns of `make matrix`: which versions run together.

Each version of ansible-core with each Python that it allows; the versions of Kafka, PySpark and the other packages are spread
over them, so that each comes up at least once, and the lowest ones and the newest ones together.
"""

import typing as t

NEWEST_KAFKA = "4.4.0"
# What people migrate away from, and where to: brokers since 2.4, because a rollback removes single offsets.
FROM_OLD = {
    "2.6.3": "3.9.1",
    "2.4.1": "4.3.0",
    "2.1.1": "2.8.2",
    "2.0.1": "4.3.0",
    "1.1.1": "4.3.0",
    "0.11.0.3": "4.3.0",
    "0.10.2.2": "4.3.0",
}


class Column(t.NamedTuple):
    """One environment, and the clusters of which and to which it migrates.

    python: major and minor version. lowest: each package in the lowest version that requirements*.txt allow, else in the
    newest. pins: what else pip is told. spark: install requirements-spark.txt, and let Spark verify. may_fail: whether the run
    succeeds without it.
    """

    name: str
    python: str
    source: str
    destination: str
    pins: tuple[str, ...] = ()
    lowest: bool = False
    spark: bool = True
    may_fail: bool = False


COLUMNS = (
    Column("lowest", "3.11", "2.8.2", "3.9.1", lowest=True),
    Column("core-2.19-python-3.11", "3.11", "3.9.1", "4.3.0", ("ansible-core==2.19.*",)),
    Column("core-2.19-python-3.12", "3.12", "4.3.0", "2.8.2", ("ansible-core==2.19.*",), spark=False),
    Column("core-2.19-python-3.13", "3.13", "2.8.2", "4.3.0", ("ansible-core==2.19.*", "pyspark==4.0.*")),
    Column("core-2.20-python-3.12", "3.12", "3.9.1", "3.9.1", ("ansible-core==2.20.*", "pyspark==4.0.*")),
    Column("core-2.20-python-3.13", "3.13", "4.3.0", NEWEST_KAFKA, ("ansible-core==2.20.*",), spark=False),
    Column("core-2.21-python-3.12", "3.12", "4.3.0", "4.3.0", ("ansible-core==2.21.*", "pandas==2.*")),
    Column("core-2.21-python-3.13", "3.13", "3.9.1", NEWEST_KAFKA, ("ansible-core==2.21.*",)),
    Column("newest", "3.13", NEWEST_KAFKA, NEWEST_KAFKA),
    *(
        Column(f"from-{version}", "3.11", version, destination, ("ansible-core==2.19.*",), spark=False)
        for version, destination in FROM_OLD.items()
    ),
    Column("newest-python-3.14", "3.14", NEWEST_KAFKA, NEWEST_KAFKA),
    # The development branch itself is in no package index: its pre-releases are, for some weeks before each release.
    Column(
        "core-pre-release", "3.13", "4.3.0", NEWEST_KAFKA, ("ansible-core>=2.22.0.dev0",), spark=False, may_fail=True
    ),
)

# What the lists above do not have, and why: `make matrix` says so, too.
IMPOSSIBLE = {
    "ansible-core 2.20 and newer with Python 3.11": "they need Python 3.12 or newer",
}
