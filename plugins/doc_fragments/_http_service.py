# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
from __future__ import annotations

_SERVICE = r"""
options:
  OPTION:
    suboptions:
      url: {description: "URL of the SERVICE, for example C(ADDRESS).", type: str, required: true}
      username: {description: User name for basic authentication., type: str}
      password: {description: Password for basic authentication., type: str}
      ca_path:
        description: Path of the CA certificates, in PEM format, that must have signed the SERVICE's certificate.
        type: path
      validate_certs: {description: "Verify the SERVICE's certificate.", type: bool, default: true}
"""


def _of(option: str, service: str, address: str) -> str:
    return _SERVICE.replace("OPTION", option).replace("SERVICE", service).replace("ADDRESS", address)


class ModuleDocFragment:
    # With types, because the yamllint of ansible-test looks at the values of plain assignments, and expects texts.
    REST: str = _of("rest", "worker", "https://connect.example.com:8083")
    CONNECT: str = _of("connect", "worker", "https://connect.example.com:8083")
    SCHEMA_REGISTRY: str = _of("schema_registry", "registry", "https://registry.example.com:8081")
