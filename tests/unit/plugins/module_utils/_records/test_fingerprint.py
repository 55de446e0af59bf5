"""Two records have the same fingerprint when they are the same, and only then."""

import struct

import pytest
import xxhash
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import fingerprint

content = st.none() | st.binary(max_size=4)
headers = st.none() | st.lists(st.tuples(st.text(max_size=2), content), max_size=3)
records = st.tuples(content, content, headers)


@given(records, records)
def test_distinct_records_have_distinct_fingerprints(one, other):
    assume((one[0], one[1], one[2] or []) != (other[0], other[1], other[2] or []))
    assert fingerprint(*one)[0] != fingerprint(*other)[0]


@given(records)
def test_the_bare_one_is_that_of_the_record_without_headers(record):
    key, value, _headers = record
    digest, bare = fingerprint(*record)
    assert bare == fingerprint(key, value, None)[0] == fingerprint(key, value, [])[0]
    assert (digest == bare) == (not record[2])
    assert len(digest) == len(bare) == 16


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((None, b"v", None), (b"", b"v", None)),
        ((b"k", None, None), (b"k", b"", None)),
        ((b"ab", b"c", None), (b"a", b"bc", None)),
        ((b"k", b"v", [("a", None)]), (b"k", b"v", [("a", b"")])),
        ((b"k", b"v", [("a", b"1"), ("b", b"2")]), (b"k", b"v", [("b", b"2"), ("a", b"1")])),
        ((b"k", b"v", [("a", b"1")]), (b"k", b"v", [("a", b"1"), ("a", b"1")])),
        ((b"k", b"v", [("ab", b"c")]), (b"k", b"v", [("a", b"bc")])),
    ],
)
def test_null_is_not_empty_boundaries_do_not_shift_and_the_order_of_headers_counts(one, other):
    assert fingerprint(*one)[0] != fingerprint(*other)[0]


def test_the_format_is_the_documented_one():
    def field(content):
        return struct.pack("<i", -1) if content is None else struct.pack("<i", len(content)) + content

    framed = struct.pack("<i", 2) + b"".join(map(field, (None, b"v", "ä".encode(), b"", b"b", None)))
    assert fingerprint(None, b"v", [("ä", b""), ("b", None)])[0] == xxhash.xxh3_128(framed).digest()
    plain = struct.pack("<i", 0) + field(b"k") + field(b"value")
    assert fingerprint(b"k", b"value", None)[0] == xxhash.xxh3_128(plain).digest()


@given(records, records)
def test_what_does_not_count_makes_no_difference(one, other):
    key, _value, _headers = one
    assert fingerprint(*one, ["key"]) == fingerprint(key, *other[1:], ["key"])
    assert fingerprint(*one, ("key", "value"))[0] == fingerprint(*one)[1]
