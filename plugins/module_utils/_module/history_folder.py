# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Keeps the files of a run in a folder of its own. A folder appears whole, and goes whole, whenever the process is killed."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import shutil
import tempfile
import typing as t

from .._model import history
from . import files


class Kept(t.NamedTuple):
    """The folder of a run, None where there was no file to keep; its files; the names of the folders that are removed."""

    folder: str | None
    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def keep_files(
    directory: str,
    names: t.Iterable[str],
    run: str,
    phase: str,
    keep: int,
    now: datetime.datetime,
    *,
    failed: bool,
    check: bool,
) -> Kept:
    """Copy those of the files that are there, and remove the folders that are too many. With check, change nothing.

    run: the text of run.json, which is kept beside them, as are the checksums of all. failed: the run has failed; its folder
    says so, unless the run has written something before. The caller holds the directory. Raises InvalidInput for what is no
    phase, and InvalidFile for what cannot be read, written or removed: a new folder is then there as a whole or not at all.
    """
    above = os.path.join(directory, history.DIRECTORY)
    present = _present(above)
    contents = {
        file_name: content
        for file_name in names
        if (content := files.read_bytes(os.path.join(directory, file_name))) is not None
    }
    name = history.folder_name(now, phase, present, failed=failed and not has_new_receipt(directory))
    if not contents:
        return Kept(None)
    contents[history.RUN] = run.encode()
    # What `sha256sum -c` reads.
    sums = [f"{hashlib.sha256(content).hexdigest()}  {file_name}\n" for file_name, content in contents.items()]
    contents[history.CHECKSUMS] = "".join(sums).encode()
    folder = os.path.join(above, name)
    gone = history.outlived(present, name, keep)
    if not check:
        with files.failing(
            f"the files of this run cannot be kept in {folder}", "free space, or correct the permissions"
        ):
            _make(above, name, contents)
        with files.failing(
            f"the files of this run are kept in {folder}, but older ones cannot be removed", "remove them yourself"
        ):
            _remove(above, gone)
    return Kept(folder, tuple(contents), tuple(gone))


def _present(above: str) -> list[str]:
    with files.failing(f"{above} cannot be used", "make it a directory of this user, or remove it"):
        if os.path.islink(above):  # it may lead anywhere
            raise NotADirectoryError("it is a symbolic link")
        try:
            return os.listdir(above)
        except FileNotFoundError:
            return []


def has_new_receipt(directory: str) -> bool:
    """Whether a receipt is another one than in the newest folder that has it: every first write comes after its receipt.

    A receipt that no run has kept yet is another one, too.
    """
    above = os.path.join(directory, history.DIRECTORY)
    folders = history.newest_first(_present(above))
    for file_name in history.RECEIPTS:
        content = files.read_bytes(os.path.join(directory, file_name))
        kept = (files.read_bytes(os.path.join(above, folder, file_name)) for folder in folders)
        if content is not None and next((other for other in kept if other is not None), None) != content:
            return True
    return False


def _make(above: str, name: str, contents: t.Mapping[str, bytes]) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(above, 0o700)
    _remove_leftovers(above)
    scratch = tempfile.mkdtemp(dir=above, prefix=f".{name}.")  # with mode 0700
    try:
        for file_name, content in contents.items():
            files.write_new(os.path.join(scratch, file_name), content)
        files.keep_names(scratch)
        os.rename(scratch, os.path.join(above, name))
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    files.keep_names(above)


def _remove(above: str, gone: t.Iterable[str]) -> None:
    """Under another name first: a folder that is removed in part would look like a whole one."""
    for name in gone:
        leaving = os.path.join(above, f".{name}.leaving")
        os.rename(os.path.join(above, name), leaving)
        shutil.rmtree(leaving)


def _remove_leftovers(above: str) -> None:
    """Remove what killed processes have left half made or half removed: nobody else works in a directory that is held."""
    for name in os.listdir(above):
        hidden = name.removeprefix(".").partition(".")[0]
        if name.startswith(".") and history.is_folder_name(hidden):
            shutil.rmtree(os.path.join(above, name), ignore_errors=True)
