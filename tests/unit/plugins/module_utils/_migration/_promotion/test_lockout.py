"""Which ACLs lock clients out that they do not name."""

import itertools
import random
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.lockout import (
    check_first_acls,
    check_lockout,
    concerns,
    only_acls,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnLockout


def acl(name, permission="ALLOW", principal="User:app", resource="TOPIC", operation="ALL"):
    is_prefix = len(name) > 1 and name.endswith("*")
    pattern = "PREFIXED" if is_prefix else "LITERAL"
    return Acl(resource, name[:-1] if is_prefix else name, pattern, principal, "*", operation, permission)


@pytest.mark.parametrize(
    ("added", "there", "is_open", "locks"),
    [
        pytest.param(acl("orders"), [], True, True, id="the first ACL"),
        pytest.param(acl("orders"), [], False, False, id="nobody gets in without one"),
        pytest.param(acl("orders"), [acl("orders", principal="User:x")], True, False, id="there is one already"),
        pytest.param(acl("orders"), [acl("ord*")], True, False, id="there is one on a prefix"),
        pytest.param(acl("orders"), [acl("*")], True, False, id="there is one on all topics"),
        pytest.param(
            acl("orders"), [acl("orders2"), acl("orders2*"), acl("*", resource="GROUP")], True, True, id="others"
        ),
        pytest.param(acl("ord*"), [acl("orders")], True, True, id="a prefix that was not granted as a whole"),
        pytest.param(acl("ord*"), [acl("o*")], True, False, id="a prefix within another one"),
        pytest.param(acl("*"), [acl("o*")], True, True, id="the first one on all topics"),
        pytest.param(acl("billing", resource="GROUP"), [acl("billing")], True, True, id="the first one of a group"),
        pytest.param(acl("orders", "DENY", "User:*"), [acl("orders")], False, True, id="everybody is denied"),
        pytest.param(acl("orders", "DENY"), [acl("orders")], False, False, id="somebody is denied"),
        pytest.param(acl("orders", "DENY"), [], True, True, id="the first ACL denies"),
    ],
)
def test_an_acl_that_locks_others_out_is_refused_or_told(added, there, is_open, locks):
    told = check_lockout([added], there, is_open, OnLockout.ADD, "cloud")
    assert [note.kind for note in told] == [NoteKind.ACL_LOCKOUT] * locks
    if not locks:
        assert check_lockout([added], there, is_open, OnLockout.FAIL, "cloud") == []
        return
    with pytest.raises(
        Refused,
        match="ACLs would lock clients out: .*(; then set on_lockout to add|set on_lockout to add only if nobody)",
    ) as refused:
        check_lockout([added], there, is_open, OnLockout.FAIL, "cloud")
    assert refused.value.kind == "acl_lockout"
    assert str(added) in str(refused.value) and str(added) in str(told[0])


def test_whoever_denies_everybody_is_not_told_to_grant_because_no_grant_helps():
    with pytest.raises(Refused, match="if a fence at the source has made it") as refused:
        check_lockout([acl("orders", "DENY", "User:*")], [], False, OnLockout.FAIL, "cloud")
    assert "irst grant" not in str(refused.value) and "et fence_receipt to" in str(refused.value)
    with pytest.raises(Refused, match="no grant helps.* First grant, at the destination, what"):
        check_lockout([acl("orders", "DENY", "User:*")], [], True, OnLockout.FAIL, "cloud")


@pytest.mark.parametrize("operation", ["READ", "WRITE"])
def test_what_may_be_a_fence_is_noted_and_no_failure(operation):
    denied = acl("orders", "DENY", operation=operation)
    (note,) = check_lockout([denied], [acl("orders")], False, OnLockout.FAIL, "cloud")
    assert note.kind is NoteKind.ACL_LOCKOUT and str(denied) in note.text and "set fence_receipt to" in note.text
    from_one_host = acl("orders", "DENY", "User:*", operation=operation)._replace(host="10.0.0.1")
    (note,) = check_lockout([from_one_host], [acl("orders")], False, OnLockout.FAIL, "cloud")
    assert str(from_one_host) in note.text
    others = [
        acl("orders", operation=operation),
        acl("orders*", "DENY", operation=operation),
        acl("billing", "DENY", resource="GROUP", operation=operation),
        acl("orders", "DENY", operation="DELETE"),
    ]
    assert check_lockout(others, [acl("orders*"), acl("*", resource="GROUP")], False, OnLockout.FAIL, "cloud") == []


@pytest.mark.parametrize(
    ("there", "is_open", "locks"), [([], True, True), ([], False, False), ([acl("orders")], True, False)]
)
def test_a_fence_may_deny_everybody_but_is_no_first_acl_unasked(there, is_open, locks):
    denied = [acl("orders", "DENY", "User:*")]
    told = check_first_acls(denied, there, is_open, OnLockout.ADD, "onprem")
    assert [note.kind for note in told] == [NoteKind.ACL_LOCKOUT] * locks
    if locks:
        with pytest.raises(Refused, match="First grant what the other clients") as refused:
            check_first_acls(denied, there, is_open, OnLockout.FAIL, "onprem")
        assert refused.value.kind == "acl_lockout"


def test_those_alone_on_their_resources_are_those_that_no_other_one_concerns():
    names = ["".join(word) for length in (1, 2, 3) for word in itertools.product("ab", repeat=length)]
    every = [
        acl(name, resource=which)
        for name in [*names, *(f"{each}*" for each in names), "*"]
        for which in ("TOPIC", "GROUP")
    ]
    draw = random.Random(1)
    for _world in range(300):
        some, others = draw.sample(every, 8), draw.sample(every, draw.randrange(5))
        assert only_acls(some, others, True) == [
            each for each in some if not any(concerns(other, each) for other in others)
        ]


def test_many_acls_take_no_long_time():
    """Each of 2,000 was compared with each of 10,000: that took 20 s."""
    others = [acl(f"topic-{number}{'*' if number % 10 == 0 else ''}") for number in range(10_000)]
    begun = time.perf_counter()
    assert len(only_acls([acl(f"new-{number}") for number in range(2000)], others, True)) == 2000
    assert time.perf_counter() - begun < 3
