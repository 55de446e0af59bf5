# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Tokens for Amazon MSK's IAM access control, signed with the credentials of this machine, a profile or a role."""

from __future__ import annotations

import socket
import time
import typing as t

from .._model.connection import Connection
from .._model.errors import ConnectionFailed, MigrationError, RequirementMissing

_SESSION_NAME = "streamshift"  # what CloudTrail shows of a role that was assumed


def signed(connection: Connection) -> tuple[str, float]:
    """A token, and for how many seconds it is good: 15 minutes.

    Raises InvalidInput without the package, and ConnectionFailed where AWS gives no credentials.
    """
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as exc:
        raise RequirementMissing(
            "aws_region needs the Python package aws-msk-iam-sasl-signer-python",
            cluster=connection.named,
            remedy="install it where this module runs, and on the workers of a Spark cluster",
        ) from exc
    from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-not-found,import-untyped,unused-ignore]

    try:
        token, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_credentials_provider(
            connection.aws_region, _credentials(connection)
        )
    except MigrationError:
        raise
    except (BotoCoreError, ClientError) as exc:  # neither quotes a secret
        raise _failed(connection, str(exc)) from exc
    except OSError as exc:  # of a file of the user, or of a program that is not there
        raise _failed(connection, _told(exc)) from exc
    # Of what a program or a file of the user holds, which botocore lets through: the text may hold a secret.
    except Exception as exc:
        raise _failed(connection, type(exc).__name__) from exc
    return token, expires_ms / 1000 - time.time()


def _told(exc: OSError) -> str:
    """Why a file cannot be used. One whose name has blanks may be a whole command in quotes, with a secret."""
    name = str(exc.filename or "")
    return ": ".join(filter(None, [type(exc).__name__ if len(name.split()) != 1 else name, exc.strerror]))


def _credentials(connection: Connection) -> t.Any:
    """What the signer asks for credentials, each time that it signs. Raises what botocore does."""
    from botocore.credentials import CredentialProvider, Credentials  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from botocore.session import Session  # type: ignore[import-not-found,import-untyped,unused-ignore]

    def refuse(_prompt: str) -> t.NoReturn:
        why = "the role of the profile asks for the code of an MFA device, which nobody can type during a run"
        raise _failed(connection, why)

    class Provider(CredentialProvider):  # type: ignore[misc,unused-ignore]
        def load(self) -> Credentials:
            session = Session(profile=connection.aws_profile)
            # There is no option for it, and it would read the terminal of whoever has started the run.
            session.get_component("credential_provider").get_provider("assume-role")._prompter = refuse
            if not connection.aws_role_arn:
                credentials = session.get_credentials()
                if credentials is None:
                    raise _failed(connection, "there are no AWS credentials")
                return credentials
            role = {
                "RoleArn": connection.aws_role_arn,
                "RoleSessionName": connection.aws_role_session_name or _SESSION_NAME,
            }
            if connection.aws_external_id:
                role["ExternalId"] = connection.aws_external_id
            sts = session.create_client("sts", region_name=connection.aws_region)
            given = sts.assume_role(**role)["Credentials"]
            return Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])

    return Provider()


def _failed(connection: Connection, why: str) -> ConnectionFailed:
    options = [f"aws_{name}" for name in ("profile", "role_arn", "external_id") if getattr(connection, f"aws_{name}")]
    where = f"the AWS credentials of the machine {socket.gethostname()}"  # perhaps one of a Spark cluster
    remedy = f"check {', '.join([*options, where])}"
    return ConnectionFailed("cannot sign an access token", cluster=str(connection), why=why, remedy=remedy)
