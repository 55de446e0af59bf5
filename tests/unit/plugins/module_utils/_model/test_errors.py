"""Errors tell what failed, where, why and what to do, in one line."""

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError, NotAuthorized


def test_everything_that_is_known_is_told():
    error = MigrationError(
        "the commit was refused",
        cluster="destination cluster broker1:9092",
        group="billing",
        topic="orders",
        partition=0,
        why="UNKNOWN_MEMBER_ID:\nthe group has members",
        remedy="stop them",
    )
    assert str(error) == (
        "destination cluster broker1:9092, group billing, topic orders, partition 0: "
        "the commit was refused: UNKNOWN_MEMBER_ID: the group has members. Stop them."
    )


def test_what_is_not_known_is_left_out():
    assert str(MigrationError("no group is selected")) == "no group is selected."


def test_where_an_acl_is_granted_another_one_may_deny_it():
    told = str(NotAuthorized("missing ACL TOPIC READ on orders", cluster="cloud"))
    assert told.endswith("orders. Grant it to the user of this cluster, or delete the ACL that denies it.")
