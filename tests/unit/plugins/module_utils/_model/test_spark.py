"""Where Spark runs is refused early when it cannot be meant, and tells no secret."""

import pytest
from pyspark.sql.connect import client

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import set_variables
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions, spark_options_from


def test_nothing_given_is_all_cores_of_this_machine():
    assert spark_options_from({}) == spark_options_from({"master": None, "conf": {}, "archives": []}) == SparkOptions()
    assert SparkOptions().is_local and str(SparkOptions()) == "Spark local[*,4]"


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "spark://a:7077,b:7077", "yarn", "k8s://https://a:6443"]
)
def test_masters(master):
    options = spark_options_from(
        {"master": master, "conf": {"spark.executor.cores": 2, "spark.shuffle.compress": True}}
    )
    assert options.is_local == master.startswith("local")
    assert options.conf == {"spark.executor.cores": "2", "spark.shuffle.compress": "true"}


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("sc://spark.example.com", ("spark.example.com", 15002)),
        ("sc://spark.example.com:443/;use_ssl=true;token=s3cret", ("spark.example.com", 443)),
        ("sc://127.0.0.1:15003/", ("127.0.0.1", 15003)),
        ("sc://[::1]:15003", ("::1", 15003)),
        ("sc://[::1]/;token=s3cret", ("::1", 15002)),
    ],
)
def test_a_spark_connect_server_is_named_without_its_token(remote, address):
    options = spark_options_from({"remote": remote})
    assert options.remote_address == address and not options.is_local
    assert "s3cret" not in f"{options} {options!r}"


@pytest.mark.parametrize(
    ("remote", "told"),
    [
        ("sc://a:15002/;use_ssl=true;token=s3cret==", "%3D"),
        ("sc://a:15002/;token=s3/cret", "%2F"),
        ("sc://a:15002/;token=s3cret;", "name=value"),
        ("sc://a:15002/;token=s3;cret", "%3B"),
        ("sc://a:15002/;token=a?s3cret", "%3F"),
        ("sc://a:15002/;s3cret", "name=value"),
        ("sc://a:15002/;=s3cret", "name=value"),
        ("sc://a:15002/s3cret", "no address"),
        ("sc://a:15002;token=s3cret", "/;use_ssl=true;token=..."),
        ("sc://a?token=s3cret", "no address"),
    ],
)
def test_parameters_that_the_client_would_quote_are_refused(remote, told):
    with pytest.raises(InvalidInput) as refused:
        spark_options_from({"remote": remote})
    assert told in str(refused.value) and "cret" not in str(refused.value)


@pytest.mark.parametrize(
    "remote", ["sc://a", "sc://a/", "sc://a/;token=U2Vj%3D%3D", "sc://a:1/;use_ssl=true;x-y=;token=a+b@c:d"]
)
def test_parameters_that_the_client_takes_are_taken(remote):
    assert spark_options_from({"remote": remote}).remote == remote
    client.DefaultChannelBuilder(remote)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"master": "localhost:7077"}, "master in spark is 'localhost:7077'"),
        ({"master": "local[0]"}, "master in spark is"),
        ({"remote": "spark://a:7077"}, "remote in spark is no address"),
        ({"remote": "sc://a", "master": "yarn"}, "master and remote in spark are both given"),
        ({"remote": "sc://a", "archives": ["e.tgz#e"]}, "archives and remote in spark are both given"),
        ({"driver_memory": "2"}, "driver_memory in spark is '2'"),
        ({"conf": {"fs.s3a.endpoint": "x"}}, "conf in spark holds fs.s3a.endpoint, which is no property of Spark"),
        ({"conf": {"spark.master": "yarn"}}, "Use master"),
        ({"conf": {"spark.driver.memory": "2g"}}, "Use driver_memory"),
        ({"conf": {"spark.sql.session.timeZone": "CET"}}, "which the collection sets itself"),
        ({"conf": {"spark.executor.cores": [1]}}, "conf in spark has a list as value of spark.executor.cores"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, told):
    with pytest.raises(InvalidInput) as refused:
        spark_options_from(given)
    assert told in str(refused.value)


def test_a_role_calls_the_option_otherwise():
    set_variables({"spark": "group_migration_spark"})
    try:
        with pytest.raises(InvalidInput, match="driver_memory in group_migration_spark is '2'"):
            spark_options_from({"driver_memory": "2"})
    finally:
        set_variables(None)


@pytest.mark.parametrize(
    "name",
    [
        "spark.authenticate.secret",
        "spark.ssl.keyPassword",
        "spark.connect.authenticate.token",
        "spark.kubernetes.authenticate.oauthToken",
        "spark.hadoop.fs.azure.account.key.box.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.archive.box.blob.core.windows.net",
        "spark.hadoop.fs.azure.sas.fixed.token.box.dfs.core.windows.net",
        "spark.hadoop.fs.azure.encryption.encoded.client-provided-key",
        "spark.hadoop.fs.azure.client-provided-encryption-key.box.dfs.core.windows.net",
        "spark.hadoop.fs.s3a.encryption.key",
        "spark.hadoop.fs.s3a.bucket.archive.server-side-encryption.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.gs.encryption.key",
        "spark.hadoop.fs.cos.archive.iam.api.key",
        "spark.hadoop.fs.swift.service.archive.apikey",
        "spark.hadoop.parquet.encryption.key.list",
        "spark.executorEnv.AZURE_STORAGE_KEY",
        "spark.es.net.http.auth.pass",
    ],
)
def test_secrets_are_refused_where_everybody_sees_them(name):
    with pytest.raises(InvalidInput) as refused:
        spark_options_from({"conf": {name: "s3cret"}})
    assert name in str(refused.value) and "SPARK_CONF_DIR" in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "spark.authenticate.secret.driver.file",
        "spark.kubernetes.authenticate.oauthTokenFile",
        "spark.kubernetes.container.image.pullSecrets",
        "spark.kubernetes.executor.secrets.spark-secret",
        "spark.kubernetes.executor.secretKeyRef.TOKEN",
        "spark.hadoop.fs.azure.account.keyprovider.box.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.auth.type.box.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.oauth2.client.id",
        "spark.hadoop.fs.azure.sas.token.provider.type.box.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.expiry.period",
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.fs.s3a.assumed.role.credentials.provider",
        "spark.hadoop.hadoop.security.credential.provider.path",
        "spark.hadoop.fs.s3a.encryption.algorithm",
        "spark.hadoop.dfs.encryption.key.provider.uri",
        "spark.hadoop.parquet.encryption.key.material.store.internally",
        "spark.io.encryption.enabled",
        "spark.io.encryption.keygen.algorithm",
        "spark.io.encryption.keySizeBits",
        "spark.ssl.keyStore",
        "spark.ssl.bypass",
    ],
)
def test_where_a_secret_lies_is_none(name):
    assert spark_options_from({"conf": {name: "/etc/secrets"}}).conf == {name: "/etc/secrets"}


@pytest.mark.parametrize(
    "given",
    [
        {"archives": ["/srv/a.tgz#a", "https://me:s3cret@repo.example.com/env.tar.gz#env"]},
        {"archives": ["/srv/a.tgz#a,https://s3cret@repo.example.com/env.tar.gz#env"]},
        {"archives": ["/srv/a.tgz#a, https://me:s3cret@repo.example.com/env.tar.gz#env"]},
        {"archives": [" https://me:s3cret@repo.example.com/env.tar.gz#env"]},
        {"archives": ["https://repo.example.com/env.tar.gz?signature=s3cret#env"]},
        {"archives": ["abfss://box:s3cret@account.dfs.core.windows.net/env.tar.gz"]},
        {"conf": {"spark.jars": "/a.jar,https://me:s3cret@repo.example.com/b.jar"}},
        {"conf": {"spark.executor.extraJavaOptions": "-Dx=1 -Dproxy=http://me:s3cret@proxy:3128"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://h/m?user=hive&password=s3cret"}},
        {"conf": {"spark.jars": "https://repo.example.com/b.jar?sv=1&sig=s3cret"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:sqlserver://h;user=hive;Password=s3cret"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:mysql://(host=h,user=hive,password=s3cret)/m"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:oracle:thin:hive/s3cret@//h:1521/x"}},
        {"conf": {"spark.jars": "https://repo.example.com/b.jar?Expires=1&Signature=s3cret"}},
        {"conf": {"spark.jars": "https://repo.example.com/b.jar?SIG=s3cret"}},
        {"conf": {"spark.jars": "https://repo.example.com/b.jar?X-Amz-Signature=s3cret"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:sqlserver://h;user=a; password = s3cret"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:db2://h:1/x:user=a;password=s3cret;"}},
        {"conf": {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:db2://h:1/x:password=s3cret;"}},
        {"conf": {"spark.executorEnv.STORE": "Server=tcp:h,1433;Database=x;Password=s3cret"}},
        {"master": "k8s://https://a:6443?token=s3cret"},
    ],
)
def test_addresses_with_secrets_are_refused_where_everybody_sees_them(given):
    with pytest.raises(InvalidInput) as refused:
        spark_options_from(given)
    assert "s3cret" not in str(refused.value)
    assert "SPARK_CONF_DIR" in str(refused.value) or "master" in given
    assert ("set spark.pyspark.python in conf to ./NAME/bin/python" in str(refused.value)) == ("archives" in given)


def test_addresses_without_secrets_are_taken():
    archives = ("abfss://box@account.dfs.core.windows.net/env.tar.gz#env", "s3a://box/a@b.tar.gz#env", "/srv/a?@b.tgz")
    jdbc = "jdbc:postgresql://host/metastore?ssl=true&user=hive"
    conf = {
        "spark.hadoop.javax.jdo.option.ConnectionURL": jdbc,
        "spark.hadoop.other.option.ConnectionURL": "jdbc:oracle:thin:@//host:1521/metastore",
        "spark.driver.extraJavaOptions": "-Dx=a/b@c -Dlog=%d{x},tokenLength=3",
        "spark.sql.redaction.string.regex": r"(?i)(password=|token=)\S+",
        "spark.eventLog.dir": "abfss://box@account.dfs.core.windows.net/x",
    }
    made = spark_options_from({"archives": archives, "conf": conf})
    assert made.archives == archives and made.conf == conf
