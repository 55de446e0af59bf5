# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Write records and the progress of a copy in one transaction, and go on where the one who died has ended.

The order of calls makes it exactly once: init_transactions() ends the transaction of a dead process and fences a frozen one;
only then is the progress final, and is read; what is sent is flushed before progress is committed with it, so that the
offsets that the records got are known.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
import types
import typing as t

from .._model.background import in_time
from .._model.connection import Connection
from .._model.errors import WRITTEN, BrokerError, MigrationError
from .._model.group_state import CommittedOffset
from .._model.records import TopicPartition
from . import refusals
from .confluent_library import KafkaError, KafkaException, Producer
from .confluent_library import TopicPartition as Position
from .consumer_client import client_configuration, unusable_client
from .keepers import Keepers

# While a worker is dead with an open transaction, read_committed consumers of the destination stand still for so long.
TRANSACTION_SECONDS = 60
_WAIT_SECONDS = 60.0  # for a broker's part in a transaction; later, it is aborted anyway
_HANGS_SECONDS = 5.0  # longer than a call was to wait
_LOOK_SECONDS = 1.0
_FIRST_ABORT_SECONDS = 1.0
_ABORT_SECONDS = 10.0
# What calls and records fail with after the error that is the reason.
CONSEQUENCES = (KafkaError._FATAL, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
# Before compression. What a topic takes is the broker's word, and is about compressed batches.
LARGEST_MESSAGE = 100 << 20
FULL_QUEUE_SECONDS = 0.02  # after which a producer whose queue is full is tried again
_SETTINGS = {
    "transaction.timeout.ms": TRANSACTION_SECONDS * 1000,
    "linger.ms": 20,
    "reconnect.backoff.ms": 20,  # see consumer_client.py
    "batch.num.messages": 100_000,
    "message.max.bytes": LARGEST_MESSAGE,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 128 << 10,
    "enable.metrics.push": False,
    "log_level": 0,
}


def producer_configuration(destination: Connection, settings: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """librdkafka's properties of a transactional producer. settings: those of its batches."""
    configuration = {**client_configuration(destination), **_SETTINGS, **settings}
    # librdkafka refuses to wait longer for an answer than a transaction may take, which request_timeout may be.
    longest = min(configuration["socket.timeout.ms"], configuration["transaction.timeout.ms"])
    return {**configuration, "socket.timeout.ms": longest}


class Transactions:
    """One transactional producer, whose transactions commit to the groups of `keepers`. Not begun after opening."""

    def __init__(
        self, keepers: Keepers, transactional_id: str, settings: t.Mapping[str, t.Any] = types.MappingProxyType({})
    ) -> None:
        """Take over from whoever has used this transactional id. Raises NotAuthorized, ConnectionFailed or BrokerError.

        settings: librdkafka's properties for batches.
        """
        self._keepers = keepers
        self._destination = destination = keepers.destination
        self._throttled = throttled = list[float]()  # seconds that quotas have made the open transaction wait
        configuration = producer_configuration(destination, settings)
        # Not a method: a producer that knows this object would not be closed with it.
        told = {"throttle_cb": lambda event: throttled.append(event.throttle_time)}
        configuration |= {"transactional.id": transactional_id, **told}
        try:
            self.producer = Producer(configuration)
        except KafkaException as exc:
            raise unusable_client(destination, exc) from exc
        what = f"{transactional_id} cannot begin"
        # Not connected yet, it would look for its coordinator again only after half a second.
        self._asked(lambda: self.producer.list_topics(timeout=destination.request_timeout), what)
        self._asked(lambda: self.producer.init_transactions(_WAIT_SECONDS), what)

    @property
    def throttled(self) -> int:
        """How many seconds, rounded up, a quota has made this transaction wait at a time."""
        return math.ceil(max(self._throttled, default=0))

    @contextlib.contextmanager
    def transaction(self, failed: t.Sequence[MigrationError | KafkaException] = ()) -> t.Iterator[None]:
        """Begin a transaction, which the body commits, and abort it where anything fails.

        failed: what callbacks note of records. Often a call fails because of a record that was refused, and only the abort has
        told of that; then what was noted is raised.
        """
        try:
            self._throttled.clear()
            self.producer.begin_transaction()
            yield
        except (KafkaException, SystemError) as exc:
            failure = self.failure(exc)
            raise next((reason for reason in failed if isinstance(reason, MigrationError)), failure) from exc
        except BaseException:
            with contextlib.suppress(KafkaException):  # one who was fenced cannot; and the first error counts
                self.abort()
            raise

    def flush(self, failed: t.Sequence[t.Any]) -> None:
        """Return when every record has been answered, or one has failed: those after it are not answered any more."""
        end = time.monotonic() + _WAIT_SECONDS
        while (left := self.producer.flush(_LOOK_SECONDS)) and not failed:
            if time.monotonic() < end:
                continue
            raise BrokerError(
                f"{left:,} records were not acknowledged within {_WAIT_SECONDS:.0f} s",
                cluster=str(self._destination),
                remedy=refusals.unacknowledged(),
            )

    def commit(self, progress: t.Sequence[t.Sequence[tuple[TopicPartition, CommittedOffset]]]) -> None:
        """Commit the transaction with the progress: for each group what it keeps of some partitions."""
        WRITTEN.append("transaction")
        for keeper, commits in zip(self._keepers.consumers, progress, strict=True):
            positions = [Position(*partition, commit.offset, commit.metadata) for partition, commit in commits]
            if positions:
                group = keeper.consumer_group_metadata()
                send = functools.partial(self.producer.send_offsets_to_transaction, positions, group, _WAIT_SECONDS)
                self._answered(send)
        self._answered(functools.partial(self.producer.commit_transaction, _WAIT_SECONDS))

    def failure(self, failed: KafkaException | SystemError) -> MigrationError:
        """Abort, and say why records cannot be written.

        An error that is the client's end often says no more than that, and nothing at all where the client meets it while it
        calls back (a SystemError). The true reason comes with the abort.
        """
        error = failed.args[0] if isinstance(failed, KafkaException) else None
        try:
            self.abort()
        except KafkaException as exc:
            is_fenced = exc.args[0].code() in refusals.FENCED  # whatever a broker has said while another run took over
            if error is None or is_fenced or error.code() in CONSEQUENCES:
                error = exc.args[0]
        if error is None:
            return BrokerError("the client has failed", cluster=str(self._destination), remedy="run again")
        return refusals.unwritten(self._destination, error, "records cannot be written")

    def abort(self) -> None:
        """End a transaction that has failed, so that readers need not wait for its timeout; once more where that takes long.

        librdkafka keeps a batch to send it again if its broker refuses it, because of the one before it, when the abort has
        begun. That abort waits for the batch in vain; the next one drops it.
        """
        try:
            self.producer.abort_transaction(_FIRST_ABORT_SECONDS)
        except KafkaException as exc:
            if exc.args[0].code() != KafkaError._TIMED_OUT:
                raise
            self.producer.abort_transaction(_ABORT_SECONDS)

    def _answered(self, ask: t.Callable[[], t.Any]) -> None:
        """Ask, and raise BrokerError where there is never an answer.

        librdkafka ignores the time that it is given for sending offsets, and may never find a coordinator again that has died
        meanwhile: https://github.com/confluentinc/librdkafka/issues/5456, 5511.
        """
        try:
            in_time(_WAIT_SECONDS + _HANGS_SECONDS, ask)
        except TimeoutError:
            raise BrokerError(
                f"a transaction was not ended within {_WAIT_SECONDS:.0f} s",
                cluster=str(self._destination),
                remedy="see whether its brokers are alive, and run again: the copy goes on where it has ended",
            ) from None

    def _asked(self, ask: t.Callable[[], t.Any], what: str) -> None:
        try:
            ask()
        except KafkaException as exc:
            raise refusals.unwritten(self._destination, exc.args[0], what) from exc
