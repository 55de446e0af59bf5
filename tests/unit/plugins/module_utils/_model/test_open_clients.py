"""Clients that stay connected: who gets which, and what becomes of those that failed or were idle for long."""

import contextlib
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import open_clients
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import OpenClients, keeping


class Client:
    def __init__(self, key: str) -> None:
        self.key, self.closed = key, False


@pytest.fixture(name="clients")
def fixture_clients(monkeypatch: pytest.MonkeyPatch) -> OpenClients[str, Client]:
    monkeypatch.setattr(open_clients, "_KINDS", [])
    return OpenClients(lambda client: setattr(client, "closed", True))


def use(clients: OpenClients[str, Client], key: str = "source") -> Client:
    with clients.lent(key, Client) as (client, _used):
        assert not client.closed
    return client


def test_a_client_is_used_again_for_the_same_cluster_and_closed_in_the_end(clients: OpenClients[str, Client]) -> None:
    with keeping():
        first, other, again = use(clients), use(clients, "destination"), use(clients)
        assert first is again
        assert other.key == "destination"
        with clients.lent("source", Client) as (_client, used):
            assert used
    assert first.closed
    assert other.closed


def test_outside_of_a_module_nothing_is_kept(clients: OpenClients[str, Client]) -> None:
    assert use(clients).closed


def test_two_at_the_same_time_get_two(clients: OpenClients[str, Client]) -> None:
    with keeping(), clients.lent("source", Client) as (first, _), clients.lent("source", Client) as (second, _):
        assert first is not second


def test_a_client_that_is_shared_is_closed_when_its_last_user_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_clients, "_KINDS", [])
    clients: OpenClients[str, Client] = OpenClients(lambda client: setattr(client, "closed", True), shared=True)
    with keeping():
        with clients.lent("source", Client) as (first, _):
            with pytest.raises(ConnectionError), clients.lent("source", Client) as (second, used):
                assert used
                assert first is second
                raise ConnectionError
            assert not first.closed  # its answers may still come
            assert use(clients) is not first  # but nobody begins anything with it
        assert first.closed


def test_whoever_leaves_while_others_are_closed_closes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_clients, "_KINDS", [])
    users, closed = contextlib.ExitStack(), list[Client]()

    def close(client: Client) -> None:
        closed.append(client)
        users.close()

    clients: OpenClients[str, Client] = OpenClients(close)
    with keeping():
        with clients.lent("source", Client) as (idle, _):
            busy, _used = users.enter_context(clients.lent("source", Client))
        clients.close("source")
    assert closed == [idle, busy]


def test_after_a_failure_everything_of_this_cluster_is_connected_anew(clients: OpenClients[str, Client]) -> None:
    with keeping():
        other = use(clients, "destination")
        with clients.lent("source", Client) as (first, _), clients.lent("source", Client) as (second, _):
            pass
        with pytest.raises(ConnectionError), clients.lent("source", Client):
            raise ConnectionError
        assert first.closed
        assert second.closed
        assert use(clients) not in (first, second)
        assert use(clients, "destination") is other


def test_a_connection_that_may_have_been_forgotten_is_not_used(
    clients: OpenClients[str, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(open_clients.time, "monotonic", lambda: now[0])
    with keeping():
        first = use(clients)
        now[0] += open_clients.IDLE_SECONDS + 1
        second: t.Any = use(clients)
    assert first.closed
    assert second is not first


def test_a_client_that_was_made_ahead_is_the_one_that_is_used(clients: OpenClients[str, Client]) -> None:
    with keeping():
        clients.keep("source", Client)
        clients.keep("source", lambda _key: pytest.fail("one waits already"))
        with clients.lent("source", lambda _key: pytest.fail("one waits already")) as (client, used):
            assert used
    assert client.closed


def test_nothing_is_made_ahead_that_would_not_be_kept(clients: OpenClients[str, Client]) -> None:
    clients.keep("source", lambda _key: pytest.fail("nobody would close it"))
