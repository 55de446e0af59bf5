"""What waits for answers is answered within a transaction's minute at any speed, and a fast cluster is not held up."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._records.send_window import LEAST, MOST, SendWindow

TRANSACTION = 60.0  # seconds
ROUND_TRIP = 0.03


def simulate(rate, amount, burst=0.0, chunk=64 << 10, change=None):
    """Send an amount in bytes to brokers that take a burst at once, and then so many bytes a second.

    change: (seconds, rate), when the rate becomes another one. -> how long it took, and the longest time that the brokers
    needed for all that waited when a transaction would end.
    """
    window, now, tokens, queue, worst, left = SendWindow(), 0.0, burst, [], 0.0, amount
    taken = 0.0  # when the brokers are done with what was sent so far
    while left or queue:
        while left and window.room > 0:
            size = min(chunk, left, max(1, window.room))
            speed = change[1] if change and now >= change[0] else rate
            free = min(size, tokens)
            tokens -= free
            taken = max(taken, now) + (size - free) / speed
            queue.append((max(taken, now) + ROUND_TRIP, size))
            window.send(size, now)
            left -= size
        worst = max(worst, queue[-1][0] - now)
        now, size = queue.pop(0)
        window.answer(size, now)
    return now, worst, window


@pytest.mark.parametrize("rate", [4e3, 16e3, 256e3, 1e6, 20e6, 200e6])
def test_what_waits_fits_into_a_transaction_also_after_a_burst(rate):
    """A quota lets pass what it holds for eleven seconds, before it holds anything back."""
    _took, worst, _window = simulate(rate, int(rate * 120), burst=11 * rate)
    assert worst < TRANSACTION


@pytest.mark.parametrize("rate", [1e6, 20e6, 400e6])
def test_nothing_is_slower_than_the_brokers(rate):
    amount = int(rate * 30)
    took, _worst, window = simulate(rate, amount)
    assert took < 1.1 * amount / rate + 1
    assert LEAST <= window.size <= MOST


@pytest.mark.parametrize("slow", [20e3, 2e6])
def test_what_waits_shrinks_when_the_brokers_become_slow(slow):
    _took, _worst, window = simulate(50e6, 10**9, change=(10.0, slow))
    assert window.size <= max(LEAST, 4.0 * slow)


def test_small_parts_of_a_window_say_nothing_of_its_size():
    window = SendWindow()
    for second in range(20):
        window.send(10, float(second))
        window.answer(10, second + 0.01)
    assert window.size == LEAST and window.room == LEAST
