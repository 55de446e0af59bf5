# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""ConsumerGroupDescribe, which describes groups of the newer protocol (KIP-848), and which the library does not know.

Fields: ConsumerGroupDescribeRequest.json and ConsumerGroupDescribeResponse.json of Kafka, version 0.
"""

from __future__ import annotations

import functools
import types
import typing as t

from .kafka_library import ApiKey, ApiMessage

_NAME = "ConsumerGroupDescribe"
# A field's type, with ? for one that may be null, and the fields of a structure.
_Fields = t.Mapping[str, "str | tuple[str, _Fields]"]
_ASSIGNMENT: _Fields = {
    "TopicPartitions": ("[]TopicPartitions", {"TopicId": "uuid", "TopicName": "string", "Partitions": "[]int32"})
}
_MEMBER: _Fields = {
    "MemberId": "string",
    "InstanceId": "string?",
    "RackId": "string?",
    "MemberEpoch": "int32",
    "ClientId": "string",
    "ClientHost": "string",
    "SubscribedTopicNames": "[]string",
    "SubscribedTopicRegex": "string?",
    "Assignment": ("Assignment", _ASSIGNMENT),
    "TargetAssignment": ("Assignment", _ASSIGNMENT),
}
_GROUP: _Fields = {
    "ErrorCode": "int16",
    "ErrorMessage": "string?",
    "GroupId": "string",
    "GroupState": "string",
    "GroupEpoch": "int32",
    "AssignmentEpoch": "int32",
    "AssignorName": "string",
    "Members": ("[]Member", _MEMBER),
    "AuthorizedOperations": "int32",
}
_REQUEST: _Fields = {"GroupIds": "[]string", "IncludeAuthorizedOperations": "bool"}
_RESPONSE: _Fields = {"ThrottleTimeMs": "int32", "Groups": ("[]DescribedGroup", _GROUP)}


@functools.cache
def newer_messages() -> types.SimpleNamespace:
    """The classes of the request and of its response, as a module of the library has those that it knows."""
    return types.SimpleNamespace(
        **{
            f"{_NAME}Request": _message_class("Request", _REQUEST),
            f"{_NAME}Response": _message_class("Response", _RESPONSE),
        }
    )


def _message_class(kind: str, fields: _Fields) -> t.Any:
    """The library makes a class of the file of its name, which json_patch() may change: that of another message serves."""
    schema = {
        "apiKey": int(ApiKey[_NAME]),
        "type": kind.lower(),
        "name": f"{_NAME}{kind}",
        "validVersions": "0",
        "flexibleVersions": "0+",
        "fields": _rows(fields),
    }
    patch = classmethod(lambda _cls, _json: schema)
    make_class: t.Any = type(ApiMessage)
    return make_class(f"DescribeGroups{kind}", (ApiMessage,), {"json_patch": patch})


def _rows(fields: _Fields) -> list[dict[str, t.Any]]:
    rows = []
    for name, given in fields.items():
        kind, inner = (given, None) if isinstance(given, str) else given
        row: dict[str, t.Any] = {"name": name, "type": kind.rstrip("?"), "versions": "0+"}
        row |= {"nullableVersions": "0+"} if kind.endswith("?") else {}
        rows.append(row | ({} if inner is None else {"fields": _rows(inner)}))
    return rows
