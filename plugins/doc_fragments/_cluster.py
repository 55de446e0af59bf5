# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  cluster:
    description: The Kafka cluster.
    type: dict
    required: true
    suboptions:
      bootstrap_servers:
        description: Addresses of some of the cluster's brokers, each as C(host:port).
        type: list
        elements: str
        required: true
      name:
        description: What messages call the cluster beside its addresses. The roles and playbooks give the name of the host
          in the inventory.
        type: str
      security_protocol:
        description:
          - Security protocol of the brokers' listener.
          - V(PLAINTEXT) uses neither encryption nor authentication.
          - V(SSL) uses TLS. The client authenticates with O(cluster.ssl_certfile) if the brokers require a certificate.
          - V(SASL_PLAINTEXT) authenticates with O(cluster.sasl_mechanism) and does not encrypt.
          - V(SASL_SSL) authenticates with O(cluster.sasl_mechanism) over TLS.
        type: str
        choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
        default: PLAINTEXT
      sasl_mechanism:
        description:
          - SASL mechanism - V(PLAIN), V(SCRAM-SHA-256), V(SCRAM-SHA-512) or V(OAUTHBEARER).
          - Kerberos is not supported.
        type: str
      sasl_username: {description: User name for V(PLAIN) and SCRAM., type: str, aliases: [sasl_plain_username]}
      sasl_password: {description: Password for V(PLAIN) and SCRAM., type: str, aliases: [sasl_plain_password]}
      ssl_cafile:
        description:
          - Path of the CA certificates, in PEM format, that must have signed the brokers' certificates.
          - By default, if O(cluster.ssl_ca) is not set either, the operating system's CA certificates.
        type: path
      ssl_certfile:
        description: Path of the client certificate in PEM format. Convert Java key stores to PEM first.
        type: path
      ssl_keyfile:
        description: Path of the client's private key in PEM format. Omit it if O(cluster.ssl_certfile) contains the
          key.
        type: path
      ssl_ca:
        description: The CA certificates themselves, for example from a vault, in place of O(cluster.ssl_cafile).
        type: str
      ssl_cert: {description: "The client certificate itself, in place of O(cluster.ssl_certfile).", type: str}
      ssl_key: {description: "The private key itself, in place of O(cluster.ssl_keyfile).", type: str}
      ssl_key_password: {description: Passphrase of the private key., type: str, aliases: [ssl_password]}
      ssl_check_hostname:
        description: Verify that the broker's certificate matches its host name.
        type: bool
        default: true
      oauth_token_url:
        description: URL of the token endpoint for V(OAUTHBEARER). The client uses the client credentials flow.
        type: str
      oauth_client_id: {description: Client ID for O(cluster.oauth_token_url)., type: str}
      oauth_client_secret: {description: Client secret for O(cluster.oauth_token_url)., type: str}
      oauth_scope: {description: Scope to request from O(cluster.oauth_token_url)., type: str}
      oauth_audience:
        description: Audience to request from O(cluster.oauth_token_url), as Auth0 and others need it.
        type: str
      oauth_token:
        description: A token that something else has fetched, such as a lookup with the workload identity of a cloud, in
          place of O(cluster.oauth_token_url). It must be good until the run ends, because it is not renewed.
        type: str
      oauth_extensions:
        description: What to send with each token, such as C(logicalCluster) and C(identityPoolId) of Confluent Cloud.
        type: dict
      aws_region:
        description: Region of an Amazon MSK cluster with IAM access control. Needs C(aws-msk-iam-sasl-signer-python).
        type: str
      aws_profile:
        description: Profile of the AWS credentials to use with O(cluster.aws_region). By default, botocore's search for
          credentials.
        type: str
      aws_role_arn:
        description: Role to assume with these credentials, for example in the account of the cluster.
        type: str
      aws_role_session_name:
        description: Name of the session of O(cluster.aws_role_arn), which CloudTrail shows. V(streamshift) by default.
        type: str
      aws_external_id: {description: External id that the trust policy of O(cluster.aws_role_arn) asks for., type: str}
      request_timeout:
        description: How many seconds to wait for a broker's answer to one request, from 0.01 to 300.
        type: float
        default: 30
      client_config:
        description:
          - Further librdkafka properties for reading records.
          - The module refuses properties that hold secrets and properties that the collection sets itself.
          - Results show only the values of properties that are known to be harmless, such as sizes and timeouts.
        type: dict
requirements:
  - confluent-kafka >= 2.10
  - kafka-python >= 3.0.12, < 3.1
  - xxhash >= 3.0
"""


def _named(option: str, description: str) -> str:
    """The same for a cluster of another name."""
    return (
        ModuleDocFragment.DOCUMENTATION.replace("  cluster:\n", f"  {option}:\n", 1)
        .replace("- The Kafka cluster.", f"- {description}", 1)
        .replace("O(cluster.", f"O({option}.")
    )


def _only_read(option: str, description: str) -> str:
    """The same for a cluster that a module only reads, and that is optional."""
    text = _named(option, description).replace("    required: true\n    suboptions:", "    suboptions:", 1)
    return text.partition("requirements:\n")[0]


_SOURCE = "The Kafka cluster that the groups come from."
ModuleDocFragment.SOURCE = _only_read("source", _SOURCE)  # type: ignore[attr-defined]
ModuleDocFragment.SOURCE_DESTINATION = _named("source", _SOURCE).partition("requirements:\n")[0] + _named(  # type: ignore[attr-defined]
    "destination", "The Kafka cluster that the groups move to."
).removeprefix("\noptions:\n")
ModuleDocFragment.SOURCE_CLUSTER = _only_read(  # type: ignore[attr-defined]
    "source_cluster",
    "The source cluster, for the lag and the ends of its logs. If it does not answer within seconds, the report says so.",
)
ModuleDocFragment.DESTINATION_CLUSTER = _only_read(  # type: ignore[attr-defined]
    "destination_cluster",
    "The destination cluster, for the ends of its logs. If it does not answer within seconds, the report says so.",
)
