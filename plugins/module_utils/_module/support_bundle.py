# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Put the files of a migration into one archive for somebody else, with aliases in place of names, and without messages."""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import secrets
import tarfile
import time
import typing as t

from .._control.clusters import look_at_brokers
from .._migration.log_bounds import PATIENCE
from .._model import documents, history, lease
from .._model.aliases import Aliases, key_from
from .._model.errors import FileMissing, InvalidFile, InvalidInput, MigrationError
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name
from .._model.wording import counted
from . import files, options

if t.TYPE_CHECKING:
    from .frame import Module

KEY_FILE = "support-key.json"
_RETURN = "return"  # the files of a return, below the directory
# plan.csv says what plan.json says.
_NAMES = (*(name for name in history.FILES if name.endswith(".json")), history.RUN, lease.FILE)


def write_bundle(module: Module, versions: t.Mapping[str, str]) -> dict[str, t.Any]:
    """-> the module's result: archive, key_file, bundled, notes. In check mode, write nothing.

    versions: of programs, by name. Raises InvalidFile and InvalidInput before anything is written. A damaged file, and a
    cluster that does not answer, cost a note.
    """
    params = module.params
    directory, archive = files.absolute(params["directory"]), files.absolute(params["archive"])
    key_file = files.absolute(params["key_file"] or os.path.join(directory, KEY_FILE))
    if archive == key_file:
        raise InvalidInput(
            f"{option_name('key_file')} and {option_name('archive')} are both {archive}",
            why="whoever gets the archive must not get the key",
            remedy=f"give another path in {option_name('key_file')}",
        )
    if os.path.lexists(archive):
        raise InvalidFile(
            f"{archive} exists already", remedy=f"remove it, or give another path in {option_name('archive')}"
        )
    files.check_writable(archive)
    notes: list[Note] = []
    texts = _texts(directory, notes)
    if not texts:
        raise FileMissing(
            f"there is no file of a migration in {directory}",
            why="no run has worked there, or the files are lost",
            remedy=f"correct {option_name('directory')}",
        )
    files.check_writable(key_file)
    kept = files.read(key_file)
    aliases = Aliases(secrets.token_hex(32) if kept is None else key_from(kept, key_file))
    made, rows = {}, []
    for path, text in texts.items():
        if text is None:
            continue
        made[path], damaged = aliases.document(text)
        rows.append({"file": path, "damaged": damaged})
        if damaged:
            lines = counted(damaged, "damaged line")
            notes.append(
                Note(NoteKind.FILE_LEFT_OUT, f"{path} is in the bundle without {lines}, which may hold names.")
            )
    head = {"made": round(time.time(), 3), "versions": dict(versions), "clusters": _clusters(params, notes)}
    head["unreadable"] = sorted(texts.keys() - made.keys())
    made["bundle.json"] = documents.dumps("bundle", head, rows)
    if not module.check_mode:
        files.write_document(key_file, aliases.to_json(), key_from)
        files.write(archive, _packed(made))
    return {
        "changed": True,
        "directory": params["directory"],
        "archive": archive,
        "key_file": key_file,
        "bundled": sorted(made),
        **module.warned(notes),
    }


def _texts(directory: str, notes: list[Note]) -> dict[str, str | None]:
    """The texts of the files that are there, None of one that cannot be read, by their paths below the directory."""
    texts: dict[str, str | None] = {}
    for path in _paths(directory):
        try:
            text = files.read(os.path.join(directory, path))
        except MigrationError as exc:
            texts[path] = None
            notes.append(Note(NoteKind.FILE_LEFT_OUT, f"{path} is not in the bundle: {exc}"))
        else:
            texts |= {} if text is None else {path: text}
    return texts


def _paths(directory: str) -> t.Iterator[str]:
    """The last files of the migration and of its return, and run.json of the runs in the histories."""
    if not os.path.isdir(directory):
        raise FileMissing(f"{directory} is no directory", remedy=f"correct {option_name('directory')}")
    for below in ("", _RETURN):
        yield from (os.path.join(below, name) for name in _NAMES)
        runs = os.path.join(below, history.DIRECTORY)
        for name in sorted(filter(history.is_folder_name, files.names_in(os.path.join(directory, runs)))):
            yield os.path.join(runs, name, history.RUN)


def _clusters(params: dict[str, t.Any], notes: list[Note]) -> dict[str, t.Any]:
    """What the brokers of the clusters that are given can do, or the kind of the failure to ask them."""
    clusters: dict[str, t.Any] = {}
    for name in ("source_cluster", "destination_cluster"):
        if params[name]:
            connection = options.connection(params, name)
            impatient = dataclasses.replace(connection, request_timeout=min(connection.request_timeout, PATIENCE))
            try:
                clusters[name] = look_at_brokers(impatient)
            except MigrationError as exc:
                clusters[name] = {"failure": exc.kind}
                notes.append(Note(NoteKind.BROKERS_MISSING, f"The bundle says nothing of the brokers: {exc}"))
    return clusters


def _packed(made: t.Mapping[str, str]) -> bytes:
    """An archive of files that names no user, and has the same bytes for the same files."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name in sorted(made):
            content = made[name].encode()
            member = tarfile.TarInfo(f"support-bundle/{name}")
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
