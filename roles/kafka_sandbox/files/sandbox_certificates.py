# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates and keys for a secured sandbox, made by openssl: good ones, and bad ones for tests of refusals."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from sandbox_java import SandboxError

KEY_PASSWORD = "key-password"  # of client-encrypted.key; the same key lies beside it unencrypted
CLIENT_SUBJECT = "/O=streamshift/CN=client"
CLIENT_PRINCIPAL = "User:CN=client,O=streamshift"  # as a broker names whoever shows client.crt on the SSL listener


def make_certificates(folder: Path) -> dict[str, str]:
    """Fill the folder, and return what each file is for.

    ca, certificate, key: what a client needs. encrypted_key: the key under KEY_PASSWORD. broker: the broker's
    PEM store. other_ca, other_certificate, other_key: from an authority that the brokers do not trust.
    """
    if shutil.which("openssl") is None:
        raise SandboxError("A secured sandbox needs openssl, which was not found. Install it: apt-get install openssl")
    folder.mkdir(mode=0o700)
    _authority(folder, "ca")
    _authority(folder, "other-ca")
    _leaf(folder, "broker", "/CN=broker", "ca", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    _leaf(folder, "client", CLIENT_SUBJECT, "ca", "extendedKeyUsage=clientAuth")
    _leaf(folder, "other-client", CLIENT_SUBJECT, "other-ca", "extendedKeyUsage=clientAuth")
    encrypt = ["pkcs8", "-topk8", "-in", "client.key", "-out", "client-encrypted.key", "-v2", "aes-256-cbc"]
    _openssl(folder, *encrypt, "-passout", f"pass:{KEY_PASSWORD}")
    # A broker takes its key, its certificate and the authority from one file.
    (folder / "broker.pem").write_text(
        "".join((folder / f"{part}").read_text() for part in ("broker.key", "broker.crt", "ca.pem"))
    )
    files = {
        "ca": "ca.pem",
        "certificate": "client.crt",
        "key": "client.key",
        "encrypted_key": "client-encrypted.key",
        "broker": "broker.pem",
        "other_ca": "other-ca.pem",
        "other_certificate": "other-client.crt",
        "other_key": "other-client.key",
    }
    return {what: str(folder / name) for what, name in files.items()}


def _authority(folder: Path, name: str) -> None:
    usage = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]
    extensions = [word for text in usage for word in ("-addext", text)]
    _openssl(
        folder,
        "req",
        "-x509",
        *_new_key(f"{name}.key"),
        "-subj",
        f"/CN=streamshift {name}",
        *extensions,
        "-out",
        f"{name}.pem",
    )


def _leaf(folder: Path, name: str, subject: str, authority: str, extension: str) -> None:
    _openssl(folder, "req", *_new_key(f"{name}.key"), "-subj", subject, "-out", f"{name}.csr")
    (folder / f"{name}.ext").write_text(f"{extension}\n")
    signer = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial"]
    _openssl(
        folder,
        "x509",
        "-req",
        "-days",
        "30",
        "-in",
        f"{name}.csr",
        *signer,
        "-extfile",
        f"{name}.ext",
        "-out",
        f"{name}.crt",
    )
    (folder / f"{name}.csr").unlink()
    (folder / f"{name}.ext").unlink()


def _new_key(file: str) -> list[str]:
    """Elliptic keys: made in milliseconds. openssl 3 writes PKCS#8, which Java needs."""
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", file]


def _openssl(folder: Path, *words: str) -> None:
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"openssl {words[0]} failed: {' '.join(done.stderr.split())}")
