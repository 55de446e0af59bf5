# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""End a run: its report, its files in the history, and the directory, which the next run may have."""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib.metadata
import os
import platform
import shutil
import time
import typing as t

from ansible.module_utils.ansible_release import __version__ as ansible_version

from .._control.admin_client import BROKER_VERSIONS
from .._model import history, run_record
from .._model import lease as file
from .._model.errors import NOTHING_WRITTEN, InvalidInput, Locked, MigrationError
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name
from . import files
from .history_folder import Kept, has_new_receipt, keep_files
from .migration_directory import is_in_doubt
from .report_writing import write_report
from .run_begin import SCRATCH, lease_of_run
from .run_outcome import RunOutcome
from .status_files import write_failure

if t.TYPE_CHECKING:
    from .frame import Module

_LIBRARIES = ("kafka-python", "confluent-kafka", "pyspark")
_NO_REPORT = {"html": None, "markdown": None, "headline": None}


def end_run(module: Module, outcome: RunOutcome) -> dict[str, t.Any]:
    """-> the module's result. Whatever becomes of the report and of the history, the run ends as it would without them.

    Where another run holds the directory, writes nothing. Raises InvalidInput for a negative keep, what is no phase, and a
    scratch that no run has made.
    """
    params = module.params
    has_scratch = params["scratch"] is not None and params["scratch"].endswith(SCRATCH)
    folder = files.absolute(params["directory"])
    run = lease_of_run(params).run
    made = functools.cache(functools.partial(run_record_of, module, outcome, time.time()))
    said = [NOTHING_WRITTEN] if outcome.failed and outcome.has_written_nothing else []
    report: dict[str, t.Any] = _NO_REPORT
    kept = Kept(None)
    notes: list[Note] = []
    try:
        if params["scratch"] is not None and not has_scratch:
            raise InvalidInput(
                f"{option_name('scratch')} is {params['scratch']}, which no run has made",
                remedy="give what the begin of the run has returned",
            )
        if params["keep"] < 0:
            raise InvalidInput(f"{option_name('keep')} is {params['keep']}", remedy="give 0, to keep nothing, or more")
        history.folder_name(datetime.datetime.now(datetime.UTC), outcome.phase, ())  # whether it is a phase
        if (params["report"] or params["keep"]) and os.path.isdir(folder) and not _is_of_another(folder, run):
            try:
                with files.locked(os.path.join(folder, history.FILES[0]), run):
                    if params["report"]:
                        with _telling(said, "No report was written"):
                            report = write_report(module, outcome, made)
                            said.append(f"Report: {report['html']}")
                    if params["keep"]:
                        missing = "Warning: this run is missing from the history, and otherwise ends as usual"
                        with _telling(said, missing, f" To keep no history, set {option_name('keep')} to 0."):
                            is_round = outcome.phase in history.ROUND_PHASES
                            # By its folder, the status knows that what an earlier run has failed to read back is as planned.
                            settles = not is_round and made().has_read_back and is_in_doubt(folder)
                            # One that was killed after its writes has kept nothing, and this one may find nothing to do.
                            if settles or outcome.is_worth_keeping or (not is_round and has_new_receipt(folder)):
                                kept = keep_files(
                                    folder,
                                    history.FILES + (history.REPORT_FILES if report["html"] else ()),
                                    run_record.to_json(made()),
                                    outcome.phase,
                                    params["keep"],
                                    datetime.datetime.now(datetime.UTC),
                                    failed=outcome.failed and not settles,
                                    check=module.check_mode,
                                )
            except Locked as exc:
                said.append(f"Warning: this run has neither a report nor a history: {exc}")
        if outcome.failure is not None and (params["status"] or params["metrics"]):
            reason = outcome.failure["msg"] or "the round has failed"
            notes += write_failure(module, outcome.phase, reason, outcome.committed.get("written", 0))
    finally:  # also after a failure, because the lease would hold the directory as long as the playbook runs
        if has_scratch:
            shutil.rmtree(params["scratch"], ignore_errors=True)
        released = params["release"] and _release(folder, run, notes, check=module.check_mode)
    return {
        "changed": False,  # nothing depends on what this writes
        **{name: params[name] for name in ("role", "phase", "source", "destination", "directory")},
        "dry_run": module.check_mode,
        **outcome.told(),
        **{name: report[name] for name in _NO_REPORT},
        "folder": kept.folder,
        "kept": list(kept.files),
        "removed": list(kept.removed),
        "released": released,
        "said": said,
        "has_news": outcome.has_news,
        **module.warned(notes),
    }


def _is_of_another(folder: str, run: str) -> bool:
    """Whether another run holds the directory: the begin of this one has said so, and nothing is written there."""
    try:
        files.check_lease_on(folder, run)
    except Locked:
        return True
    return False


def run_record_of(module: Module, outcome: RunOutcome, ended: float) -> run_record.RunRecord:
    """What is noted of the run. ended: Unix time in seconds. It has started when a round did, or when it took the directory."""
    started = module.params["started"]
    with contextlib.suppress(OSError):
        started = started or os.stat(os.path.join(module.params["directory"], file.FILE)).st_mtime
    begun = None if started is None else round(started, 3)
    refused = bool(module.params["refusal"])
    return outcome.record(module.params["role"], begun, round(ended, 3), versions(module), refused=refused)


def versions(module: Module) -> dict[str, str]:
    """The versions of programs, and of the brokers that this process has asked, as far as they are known."""
    by_program = {"streamshift.kafka": module.params["collection"]} if module.params["collection"] else {}
    by_program |= {"ansible-core": ansible_version, "Python": platform.python_version()}
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            by_program[name] = importlib.metadata.version(name)
    return by_program | {f"brokers of the {name}": version for name, version in sorted(BROKER_VERSIONS.items())}


@contextlib.contextmanager
def _telling(said: list[str], what: str, remedy: str = "") -> t.Iterator[None]:
    """Let the run end as it would without this, which may fail, and say why it is missing."""
    try:
        yield
    except MigrationError as exc:
        said.append(f"{what}: {exc}{remedy}")


def _release(directory: str, run: str, notes: list[Note], *, check: bool) -> bool:
    """Remove the lease of this run, or note why it stays. -> whether it is gone.

    Another run's stays, and a task that has outlived its run holds it up for nobody. run: file.Lease.run of this run.
    """
    path = os.path.join(directory, file.FILE)
    text = files.read(path)
    if text is None or file.from_json(text, path).run != run or check:
        return False
    try:
        with files.locked(path, run):
            files.remove(path)
    except Locked as exc:
        notes.append(Note(NoteKind.LEASE_STAYS, f"{exc} The directory is held until this run ends."))
        return False
    return True
