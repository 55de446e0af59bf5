"""An API server of Kubernetes, and a node: of the tests' own, for Spark's own scheduler and executors."""

import contextlib
import json
import signal
import ssl
import sys
import typing as t
import urllib.request
from pathlib import Path

from sandbox_certificates import make_certificates
from sandbox_java import java
from testbed.sandbox import end, free_ports, spawn
from tests.support.spark import HOME, SparkCluster, said

TOKEN = "of-a-service-account"
NAMESPACE = "migration"


@contextlib.contextmanager
def kubernetes(folder: Path, python: str = sys.executable) -> t.Iterator[SparkCluster]:
    """A cluster whose pods have Spark and this Python in their image. Who wants to use it shows a token."""
    folder.mkdir(parents=True)
    (port,) = free_ports(1)
    files = make_certificates(folder / "certificates")
    settings, address = folder / "api.properties", f"https://127.0.0.1:{port}"
    image = {"java": str(Path(java()).parents[1]), "spark": str(HOME), "python": python}
    settings.write_text(
        json.dumps({"folder": str(folder), "port": port, "token": TOKEN, "pem": files["broker"], **image})
    )
    program = spawn(
        [sys.executable, "-m", "tests.support.kubernetes_api", str(settings)], str(settings), folder / "api.log"
    )
    try:
        said(program, folder / "api.log", "listening")
        named = {"name": "tests"}
        (folder / "config").write_text(  # JSON is YAML
            json.dumps({
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "tests",
                "clusters": [named | {"cluster": {"server": address, "certificate-authority": files["ca"]}}],
                "users": [named | {"user": {"token": TOKEN}}],
                "contexts": [named | {"context": {"cluster": "tests", "user": "tests"}}],
            })
        )  # fmt: skip
        conf = {
            "spark.authenticate": "true",  # Spark makes the secret, and puts it into the environment of the pods
            "spark.driver.host": "127.0.0.1",
            "spark.executor.instances": "2",
            "spark.executor.memory": "512m",
            "spark.kubernetes.container.image": "spark",
            "spark.kubernetes.namespace": NAMESPACE,
        }
        yield SparkCluster(f"k8s://{address}", [program], folder, conf, {"KUBECONFIG": str(folder / "config")})
    finally:
        end([program], signal.SIGTERM)


def objects(cluster: SparkCluster) -> list[str]:
    """The names of the pods and config maps that are there."""
    context = ssl.create_default_context(cafile=cluster.folder / "certificates/ca.pem")
    found = []
    for kind in ("pods", "configmaps"):
        url = f"{cluster.url.removeprefix('k8s://')}/api/v1/namespaces/{NAMESPACE}/{kind}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, context=context) as answer:
            found += [each["metadata"]["name"] for each in json.load(answer)["items"]]
    return found
