"""Two clusters that a run may break: a source with one broker, a destination with three, and proxies before every broker."""

import contextlib
import os
import signal
import typing as t
from pathlib import Path

from testbed.clients import ClientError, partitions_everywhere, until
from testbed.sandbox import alive, end, start, stop
from tests.faults.proxy import Network, Proxy

# Brokers are killed by the hundred: what they have acknowledged must be with two of them, and dead transactions end soon.
SETTINGS = {
    "min.insync.replicas": 2,
    "transaction.state.log.min.isr": 2,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "unclean.leader.election.enable": "false",
    # A broker that comes back is refused until the controller has given up the one that died.
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 500,
}
SINGLE = {
    # Whoever comes without a name may do everything; ACLs are kept, for the fences of trips.
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 500,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}
_IN_SYNC_WITHIN = 60.0  # seconds
REQUEST_TIMEOUT = 5.0  # seconds that clients give a broker


class Side:
    """A cluster. Tests look at it by `bootstrap_servers`, past the proxies; what is tested gets `connection`."""

    def __init__(self, name: str, folder: Path, network: Network, **options: t.Any) -> None:
        self.name, self._folder, self._options = name, folder, options
        self.bootstrap_servers: list[str] = []
        self._hurt = False  # whether replicas may lag
        self.cluster = start(name, folder, **options)
        self.proxies = self._through_proxies(network)

    @property
    def connection(self) -> dict[str, t.Any]:
        """Options of the collection's modules, by which every connection goes through the proxies."""
        return {"bootstrap_servers": self._advertised, "request_timeout": REQUEST_TIMEOUT}

    def pid(self, node: int) -> int:
        """Of a broker."""
        return self.cluster.pids[f"broker-{node}"]

    def kill(self, nodes: t.Iterable[int]) -> None:
        """kill -9 brokers."""
        self._hurt = True
        end([self.cluster.process(f"broker-{node}") for node in nodes])

    def revive(self) -> None:
        """Start brokers that are dead, and return when all of them know each other."""
        if not all(alive(each) for each in self.cluster.processes()):
            self.cluster = start(self.name, self._folder, **self._options)

    def freeze(self, node: int) -> None:
        """Stop a broker's process as a suspended machine does; thaw() lets it go on."""
        self._hurt = True
        os.kill(self.pid(node), signal.SIGSTOP)

    def thaw(self) -> None:
        """Let every broker go on."""
        for pid in self.cluster.pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def heal(self) -> None:
        """Have it work again, whatever was done to it: every broker has every record that it is to have."""
        self.thaw()
        self.revive()
        for proxy in self.proxies:
            proxy.heal()
        if self._hurt:
            until(self._is_in_sync, _IN_SYNC_WITHIN, f"{self.name} does not come back")
        self._hurt = False

    def _is_in_sync(self) -> bool:
        with contextlib.suppress(ClientError):
            return all(each.in_sync == each.replicas for each in partitions_everywhere(self))
        return False

    def stop(self) -> None:
        """Remove the cluster."""
        stop(self.name, self._folder)

    def _through_proxies(self, network: Network) -> list[Proxy]:
        """Give every broker a second listener, which advertises its proxy; brokers reach each other without."""
        from sandbox_processes import free_ports

        self.bootstrap_servers = self.cluster.bootstrap_servers
        nodes = self.cluster.nodes
        ports = free_ports(2 * nodes)
        self.kill(range(1, nodes + 1))
        proxies = []
        for node in range(1, nodes + 1):
            port, proxied = ports[2 * node - 2 : 2 * node]
            file = self.cluster.configuration(f"broker-{node}")
            lines = []
            for line in file.read_text().splitlines():
                key, _equals, value = line.partition("=")
                more = {
                    "listeners": f",PROXIED://127.0.0.1:{port}",
                    "advertised.listeners": f",PROXIED://127.0.0.1:{proxied}",
                    "listener.security.protocol.map": ",PROXIED:PLAINTEXT",
                }
                lines.append(f"{key}={value}{more.get(key, '')}")
            file.write_text("\n".join(lines) + "\n")
            proxies.append(network.proxy(proxied, port))
        self._advertised = [f"127.0.0.1:{port}" for port in ports[1::2]]
        self.revive()
        return proxies


class Bed:
    """Both clusters, for as long as a run of the suite takes. All of its files are below the folder."""

    def __init__(self, folder: Path, version: str) -> None:
        self.folder, self.version = folder, version
        self.network = Network()
        self._sides: list[Side] = []
        try:
            self.source = self._side("source", settings=SINGLE)
            self.destination = self._side("destination", version=version, nodes=3, settings=SETTINGS)
        except BaseException:
            self.close()
            raise

    def _side(self, name: str, **options: t.Any) -> Side:
        side = Side(name, self.folder / "clusters", self.network, **options)
        self._sides.append(side)
        return side

    def heal(self) -> None:
        """Have everything work again, whatever was done to it."""
        for side in self._sides:
            side.heal()

    def close(self) -> None:
        """Stop all of it."""
        for side in self._sides:
            side.thaw()
            side.stop()
        self.network.close()
