# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The migration's files on disk: read whole, written atomically with mode 0600, one run at a time."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import errno
import fcntl
import os
import re
import stat
import tempfile
import time
import typing as t

from .._model import documents, history, lease
from .._model.errors import WRITTEN, FileMissing, InvalidFile, Locked, MigrationError, NotWritten
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name, path_option
from .leases import check_lease, holder

_Document = t.TypeVar("_Document")

LARGEST = 1 << 30  # bytes that are read; a plan has less than a thousand for each entry
FOR_ALL = 0o644  # the mode of what another user reads, such as the node exporter
MOST_WRITTEN = LARGEST >> 1  # what was read back, or verified, is noted in it afterwards
_BEGINNING = 200  # bytes that tell of which kind a document is
_STALE_SECONDS = 600.0  # no file takes so long to write; a scratch file that is older is that of a killed process


@contextlib.contextmanager
def failing(what: str, remedy: str) -> t.Iterator[None]:
    """Raise InvalidFile that says what has failed, and the reason of the operating system."""
    try:
        yield
    except OSError as exc:
        raise InvalidFile(what, why=str(exc), remedy=remedy) from exc


def names_in(folder: str) -> list[str]:
    """What a directory holds, nothing where there is none. Raises InvalidFile for one that cannot be read."""
    missing = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with failing(f"{folder} cannot be read", "check its permissions"), missing:
        return os.listdir(folder)
    return []


def absolute(path: str) -> str:
    """The path from the root, as the operating system follows it: `..` after a symbolic link leaves what it links to."""
    if os.pardir not in path.split(os.sep):
        return os.path.abspath(path)
    folder, name = os.path.split(path.rstrip(os.sep))
    return os.path.realpath(path) if name == os.pardir else os.path.join(os.path.realpath(folder), name)


def read(path: str) -> str | None:
    """The text of a file, None where there is none. Raises InvalidFile when it is there and is none that can be read.

    Line ends stay as they are, so the text encodes to the file's bytes.
    """
    content = read_bytes(path)
    if content is None:
        return None
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise _not_utf8(path, "it is UTF-16 text, as PowerShell writes it, or no text at all")
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        raise _not_utf8(path, f"it is not UTF-8 text ({exc})") from exc


def read_bytes(path: str) -> bytes | None:
    """The content of a file, None where there is none. Raises InvalidFile when it is there and cannot be read.

    Whatever stands at the path, this ends soon: regular files only, of LARGEST bytes at most. A symbolic link is followed
    only to a file of this user or of root: in a directory that others can write to, it may lead anywhere.
    """
    what, missing = f"{path} cannot be read", contextlib.suppress(FileNotFoundError)
    with failing(what, "check the path and its permissions"), missing, os.fdopen(_opened(path), "rb") as stream:
        content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InvalidFile(what, why="it grows while it is read", remedy="correct the path")
        return content
    return None


def _not_utf8(path: str, why: str) -> InvalidFile:
    remedy = "correct the path, or save the file as UTF-8 (PowerShell: Set-Content -Encoding utf8)"
    return InvalidFile(f"{path} cannot be read", why=why, remedy=remedy)


def _opened(path: str) -> int:
    """A descriptor of a regular file. Looked at after it is opened: what stands at a path can change in between."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a pipe without a writer would be waited for
    is_link = False
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW)
    except OSError as exc:
        if exc.errno != errno.ELOOP:
            raise
        is_link = True
        descriptor = os.open(path, flags)
    status = os.fstat(descriptor)
    why = None
    if not stat.S_ISREG(status.st_mode):
        why = "it is a directory" if stat.S_ISDIR(status.st_mode) else "it is no regular file"
    elif is_link and status.st_uid not in (0, os.geteuid()):
        why = "it is a symbolic link to a file of another user"
    elif status.st_size > LARGEST:
        why = f"it is larger than {LARGEST} bytes"
    if why is not None:
        os.close(descriptor)
        raise InvalidFile(f"{path} cannot be read", why=why, remedy="correct the path, or put the file itself there")
    return descriptor


def parsed(path: str | None, parse: t.Callable[[str, str], _Document]) -> _Document | None:
    """What parse(text, path) makes of the file; None without a path, or if the file is not there."""
    if path is None or (text := read(path)) is None:
        return None
    return parse(text, path)


def parsed_or_none(
    path: str | None, parse: t.Callable[[str, str], _Document], damaged: list[MigrationError] | None = None
) -> _Document | None:
    """As parsed(); None also for a file that cannot be used. damaged: gets why not, where that is to be told."""
    try:
        return parsed(path, parse)
    except InvalidFile as exc:
        if damaged is not None:
            damaged.append(exc)
        return None


def read_required(path: str, kind: str, made_by: str | None) -> str:
    """The text of a file that an earlier step has made, or InvalidFile that names the step.

    made_by: None where no step can make the file again, such as the receipt of a rollback.
    """
    text = read(path)
    if text is None:
        raise _missing(path, kind, made_by)
    return text


def parsed_required(path: str, parse: t.Callable[[str, str], _Document], kind: str, made_by: str | None) -> _Document:
    """What parse(text, path) makes of a file that must be there: see read_required()."""
    return parse(read_required(path, kind, made_by), path)


def check_rollback_file(path: str, kind: str, otherwise: str = "") -> None:
    """Raise InvalidFile for a file that a rollback rests on, reads only when its directory is locked, and writes again.

    otherwise: what can be undone without it if no run has made it, and how, as a sentence.
    """
    if not os.path.exists(path):
        raise _missing(path, kind, None, otherwise)
    check_writable(path)


def named_after() -> str:
    """By which other variables a role finds its directory, if it has them."""
    source, destination = option_name("source"), option_name("destination")
    return "" if source == "source" else f", or {source} and {destination}, after which it is called by default"


def _missing(path: str, kind: str, made_by: str | None, otherwise: str = "") -> InvalidFile:
    folder = os.path.dirname(absolute(path))
    if made_by is not None:
        why, remedy = None, f"correct {path_option()}, or make it with {made_by}"
    elif not os.path.isdir(folder):
        why = f"there is no directory {folder}{meant(folder, (os.path.basename(path),))}"
        remedy = f"correct {path_option()}{named_after()}"
    else:  # a run that finds everything as it should be writes none
        nothing = "offsets" if otherwise else "anything, so that there is nothing to undo"
        why = f"no run in this directory has written {nothing}, or the file is lost"
        kept = kept_copy(path)
        places = " or ".join(filter(None, (kept, "a backup")))
        remedy = f"if it is lost, restore {os.path.basename(path)} from {places}, or correct {path_option()}"
        remedy += f". {otherwise}" if otherwise and not kept else ""
    return FileMissing(f"there is no {kind} file {path}", why=why, remedy=remedy)


def meant(folder: str, names: t.Collection[str]) -> str:
    """For a directory that is not there: the one beside it with a similar name that has such a file, as a question.

    That of the other direction, whose name a role has made of both clusters, comes first.
    """
    above, name = os.path.split(folder)
    exchanged = "-to-".join(reversed(name.split("-to-")))
    with contextlib.suppress(OSError):
        having = [
            sibling
            for sibling in os.listdir(above)
            if any(os.path.exists(os.path.join(above, sibling, file_name)) for file_name in names)
        ]
        if near := [exchanged] if exchanged in having else difflib.get_close_matches(name, having, 1):
            return f" (did you mean {os.path.join(above, near[0])}?)"
    return ""


def kept_copy(path: str) -> str | None:
    """The newest copy of this file that the history has."""
    above, name = os.path.join(os.path.dirname(absolute(path)), history.DIRECTORY), os.path.basename(path)
    with contextlib.suppress(OSError):
        for run in history.newest_first(os.listdir(above)):
            if os.path.exists(kept := os.path.join(above, run, name)):
                return kept
    return None


def lost_receipt(path: str, effect: str = "A new receipt takes back only what this run changes.") -> list[Note]:
    """A note where only the history has the receipt. effect: what the run does without it, as a sentence."""
    if os.path.exists(path) or not (kept := kept_copy(path)):
        return []
    return [Note(NoteKind.RECEIPT_LOST, f"{path} is not there, and {kept} is: copy it to its place. {effect}")]


def check_writable(path: str) -> None:
    """Raise InvalidFile, also in check mode, when write() could not write this file."""
    folder = os.path.dirname(absolute(path))
    if not os.path.isdir(folder):
        raise InvalidFile(f"{path} cannot be written", why=f"{folder} is no directory", remedy="create it")
    if os.path.isdir(path):
        raise InvalidFile(f"{path} cannot be written", why="it is a directory", remedy="give the path of a file")
    if (why := _unwritable(folder)) is not None:
        raise InvalidFile(
            f"{path} cannot be written", why=why, remedy="change its permissions, or use another directory"
        )


def check_replaceable(path: str, *kinds: str) -> None:
    """As check_writable(), for a file that is replaced unread: also where another document is, such as a receipt.

    kinds: of documents that may be there; none for a file of another tool.
    """
    check_writable(path)
    found = documents.kind_of((read_bytes(path) or b"")[:_BEGINNING].decode(errors="replace"))
    if found not in (None, *kinds):
        raise InvalidFile(
            f"{path} cannot be written", why=f"it is a {found} file, which a run may need", remedy="give another path"
        )


def _unwritable(folder: str) -> str | None:
    """Why no file can be made in a directory that is there; None where one can. Only trying tells: root may write anywhere.

    The file has no name where the file system can do that, and is gone at once.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except PermissionError:
        return f"the directory {folder} is not writable for this user"
    except OSError as exc:
        return f"no file can be made in {folder}: {exc.strerror}"


def _another_directory() -> str:
    return f"name another {option_name('directory')}, or let this user write there"


def check_makeable(path: str) -> None:
    """Raise InvalidFile, also in check mode, when the directory of this file cannot be used or made."""
    missing = folder = os.path.dirname(absolute(path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        why, remedy = f"{folder} is no directory", f"name another {option_name('directory')}"
    elif (no_file := _unwritable(folder)) is not None:
        why, remedy = no_file, _another_directory()
    else:
        return
    raise InvalidFile(f"the directory {missing} cannot be used", why=why, remedy=remedy)


def make_directory(folder: str, *, check: bool = False) -> bool:
    """Make a directory and those above it that are missing, for this user alone. -> whether it was missing.

    Raises InvalidFile when it cannot be made; with check, makes nothing.
    """
    if os.path.isdir(folder):
        return False
    check_makeable(os.path.join(folder, lease.FILE))
    missing = []
    above = absolute(folder)
    while not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    with failing(f"the directory {folder} cannot be made", _another_directory()):
        try:
            for directory in () if check else reversed(missing):
                os.mkdir(directory, 0o700)
        except FileExistsError:  # another run was quicker
            return make_directory(folder)
    return True


def write(path: str, text: str | bytes, mode: int = 0o600) -> None:
    """Replace a file at once: after a crash it is the old one or the new one, never a part."""
    folder = os.path.dirname(absolute(path))
    scratch = ""
    try:
        # mkstemp creates with mode 0600.
        descriptor, scratch = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(path)}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode() if isinstance(text, str) else text)
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
        WRITTEN.append(path)
        keep_names(folder)
        _remove_stale(folder, os.path.basename(path))
    except OSError as exc:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        remedy = "correct its permissions, free space, or use another directory"
        raise InvalidFile(f"{path} cannot be written", why=str(exc), remedy=remedy) from exc


def write_document(
    path: str,
    text: str,
    read: t.Callable[[str, str], object] | None,
    *,
    check: bool = False,
    most: int | None = None,
) -> None:
    """As write(), for a file that a later step or run reads. read: its reader, of a text and a path.

    Without a reader, the text is trusted: that of a plan takes as long to read as it took to make, and the next step reads it
    before anything is written to a cluster. most: bytes that it may have, by default MOST_WRITTEN.

    Raises Refused, also with check, which writes nothing, where the reader would call the file damaged, or where it is larger
    than that: what is there stays.
    """
    size = len(text.encode())
    if size > (MOST_WRITTEN if most is None else most):
        raise NotWritten(
            f"{path} was not written",
            why=f"it would have {size:,} bytes, and no run reads what may grow over {LARGEST:,}",
            remedy="select fewer groups at a time, each selection in its own directory",
        )
    try:
        if read is not None:
            read(text, path)
    except InvalidFile as exc:
        raise NotWritten(
            f"{path} was not written",
            why=f"no later run could read it: {exc.why or exc.what}",
            remedy="leave out what is named, and report this as a fault of the collection",
        ) from exc
    if not check:
        write(path, text)


def saver(
    path: str, text: t.Callable[[_Document], str], read: t.Callable[[str, str], object], *, check: bool
) -> t.Callable[[_Document], None] | None:
    """What writes a value to this file as write_document() does, as often as it changes; None with check, which writes nothing.

    text: what makes the file's text of the value.
    """
    return None if check else lambda made: write_document(path, text(made), read)


def _remove_stale(folder: str, name: str) -> None:
    """Remove what killed processes have left of earlier versions of this file."""
    scratch = re.compile(rf"\.{re.escape(name)}\.[a-z0-9_]{{8}}")  # as mkstemp names it
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not scratch.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE_SECONDS:
                os.unlink(entry.path)


def write_new(path: str, content: bytes) -> None:
    """Write a file that is not there, in a directory that nobody reads yet. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)


def remove(path: str) -> None:
    """Remove a file, for good when this returns; one that is not there is what was wanted."""
    with failing(f"{path} cannot be removed", "remove it yourself"), contextlib.suppress(FileNotFoundError):
        os.unlink(path)
        keep_names(os.path.dirname(absolute(path)))


def keep_names(folder: str) -> None:
    """The names of new files are on disk, and survive a power cut, when their directory is; not every file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)


@contextlib.contextmanager
def locked(path: str, run: str | None = None) -> t.Iterator[None]:
    """Hold the directory of a file for this process alone, or raise Locked at once: also where another run has a lease on it.

    The lock is on the directory itself: nothing remains, also when the process is killed. run: see check_lease().
    """
    folder = os.path.dirname(absolute(path))
    with failing(f"{path} cannot be used", f"create the directory {folder}"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        check_lease_on(folder, run)  # before the lock, too: a run that is refused keeps nobody from the lock meanwhile
        # Some network file systems lock no directories.
        with failing(f"{folder} cannot be locked", "use a directory on another file system"):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                raise Locked(
                    f"another run works in {folder} now", why=holder(folder), remedy="wait until it has ended"
                ) from exc
        check_lease_on(folder, run)
        yield
    finally:
        os.close(descriptor)


def check_lease_on(folder: str, run: str | None) -> None:
    """As check_lease(), of the lease that this directory has, if any."""
    path = os.path.join(folder, lease.FILE)
    if (text := read(path)) is not None:
        check_lease(text, path, run)
