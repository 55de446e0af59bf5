# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Variables of a play, as look-ups read them."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleValueOmittedError
from ansible.template import Templar


class Templated(t.Mapping[str, t.Any]):
    """Variables whose values are worked out when they are read. One that a role has been given as "omit" is none."""

    def __init__(self, variables: t.Mapping[str, t.Any], templar: Templar) -> None:
        self._variables = variables
        self._templar = templar

    def __getitem__(self, name: str) -> t.Any:
        if name == "hostvars":  # each host works out its own when they are read
            return self._variables[name]
        try:
            return self._templar.template(self._variables[name])
        except AnsibleValueOmittedError as exc:
            raise KeyError(name) from exc

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> t.Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)
