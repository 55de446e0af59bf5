# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Why a connection or a request failed, in the words of someone who has to cure it."""

from __future__ import annotations

import enum
import re
import typing as t

from .._model.connection import LIMIT_REMEDY, Connection, is_limited
from .._model.errors import BrokerError, ConnectionFailed, MigrationError, NotAuthorized
from .._model.option_names import option_name, ways
from .abilities import Ability, KnownSince
from .kafka_library import errors

KafkaFailure = errors.KafkaError
NotOffered = errors.UnsupportedVersionError
IncompleteAnswer = errors.CorrelationIdError  # retriable


class ErrorCode(enum.IntEnum):
    """Those that something is decided by, by Kafka's names. 0 is no error.

    Source: https://kafka.apache.org/protocol#protocol_error_codes
    """

    UNKNOWN_SERVER_ERROR = -1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    COORDINATOR_LOAD_IN_PROGRESS = 14
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    GROUP_ID_NOT_FOUND = 69
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    UNKNOWN_TOPIC_ID = 100


class _Row(t.NamedTuple):
    """A reason in whose text `pattern` is found: what to say instead of it (None: the text itself), and what to do.

    hopeless: whether the same server would say it again. everywhere: whether every server would.
    """

    pattern: str
    why: str | None
    remedy: str
    hopeless: bool = True
    everywhere: bool = False


_REACHABLE = "check that every broker is reachable under its advertised.listeners"
_PROTOCOL = "set security_protocol to what the listener speaks"
_LOGIN = "check the user name, the password and sasl_mechanism"
_TOKEN = "check the token, or what gives it, and sasl_mechanism"
_LIMIT = _Row("too many connects", None, LIMIT_REMEDY, hopeless=False)
_CLOSED = _Row(
    "socket disconnected",
    "the listener closed the connection at once",
    "check that it is a Kafka listener, and that security_protocol is what it speaks",
    hopeless=False,
)
_DNS = _Row("dns", "the host name cannot be resolved", "check the names in bootstrap_servers", hopeless=False)
_ROWS = (
    _LIMIT,
    _Row("saslauthenticationfailed", None, _LOGIN, everywhere=True),
    _Row("unsupportedsaslmechanism", "the broker does not offer this sasl_mechanism", "set one that it offers"),
    _Row("illegalsaslstate", "the listener does not log anybody in (no SASL)", _PROTOCOL),
    _Row(
        "hostname mismatch|ip address mismatch",
        None,
        "use the names in the broker's certificate, or set ssl_check_hostname to false",
    ),
    _Row(
        "certificate has expired|certificate is not yet valid",
        None,
        "renew the broker's certificate, or correct the clock of this machine",
    ),
    _Row(
        "certificate_verify_failed",
        None,
        "set ssl_cafile or ssl_ca to the authority that signed the brokers' certificates",
    ),
    _Row(
        "alert_bad_certificate",
        "the broker wants a client certificate, or another one",
        "set ssl_certfile and ssl_keyfile",
    ),
    _Row(
        "alert_certificate_expired",
        "the client certificate has expired",
        "renew it, and set ssl_certfile to the new one",
    ),
    _Row(
        "alert_certificate_required",
        "the broker wants a client certificate",
        "set ssl_certfile and ssl_keyfile",
    ),
    _Row(
        "alert_certificate_unknown|alert_unknown_ca",
        "the broker does not know the authority of the client certificate",
        "set ssl_certfile and ssl_keyfile to ones that it knows",
    ),
    _Row("unexpected_eof|wrong_version_number", "the listener does not speak TLS", _PROTOCOL),
    _Row("frame length: 3525", "the listener speaks TLS, the client does not", _PROTOCOL),  # 0x1503: a TLS alert
    _Row(r"\[ssl:", None, "check the TLS options and the listener"),
    _Row(
        "incompatiblebroker",
        "this listener answers no clients (is it a controller's?)",
        "name the brokers' client listeners",
    ),
    _Row("failed to get a token", None, "check the oauth options or aws_region, and the credentials", everywhere=True),
    _Row(
        "econnrefused|connection refused",
        "connection refused",
        "check that a broker listens there",
        hopeless=False,
    ),
    _DNS,
    _CLOSED,
    _Row("timed out|timeout", "no answer", "check addresses, firewalls and security_protocol", hopeless=False),
)


def limits(reason: BaseException) -> bool:
    """Does a broker take no further connection now? Also one that says so by refusing the login."""
    if isinstance(reason, ConnectionFailed):
        return is_limited(reason.why or "")
    return isinstance(reason, errors.SaslAuthenticationFailedError) and is_limited(str(reason))


def hopeless(reason: BaseException) -> bool:
    """Would the next try fail likewise?"""
    row = _row(reason)
    return isinstance(reason, MigrationError) or (row is not None and row.hopeless)


def holds_everywhere(reason: BaseException) -> bool:
    """Would every server of the cluster say the same? More wrong logins may lock the user out."""
    row = _row(reason)
    return isinstance(reason, MigrationError) or (row is not None and row.everywhere)


def refusal(connection: Connection, reasons: t.Sequence[BaseException]) -> MigrationError:
    """The most telling of the reasons, in the order in which they came, as an error.

    A MigrationError among them says why no token can be had: it tells everything. Names that cannot be resolved are told
    beside any other reason: they are the notes of theirs.
    """
    for own in reasons:
        if isinstance(own, MigrationError):
            return own
    rows = [(_row(reason), reason) for reason in reasons]
    # Rows stand in order of how much they tell; the last one of all is the library's own "Unable to bootstrap".
    rank = {row: number for number, row in enumerate(_ROWS)}
    row, reason = min(rows, key=lambda each: rank[each[0]] if each[0] else len(_ROWS))
    if row is None:
        return ConnectionFailed("cannot connect", cluster=str(connection), why=_text(reason))
    login = _TOKEN if connection.sasl_mechanism == "OAUTHBEARER" else _LOGIN
    remedy = login if row.remedy == _LOGIN else row.remedy
    if row is _CLOSED and connection.uses_sasl:  # the reason came with SaslAuthenticate, which Kafka has since 1.0
        remedy += f"; brokers before Kafka 1.0 refuse a login in this way, so {login}, too"
    why = row.why or _text(reason)
    names = {name: None for reason in reasons if _row(reason) is _DNS for name in getattr(reason, "__notes__", ())}
    if names:
        unresolved = " and ".join(f"the host name {name} cannot be resolved" for name in names)
        why = unresolved if row is _DNS else f"{why}; {unresolved}"
    return ConnectionFailed("cannot connect", cluster=str(connection), why=why, remedy=remedy)


def _row(reason: BaseException) -> _Row | None:
    text = f"{type(reason).__name__} {reason}".lower()
    if is_limited(text):
        return _LIMIT
    return next((row for row in _ROWS if re.search(row.pattern, text)), None)


def _text(reason: BaseException) -> str:
    """Without the class names, error numbers and places in OpenSSL's source that libraries put around the reason."""
    text = str(reason)
    text = re.sub(r"\s*\(_ssl\.c:\d+\)", "", text)
    text = re.sub(r"^(\[Error \d+\] )?(\w+Error: )*", "", text)
    text = re.sub(r"^Handshake failed: ", "", text)
    return text.strip() or type(reason).__name__


def error_name(code: int) -> str:
    """The name that Kafka's documentation uses, such as UNKNOWN_MEMBER_ID."""
    return _name(errors.for_code(code))


def broker_words(row: t.Any) -> str:
    """Why the broker has refused it, in its own words, or by Kafka's name where an answer has none."""
    return str(row.error_message or error_name(row.error_code)).rstrip(".")


def as_exception(code: int, *about: str | None) -> KafkaFailure:
    """The error that an answer has reported as a value, to be raised: attempt() begins again where it may pass."""
    error: type[KafkaFailure] = errors.for_code(code)
    return error(*about)


def is_retriable(code: int) -> bool:
    """Kafka's own word of an error that an answer reports."""
    return bool(errors.for_code(code).retriable)


def passes(code: int) -> bool:
    """The same where a topic or a partition may be missing, which Kafka takes for one, because a broker may not know it yet."""
    return code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and is_retriable(code)


def raise_if_it_passes(code: int) -> None:
    """As raise_if_retriable(), but what is missing is no reason to ask again."""
    if passes(code):
        raise as_exception(code)


def raise_if_retriable(code: int) -> None:
    """Answers report errors as values, retriable ones too: these let attempt() begin again."""
    if is_retriable(code):
        raise as_exception(code)


def may_pass(exc: KafkaFailure) -> bool:
    """Kafka's own word, and a partition that has no leader at the moment (the library asks for broker -1 then)."""
    return bool(exc.retriable) or isinstance(exc, errors.UnknownBrokerIdError)


def needed(text: str) -> KnownSince | None:
    """What a request was needed for that the brokers do not offer. text: how the library says so."""
    said = re.search(r"'(\w+)Request'(?:.*client \[(\d+)-(?:.*broker \[\d+-(\d+))?)?", text)
    if said is None:
        return None
    known = [each.value for each in Ability if each.value.request == said[1]]
    lowest, highest = int(said[2] or 0), int(said[3] or -1)
    needs = (need for need in sorted(known, key=lambda need: need.version) if need.version >= lowest)
    return next((need._replace(found=highest) for need in needs), None)


def translated(connection: Connection, exc: KafkaFailure) -> MigrationError:
    """What a user is told about an error that nobody nearer to it has explained.

    Kafka's REQUEST_TIMED_OUT is a broker's answer without a text; with one, the library has waited in vain.
    """
    if isinstance(exc, errors.SaslAuthenticationFailedError):
        return refusal(connection, [exc])
    if isinstance(exc, NotOffered) and (need := needed(str(exc))):
        return need.refusal(str(connection))
    kind: type[MigrationError] = ConnectionFailed
    row = _row(exc)
    why: str | None = _named(exc)
    remedy: str | None = _REACHABLE
    if isinstance(exc, NotOffered):
        kind, what = BrokerError, "the brokers do not offer a request that is needed"
        remedy = "upgrade them, or see what older brokers cannot do"
    elif isinstance(exc, errors.AuthorizationError):
        kind, what = NotAuthorized, "the broker denies it"
        remedy = "grant the ACL to the user of this cluster"
    elif isinstance(exc, errors.KafkaTimeoutError) or (isinstance(exc, errors.RequestTimedOutError) and exc.args):
        what, why = "a broker does not answer", str(exc.args[0]) if exc.args else None
        remedy = f"{_REACHABLE}; if it is slow, raise request_timeout"
    elif isinstance(exc, errors.KafkaConnectionError | errors.NodeNotReadyError):
        what = "the connection was lost and did not come back"
        if row is not None and row.hopeless:  # a certificate, say, which is that of one broker
            told = refusal(connection, [exc])
            what, why, remedy = "cannot connect to one of the brokers", told.why, told.remedy
    elif isinstance(exc, errors.LeaderNotAvailableError) and exc.args:
        kind, what, why = BrokerError, "no broker leads partitions that are needed", str(exc.args[0])
        remedy = ways(
            ("", "start the brokers that have their replicas"),
            ("exclude_topic_patterns", f"leave the topics out by {option_name('exclude_topic_patterns')}"),
        )
    elif isinstance(exc, errors.InvalidReceiveError):
        what = "what answers at an address that the brokers advertise does not speak as expected"
        why = (row and row.why) or why
        remedy = (
            "check that advertised.listeners has addresses of Kafka listeners, and that they speak security_protocol"
        )
    elif isinstance(exc, errors.KafkaProtocolError):
        kind, what = BrokerError, "the broker's answer cannot be read"
        remedy = "see whether the name of a group or a client, or metadata, is not UTF-8"
    else:  # others are the client's own
        kind = BrokerError
        what = "the broker refused" if isinstance(exc, errors.BrokerResponseError) else "the request failed"
        remedy = "see what the brokers' logs say of it, and run again"
    return kind(what, cluster=str(connection), why=why, remedy=remedy)


def _named(exc: KafkaFailure) -> str:
    return _name(type(exc)) + (f" ({exc.args[0]})" if exc.args and exc.args[0] else "")


def _name(error: type[KafkaFailure]) -> str:
    return str(getattr(error, "message", None) or error.__name__)


class HeldBack(Exception):
    """A quota on changes of topics (KIP-599) has held back a part of what was asked; everything else has been answered.

    first: a topic that was held back. seconds: how long the broker wants to be left alone. progress: whether it has
    taken anything.
    """

    def __init__(self, first: str, seconds: float, progress: bool) -> None:
        super().__init__(first)
        self.first, self.seconds, self.progress = first, seconds, progress

    def told(self, connection: Connection) -> BrokerError:
        """What a user is told when time is up."""
        return BrokerError(
            "a quota of the cluster, controller_mutation_rate, takes no more changes of topics",
            cluster=str(connection),
            topic=self.first,
            why=f"the brokers ask to wait {self.seconds:.1f} s, and took nothing more after that",
            remedy="raise controller_mutation_rate of this user or client id (kafka-configs --entity-type users or clients) "
            "and run again: what was made stays, and only what is left is asked for",
        )


def not_held_back(rows: t.Sequence[t.Any], answer: t.Any) -> t.Iterator[tuple[str, t.Any]]:
    """By topic those of the rows of an answer that the quota has let pass. HeldBack is raised after them."""
    yield from ((row.name, row) for row in rows if row.error_code != ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    raise_if_held_back({row.name: row.error_code for row in rows}, answer)


def raise_if_held_back(codes: t.Mapping[str, int], answer: t.Any) -> None:
    """Raise HeldBack where an answer has this error for a topic; codes: by topic."""
    held = [name for name, code in codes.items() if code == ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    if held:
        raise HeldBack(held[0], answer.throttle_time_ms / 1000, len(held) < len(codes))
