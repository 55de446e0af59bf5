"""The clusters that the tests share, with the addresses and credentials that a test needs."""

import typing as t

from testbed.sandbox import Cluster


def authorizer(name: str = "org.apache.kafka.metadata.authorizer.StandardAuthorizer") -> dict[str, str | int]:
    """Settings of brokers that know ACLs; what no ACL is about, everybody may do."""
    return {"authorizer.class.name": name, "allow.everyone.if.no.acl.found": "true"}


class KafkaCluster:
    """A running sandbox. Tests use bootstrap_servers, where they may do everything, and hand a connection to the collection."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.name = cluster.name
        self.cluster_id = cluster.cluster_id
        self.bootstrap_servers = cluster.bootstrap_servers
        self.paths = cluster.paths
        self.users = cluster.users
        self.ssl_principal = cluster.ssl_principal
        self.ssl_key_password = cluster.ssl_key_password

    @property
    def connection(self) -> dict[str, t.Any]:
        """The collection's options for this cluster; of a secured one: as the user admin, who may do everything."""
        return self.connection_as("admin") if self.cluster.secured else self.plaintext

    @property
    def plaintext(self) -> dict[str, t.Any]:
        """Without credentials. On a secured cluster, too, that is somebody who may do everything."""
        return {"bootstrap_servers": list(self.bootstrap_servers)}

    def connection_as(self, user: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, t.Any]:
        """Options for one of the users of a secured cluster. migrator may do nothing until an ACL says so."""
        return {
            "bootstrap_servers": list(self.cluster.sasl_ssl_bootstrap_servers),
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": mechanism,
            "sasl_username": user,
            "sasl_password": self.users[user],
            **self._certificates(),
        }

    @property
    def ssl_connection(self) -> dict[str, t.Any]:
        """Options for the holder of the client certificate, whom ACLs call ssl_principal."""
        return {
            "bootstrap_servers": list(self.cluster.ssl_bootstrap_servers),
            "security_protocol": "SSL",
            **self._certificates(),
        }

    def _certificates(self) -> dict[str, str]:
        return {
            "ssl_cafile": self.paths["ca"],
            "ssl_certfile": self.paths["certificate"],
            "ssl_keyfile": self.paths["key"],
        }
