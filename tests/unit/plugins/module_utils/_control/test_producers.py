"""Where a group keeps its offsets is computed as Kafka does; what Java's String.hashCode() gives is written here."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.producers import offsets_partition


@pytest.mark.parametrize(
    ("group", "code"),
    [
        ("", 0),
        ("a", 97),
        ("billing", -109829509),
        ("polygenelubricants", -(1 << 31)),  # Utils.abs() makes 0 of it
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_the_partition_of_a_group(group, code):
    expected = 0 if code == -(1 << 31) else abs(code) % 50
    assert offsets_partition(group, 50) == expected
