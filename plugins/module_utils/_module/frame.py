# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""`Module`, which every module is: libraries are checked first, errors are told in one line, and no secret is shown."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
import traceback
import typing as t

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.errors import UnsupportedError

from .._model.addresses import HIDDEN
from .._model.errors import WRITTEN, MigrationError, RequirementMissing
from .._model.missing import CONTROL, RECORDS, unmet
from .._model.notes import Note, NoteKind
from .._model.open_clients import keeping
from .._model.option_names import set_variables
from .._model.progress import Say, hear_waits, silent
from .masking import for_people, hidden, shown, shown_text
from .results import note_results

# What every module needs; those that use Spark say what more they need.
REQUIREMENTS = tuple(sorted(CONTROL + RECORDS))

# Records and entries are kept by the hundred thousand, and hold no cycles: a tenth of the time would go into looking at 100,000
# already, a fifth with Python's 700. A connection leaves 340 objects in cycles, a request none.
COLLECTED_AT = 1_000_000  # new objects

# The options of every module, beside its own.
COMMON_SPEC = {"option_names": {"type": "dict"}}


class Module(AnsibleModule):
    """An AnsibleModule whose results, refusals and log show `shown()` of its options; no message holds a secret.

    Its messages name what the user sets: see _model/option_names.py. closing: the last line of whatever it fails with, if any.
    say: tells how far the work is; see reporter().
    """

    closing = ""

    def __init__(self, argument_spec: dict[str, t.Any], **settings: t.Any) -> None:
        spec = {**argument_spec, **COMMON_SPEC}
        super().__init__(argument_spec=spec, supports_check_mode=True, **settings)  # type: ignore[no-untyped-call]
        set_variables(self.params.pop("option_names", None))

    def run(self, main: t.Callable[[Module], dict[str, t.Any]]) -> t.NoReturn:
        """Call main(self) for the module's result, and end the module with it."""
        if problems := unmet(REQUIREMENTS):
            self.fail_json(
                msg=f"{', '.join(problems)} for {sys.executable}. Install the collection's requirements there "
                "(pip install -r requirements.txt), or set ansible_python_interpreter to a Python that has them.",
                failure=RequirementMissing("").place(),
            )
        gc.set_threshold(COLLECTED_AT)
        WRITTEN.clear()
        self.say = reporter(self.params.get("progress_file"))
        hear_waits(self.say)
        try:
            with keeping():
                result = main(self)
        except MigrationError as exc:
            changed = {"changed": True} if WRITTEN else {}
            self.fail_json(msg=str(exc), failure=exc.place(), **changed, **exc.result)
        self.exit_json(**result)

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        """As Ansible's."""
        super().exit_json(**self._with_invocation(for_people(result)))

    def fail_json(self, msg: str, **result: t.Any) -> t.NoReturn:
        """As Ansible's, which also calls it for the options that it refuses itself."""
        msg = "\n".join(filter(None, [msg, *self._further_refusals(), self.closing]))
        msg = "\n".join(map(shown_text, self._masked(msg).split("\n")))
        # Ansible shows a traceback only where the user has asked for it, and would make it of the exception, which holds the
        # message as it was.
        result.pop("exception", None)
        exc = sys.exception()
        trace = traceback.format_exception(exc) if exc else _own_stack()
        super().fail_json(msg, exception=self._masked("".join(trace)), **self._with_invocation(for_people(result)))

    def _masked(self, text: str) -> str:
        """Without what shown() does not show of the options."""
        for value in sorted(hidden(self.params, self.argument_spec), key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return text

    def _further_refusals(self) -> list[str]:
        """What Ansible refuses of the options, but for the first: it says that one alone."""
        refused = getattr(self, "validation_result", None)  # not there when not even the options can be read
        return [
            f"Unsupported parameters: {error.msg}" if isinstance(error, UnsupportedError) else error.msg
            for error in (refused.errors[1:] if refused else ())
        ]

    def warn(self, warning: str, **more: t.Any) -> None:
        """As Ansible's."""
        super().warn(shown_text(warning), **more)

    def warned(self, notes: t.Iterable[Note], in_summary: t.Container[NoteKind] = ()) -> dict[str, list[str]]:
        """As note_results(), where each note is a warning, too. It begins with its kind, as in docs/troubleshooting.md.

        in_summary: kinds of which the summary of the same result tells each entry, so that a warning would say it again.
        """
        told = list(notes)
        for note in told:
            if note.kind not in in_summary:
                self.warn(f"{note.kind.value}: {note.text}")
        return note_results(told)

    def _with_invocation(self, result: dict[str, t.Any]) -> dict[str, t.Any]:
        return {"invocation": {"module_args": shown(self.params, self.argument_spec)}, **result}

    def _log_invocation(self) -> None:
        params = self.params
        self.params = shown(params, self.argument_spec)
        try:
            super()._log_invocation()  # type: ignore[no-untyped-call]
        finally:
            self.params = params


def _own_stack() -> list[str]:
    """The stack from the module's own first line on: what starts a module may have all of its options in a line."""
    own = "/streamshift/kafka/plugins/"
    return traceback.format_list(itertools.dropwhile(lambda frame: own not in frame[0], traceback.extract_stack()))


def reporter(path: str | None) -> Say:
    """Append each line of a module's progress to this file at once; without one, or where it cannot be written, say nothing.

    The option: plugins/doc_fragments/_progress.py. The reading end: plugins/plugin_utils/_progress.py.
    """
    if path is None:
        return silent

    def without_waiting(path: str, flags: int) -> int:
        """A pipe that nobody reads would be waited for."""
        return os.open(path, flags | os.O_NONBLOCK, 0o666)

    def say(line: str) -> None:
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8", opener=without_waiting) as file:
            file.write(shown_text(line.replace("\n", " ")) + "\n")

    return say
