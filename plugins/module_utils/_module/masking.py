# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a module shows of its own options: no value that may be a secret, wherever the user has put it.

Ansible masks the values of options with no_log, and nothing else: not an option that it does not know, not a property in a
dictionary, not a password in an address. no_log for a whole dictionary would mask every offset that equals one of its values.
"""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from .._model.addresses import HIDDEN, masked, masked_server
from .._model.client_config import is_harmless
from .._model.connection import may_be_shown
from .._model.option_names import own_paths
from .._model.visible_text import visible

_ADDRESSES = frozenset({"archives", "bootstrap_servers", "master", "oauth_token_url", "url"})
_PROPERTIES = frozenset({"client_config", "conf"})
_TEXTS = frozenset(
    {"headline", "left_out", "misplaced", "not_exact", "notes", "problems", "reason", "summary", "topics"}
)
_SECRET_PARAMETERS = re.compile(r";(?!(?:use_ssl|user_id|user_agent|session_id)=)[^;=]*=([^;]+)")
_SHORT = 6  # characters: a shorter text is a part of too many words
_Json = t.Any


def for_people(result: t.Mapping[str, _Json]) -> dict[str, _Json]:
    """The result with all characters of its texts for people visible. Names of entries and lists of names stay exact."""
    return {name: _made_visible(value) if name in _TEXTS else value for name, value in result.items()}


def _made_visible(value: _Json) -> _Json:
    if isinstance(value, list):
        return [shown_text(each) if isinstance(each, str) else each for each in value]
    return shown_text(value) if isinstance(value, str) else value


def shown_text(text: str) -> str:
    """A text for people, with the paths of their files and all characters visible."""
    return visible(own_paths(text))


def shown(params: t.Mapping[str, _Json], spec: t.Mapping[str, _Json]) -> dict[str, _Json]:
    """The options as they may be shown, by the argument spec that they should follow."""
    return {name: _shown(name, value, options_of(spec).get(name)) for name, value in params.items()}


def hidden(params: t.Mapping[str, _Json], spec: t.Mapping[str, _Json]) -> set[str]:
    """The texts that shown() does not show and that a message could quote; numbers may be anything else as well.

    Also the values in the address of a Spark Connect server by themselves, as its client uses them, but for those that are no
    secrets.
    """
    visible = set(_texts(shown(params, spec)))
    texts = set(_texts(params)) - visible
    values = {value for text in texts for value in _SECRET_PARAMETERS.findall(text) if text.startswith("sc://")}
    texts |= (values | set(map(urllib.parse.unquote, values))) - visible
    return {text for text in texts if len(text) >= _SHORT and not text.isdigit()}


def options_of(spec: t.Mapping[str, _Json]) -> dict[str, _Json]:
    """Each option of a spec by its name and by its aliases."""
    return {name: option for first, option in spec.items() for name in (first, *option.get("aliases", ()))}


def _shown(name: str, value: _Json, option: t.Mapping[str, _Json] | None) -> _Json:
    if value is None:
        return None
    if option is None or option.get("no_log"):
        return HIDDEN
    if option.get("options"):
        rows = value if isinstance(value, list) else [value]
        made = [shown(row, option["options"]) if isinstance(row, dict) else HIDDEN for row in rows]
        return made if isinstance(value, list) else made[0]
    if isinstance(value, str) and not may_be_shown(name, value):
        return HIDDEN
    if name in _PROPERTIES:
        return _properties(value)
    if name in _ADDRESSES:
        mask = _servers if name == "bootstrap_servers" else masked
        return [_address(address, mask) for address in value] if isinstance(value, list) else _address(value, mask)
    # A dictionary in place of a text is something else that the user has misplaced; so is a key in place of a certificate.
    is_misplaced = isinstance(value, dict) and option.get("type") != "dict"
    return HIDDEN if is_misplaced or (isinstance(value, str) and "PRIVATE KEY-----" in value) else value


def _properties(value: _Json) -> _Json:
    if not isinstance(value, dict):
        return HIDDEN
    return {
        name: setting if is_harmless(str(name)) and not isinstance(setting, dict | list) else HIDDEN
        for name, setting in value.items()
    }


def _address(value: _Json, mask: t.Callable[[str], str]) -> str:
    return mask(value) if isinstance(value, str) else HIDDEN


def _servers(text: str) -> str:
    return ",".join(map(masked_server, text.split(",")))


def _texts(value: _Json) -> t.Iterator[str]:
    """The texts in a value, but for the names of options."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for member in value:
            yield from _texts(member)
    elif isinstance(value, str):
        yield value
