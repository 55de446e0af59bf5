# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  cluster:
    description:
      - The Kafka cluster.
    type: dict
    required: true
    suboptions:
      bootstrap_servers:
        description:
          - Some of the cluster's brokers, as C(host:port).
        type: list
        elements: str
        required: true
      security_protocol:
        description:
          - How the brokers' listener speaks.
        type: str
        choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
        default: PLAINTEXT
      sasl_mechanism:
        description:
          - How to log in. V(PLAIN), V(SCRAM-SHA-256), V(SCRAM-SHA-512) or V(OAUTHBEARER).
          - Kerberos is not supported.
        type: str
      sasl_username:
        description:
          - The user's name for V(PLAIN) and SCRAM.
        type: str
        aliases: [sasl_plain_username]
      sasl_password:
        description:
          - The user's password for V(PLAIN) and SCRAM.
        type: str
        aliases: [sasl_plain_password]
      ssl_cafile:
        description:
          - Path of the certificates, in PEM form, that the brokers' certificates are checked against.
          - Without it and without O(cluster.ssl_ca), those of the operating system.
        type: path
      ssl_certfile:
        description:
          - Path of the client's certificate, in PEM form. Java key stores have to be converted.
        type: path
      ssl_keyfile:
        description:
          - Path of the client's private key, in PEM form, where it does not stand in O(cluster.ssl_certfile).
        type: path
      ssl_ca:
        description:
          - The text itself instead of O(cluster.ssl_cafile), for vaults.
        type: str
      ssl_cert:
        description:
          - The text itself instead of O(cluster.ssl_certfile).
        type: str
      ssl_key:
        description:
          - The text itself instead of O(cluster.ssl_keyfile).
        type: str
      ssl_key_password:
        description:
          - The pass phrase of the private key.
        type: str
        aliases: [ssl_password]
      ssl_check_hostname:
        description:
          - Whether the broker's certificate must bear its host name.
        type: bool
        default: true
      oauth_token_url:
        description:
          - Where to get tokens for V(OAUTHBEARER), by the client credentials flow.
        type: str
      oauth_client_id:
        description:
          - The client's name at O(cluster.oauth_token_url).
        type: str
      oauth_client_secret:
        description:
          - The client's secret at O(cluster.oauth_token_url).
        type: str
      oauth_scope:
        description:
          - The scope to ask for at O(cluster.oauth_token_url).
        type: str
      aws_region:
        description:
          - The region of an Amazon MSK cluster with IAM access control. Needs C(aws-msk-iam-sasl-signer-python).
        type: str
      request_timeout:
        description:
          - How many seconds a broker may take to answer one request.
        type: float
        default: 30
      client_config:
        description:
          - Further properties of librdkafka, for reading records.
          - Those that hold secrets, and those that the collection sets itself, are refused.
          - Results show only the values of properties that are known to be harmless, such as sizes and times.
        type: dict
requirements:
  - confluent-kafka >= 2.10
  - kafka-python >= 3.0.12, < 3.1
  - xxhash >= 3.0
"""


# The same for a source that a module only looks at, and does without where it is not given.
ModuleDocFragment.SOURCE = (  # type: ignore[attr-defined]
    ModuleDocFragment.DOCUMENTATION.replace("  cluster:\n", "  source:\n", 1)
    .replace("- The Kafka cluster.", "- The Kafka cluster that the groups come from.", 1)
    .replace("    required: true\n    suboptions:", "    suboptions:", 1)
    .replace("O(cluster.", "O(source.")
    .partition("requirements:\n")[0]
)
