# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where and how Spark runs, as the user describes it."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .addresses import masked
from .client_config import is_secret, property_text
from .errors import InvalidInput, MigrationError
from .faults import all_of, faults_of, raise_any
from .option_names import option_name

# Spark's properties for which an option stands, and those that keep results exact and secrets secret.
OPTIONS = {
    "spark.master": "master",
    "spark.remote": "remote",
    "spark.archives": "archives",
    "spark.driver.memory": "driver_memory",
    "spark.local.dir": "work_directory",
}
# What makes results the same everywhere, and keeps values out of tracebacks.
ALWAYS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.sql.execution.pyspark.udf.tracebackWithLocals.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
}
EMBEDDED = {
    # A second attempt at a task that copies would end the first one's transactions.
    "spark.speculation": "false",
    # pyspark would write a larger function for the workers to a file, and such functions hold passwords.
    "spark.broadcast.UDFCompressionThreshold": str((1 << 31) - 1),
}
OWNED = {"spark.api.mode", "spark.app.name", "spark.submit.deployMode", *ALWAYS, *EMBEDDED}
_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|spark://[^\s/@]+|yarn|k8s://[^\s@?#]+")
_REMOTE = re.compile(r"sc://([^\s/;:@?#]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(/(;\S*)?)?")
# The client's message would quote any other parameter, or what it takes for a path.
_PARAMETERS = re.compile(r"(;[^\s;=/?#]+=[^\s;=/?#]*)*")
# The user names of Azure's addresses are those of containers.
_LOGIN = re.compile(r"(?<![a-z0-9+.-])(?!(abfs|wasb)s?://[^/:@]*@)[a-z][a-z0-9+.-]*://[^/\s,?#]*@", re.IGNORECASE)
# JDBC's addresses hold them otherwise: Oracle's before @, others as parameters.
_ORACLE_LOGIN = re.compile(r"\boracle:\w+:[^\s/@]+/[^\s@]*@", re.IGNORECASE)
_ADDRESS = re.compile(r"://|\bjdbc:", re.IGNORECASE)
_PARAMETER_NAME = re.compile(r"[?&;,(:/]\s*([^\s=?&;,():/]+)\s*=")
_PARAMETER_OF_TEXT = re.compile(r"[?&;]\s*([^\s=?&;,():/]+)\s*=")  # the others begin what a pattern or a list has, too
_SIGNATURES = "sig", "signature"  # how names of parameters end that open a file to whoever has the address
_LISTED = "Spark's properties are visible in the list of processes"
_FROM_FILE = "put {} into spark-defaults.conf, in the folder that the environment variable SPARK_CONF_DIR names"
_MEMORY = re.compile(r"[1-9]\d*[mMgG]")


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class SparkOptions:
    """Neither str() nor repr() tells a secret.

    master: Spark's master; the session runs in this process. remote: the URL of a Spark Connect server instead, which
    may hold a token. conf: further Spark properties. archives: of the workers' Python environment, like
    env.tar.gz#env. driver_memory: of the Java process beside this one, which does all the work of a local master.
    java_home: where Java lies; it is looked for when None. work_directory: for files that go with the session.
    """

    master: str = "local[*,4]"
    remote: str | None = None
    conf: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    archives: tuple[str, ...] = ()
    driver_memory: str = "1g"
    java_home: str | None = None
    work_directory: str | None = None

    def __str__(self) -> str:
        if self.remote is None:
            return f"Spark {self.master}"
        return f"Spark Connect server {':'.join(map(str, self.remote_address))}"

    def __repr__(self) -> str:
        return f"<SparkOptions of {self}>"

    @property
    def is_local(self) -> bool:
        """Does all of it run on this machine, in processes that this one starts?"""
        return self.remote is None and self.master.startswith("local")

    @property
    def master_addresses(self) -> list[tuple[str, int]]:
        """Hosts and ports of a standalone cluster's masters; empty for masters of another kind."""
        if not self.master.startswith("spark://"):
            return []
        places = (place.rpartition(":") for place in self.master.removeprefix("spark://").split(","))
        return [(host.strip("[]"), int(port)) for host, _colon, port in places if port.isdecimal()]

    @property
    def remote_address(self) -> tuple[str, int]:
        """Host and port of the Spark Connect server, whose default is 15002."""
        place = (self.remote or "").removeprefix("sc://").partition("/")[0].partition(";")[0]
        host, colon, port = place.rpartition(":")
        return (host.strip("[]"), int(port)) if colon and not place.endswith("]") else (place.strip("[]"), 15002)


def spark_options_from(options: t.Mapping[str, t.Any]) -> SparkOptions:
    """Build them of a module's suboptions, or raise InvalidInput. Nothing is started, no file is looked for."""
    given = {key: value for key, value in options.items() if value not in (None, "", [], {})}
    conf = given.pop("conf", {})
    made = SparkOptions(**{**given, "archives": tuple(given.get("archives", ()))})
    raise_any([*faults_of(lambda: _checked_conf(conf)), *_of_places(made, given)])
    return dataclasses.replace(made, conf=_checked_conf(conf))


def _of_places(made: SparkOptions, given: t.Container[str]) -> t.Iterator[MigrationError]:
    """What is wrong with where Spark runs, and with what."""
    if made.remote is not None and not _REMOTE.fullmatch(made.remote):
        yield InvalidInput(
            f"remote in {option_name('spark')} is no address of a Spark Connect server",
            remedy="write it like sc://spark.example.com:15002, or sc://spark.example.com:15002/;use_ssl=true;token=...",
        )
    elif not _PARAMETERS.fullmatch((made.remote or "").removeprefix("sc://").partition("/")[2]):
        yield InvalidInput(
            f"a parameter of remote in {option_name('spark')} is not of the form name=value",
            remedy="write ; before each parameter, and within a value, such as a token, %3D for =, %2F for /, %3B for ;, "
            "%3F for ? and %23 for #",
        )
    idle = [name for name in ("master", "archives", "driver_memory", "java_home") if name in given]
    if made.remote is not None and idle:
        yield InvalidInput(
            f"{' and '.join([*idle, 'remote'])} in {option_name('spark')} are {'all' if idle[1:] else 'both'} given",
            remedy=f"set {'them' if idle[1:] else 'it'} where the Spark Connect server is started",
        )
    if not _MASTER.fullmatch(made.master):
        yield InvalidInput(
            f"master in {option_name('spark')} is {masked(made.master)!r}",
            remedy="write it like local[*,4], spark://host:7077, yarn or k8s://https://host",
        )
    for archive in ",".join(made.archives).split(","):
        if _LOGIN.search(archive) or ("://" in archive and "?" in archive):
            yield InvalidInput(
                f"the address {masked(archive)} of archives in {option_name('spark')} has user information or a query, and "
                f"{_LISTED}",
                remedy=f"name a file of this machine, or {_FROM_FILE.format('it as spark.archives')}, and set "
                "spark.pyspark.python in conf to ./NAME/bin/python, where NAME is what follows # in it",
            )
    if not _MEMORY.fullmatch(made.driver_memory):
        yield InvalidInput(
            f"driver_memory in {option_name('spark')} is {made.driver_memory!r}", remedy="write it like 512m or 2g"
        )


def _checked_conf(conf: t.Mapping[str, t.Any]) -> dict[str, str]:
    return dict(all_of(lambda item: _checked(*item), conf.items()))


def _checked(key: t.Any, value: t.Any) -> tuple[str, str]:
    name, place = str(key).strip(), f"conf in {option_name('spark')}"
    if not name.startswith("spark."):
        raise InvalidInput(f"{place} holds {name}, which is no property of Spark", remedy="remove it")
    if is_secret(name):
        raise InvalidInput(f"{place} holds {name}, and {_LISTED}", remedy=_FROM_FILE.format("it"))
    text = property_text(place, name, value, option=OPTIONS.get(name), is_owned=name in OWNED)
    parameters = (_PARAMETER_NAME if _ADDRESS.search(text) else _PARAMETER_OF_TEXT).findall(text)
    has_secret = any(is_secret(each) or each.lower().endswith(_SIGNATURES) for each in parameters)
    if has_secret or _LOGIN.search(text) or _ORACLE_LOGIN.search(text):
        raise InvalidInput(
            f"{name} in {place} has an address with user information or a secret, and {_LISTED}",
            remedy=_FROM_FILE.format("it"),
        )
    return name, text
