"""Logging in by OAUTHBEARER on both clients, with tokens that end while the migration goes on."""

import pytest

from testbed.clients import grant
from tests.support.consumers import unconsumed
from tests.support.modules import Migration, refuses, succeeds
from tests.support.replication_tool import copied_topic
from tests.support.rights import rights_of
from tests.support.token_endpoint import TokenEndpoint, grants, unsigned_token

CLOUD = {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"}


@pytest.fixture
def migration(source, secured, topic, tmp_path):
    """A group that has consumed half of its topic, and the rights that migrator needs to move it to the secured cluster."""
    copied_topic(source, secured, topic, 20, 10, partitions=1, junk=1)
    grant(secured, rights_of(topic, topic)["destination"])
    found = Migration(tmp_path / "migration", source, secured)
    found.destination = {
        name: value for name, value in secured.connection_as("migrator", "OAUTHBEARER").items() if "sasl_" not in name
    } | {"sasl_mechanism": "OAUTHBEARER"}
    return found


def test_tokens_of_an_endpoint_are_renewed_before_they_end(migration, source, secured, topic):
    """The brokers end a session when its token ends: see sandbox_settings.py."""
    with TokenEndpoint(grants("migrator", 4)) as endpoint:
        migration.destination |= {
            "oauth_token_url": endpoint.url,
            "oauth_client_id": "migrator",
            "oauth_client_secret": "s3cret",
            "oauth_extensions": CLOUD,
        }
        assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
        assert migration.verify(method="records", spark={"master": "local[1]"})["compared"] == 10
    assert len(endpoint.asked) > 2
    assert unconsumed(secured, topic, topic) == unconsumed(source, topic, topic)


def test_a_token_that_was_fetched_elsewhere(migration, topic):
    migration.destination["oauth_token"] = unsigned_token("migrator")
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3])
def test_a_token_that_ends_while_a_client_connects_or_reads_is_named(migration, topic, seconds):
    """A plan takes longer than that. Nobody can renew the token, so that no try is repeated."""
    migration.snapshot(topic)
    succeeds(
        "kafka_group_info", cluster=migration.source, groups=[topic]
    )  # what Python loads takes no time of the token
    migration.destination["oauth_token"] = unsigned_token("migrator", seconds)
    message = migration.translate(via=refuses)
    assert "destination cluster" in message
    assert "the token in oauth_token has expired" in message
