# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What travels to Spark's workers: this collection's code as an archive, and a connection without paths."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import sys
import typing as t
import zipfile
from pathlib import Path

from .._control.security import content_of
from .._model.addresses import masked
from .._model.connection import Connection
from .._model.errors import RequirementMissing
from .._model.option_names import option_name
from . import spark_library

if t.TYPE_CHECKING:
    from .spark_library import SparkSession

_T = t.TypeVar("_T")
# This file's package, whose names are those that the workers import.
_ROOT = __name__.rpartition("._spark.")[0]
_TOKEN_CA = "https.ca.location"  # of librdkafka: the authorities of the token endpoint
_LONG_AGO = (2000, 1, 1, 0, 0, 0)  # so that the same code makes the same archive


def code_archive(folder: Path) -> Path:
    """Write the modules that workers may need into a zip file in the folder.

    These are the ones that this process has imported, because Ansible sends a module along with no more than it imports,
    in an archive of its own. Workers import those of `_spark` and of the layers below it, and by the same names.
    """
    # The packages that this one lies in, outermost first.
    files = {f"{package}/__init__.py": "" for package in itertools.accumulate(_ROOT.split("."), "{}/{}".format)}
    for name, module in sorted(sys.modules.items()):
        if name.startswith(f"{_ROOT}."):
            loader: t.Any = module.__spec__.loader if module.__spec__ else None  # Python's own, a zip file's, Ansible's
            source = loader.get_source(name)
            file = name.replace(".", "/") + ("/__init__.py" if hasattr(module, "__path__") else ".py")
            files[file] = source or ""
    digest = hashlib.sha256("".join(f"{name}\0{text}\0" for name, text in files.items()).encode()).hexdigest()
    # Spark keeps files by their names: other code needs another one.
    path = folder / f"streamshift-kafka-{digest[:16]}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in files.items():
            archive.writestr(zipfile.ZipInfo(file, _LONG_AGO), text)
    return path


def check_archives(archives: t.Iterable[str]) -> None:
    """Raise InvalidInput for an archive that should be on this machine and is not."""
    for archive in archives:
        path = archive.partition("#")[0]
        if "://" not in path and not Path(path).is_file():
            raise RequirementMissing(
                f"there is no archive {masked(path)} on this machine",
                remedy=f"correct archives in {option_name('spark')}",
            )


class Apart(t.NamedTuple, t.Generic[_T]):
    """What a function for the workers uses by `value`, and does not hold itself."""

    value: _T


def apart(spark: SparkSession, value: _T) -> Apart[_T]:
    """Have a large value without secrets travel apart from the function that uses it.

    ``jobs = apart(spark, jobs)``. A function that holds a connection stays small this way. Spark's broadcast of the value is
    a file, hence without secrets; a Spark Connect server has no broadcasts, and gets the value with the function.
    """
    return spark.sparkContext.broadcast(value) if isinstance(spark, spark_library.SparkSession) else Apart(value)  # type: ignore[return-value]


def portable(connection: Connection) -> Connection:
    """The same connection with the content of its certificates and keys in place of their paths.

    Send it in a function's closure only: it holds secrets. Raises InvalidInput for a file that cannot be read.
    """
    texts: dict[str, t.Any] = {}
    for kind in ("ca", "cert", "key"):
        option = f"ssl_{kind}file"
        if path := getattr(connection, option):
            texts |= {option: None, f"ssl_{kind}": content_of(connection, option, path).decode(errors="replace")}
    config = dict(connection.client_config)
    if Path(config.get(_TOKEN_CA, "")).is_file():  # without it, a worker gets no token, and librdkafka makes no client
        config["https.ca.pem"] = content_of(connection, _TOKEN_CA, config.pop(_TOKEN_CA)).decode(errors="replace")
        texts["client_config"] = config
    return dataclasses.replace(connection, **texts)
