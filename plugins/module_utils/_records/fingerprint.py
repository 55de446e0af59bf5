# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a record is recognised by."""

from __future__ import annotations

import struct
import typing as t

from .._model.match_on import FINGERPRINTED
from .confluent_library import xxh3_128_digest

Headers: t.TypeAlias = "t.Sequence[tuple[str, bytes | None]]"

_number = struct.Struct("<i").pack
_two_numbers = struct.Struct("<ii").pack
_NULL = _number(-1)
_NULL_KEY = _two_numbers(0, -1)


def fingerprint(
    key: bytes | None, value: bytes | None, headers: Headers | None, parts: t.Collection[str] = FINGERPRINTED
) -> tuple[bytes, bytes]:
    """(of everything, of everything but the headers), 16 bytes each; the same twice for a record without headers.

    The fingerprint is XXH3, 128 bits, big-endian, of
    `number of headers, key, value, name and value of each header in order`,
    where a number is 4 bytes, signed, little-endian, and every other field is its length as such a number followed by
    its bytes; names are UTF-8. Null is the length -1 without bytes, so that it differs from empty, and no boundary can
    shift. No headers and an empty list of headers are the same. parts: what of the record counts; the rest is as null.
    """
    if parts is not FINGERPRINTED:
        key = key if "key" in parts else None
        value = value if "value" in parts else None
        headers = headers if "headers" in parts else None
    bare = plain_fingerprint(key, value)
    if not headers:
        return bare, bare
    framed = [_number(len(headers)), _field(key), _field(value)]
    for name, content in headers:
        framed += [_field(name.encode()), _field(content)]
    return xxh3_128_digest(b"".join(framed)), bare


def plain_fingerprint(key: bytes | None, value: bytes | None) -> bytes:
    """The fingerprint of a record without headers: of nearly all records, and so with as few steps as can be."""
    return xxh3_128_digest(
        (_NULL_KEY if key is None else _two_numbers(0, len(key)) + key)
        + (_NULL if value is None else _number(len(value)) + value)
    )


def _field(content: bytes | None) -> bytes:
    return _NULL if content is None else _number(len(content)) + content
