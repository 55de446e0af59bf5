"""As much of Kubernetes as Spark's scheduler asks for: an API server, and a node that runs each pod as a process.

As a program (SETTINGS): it ends with SIGTERM, and its pods with it. SETTINGS is a file with JSON: folder, port, token, pem
(the server's certificate and key), and what is in its image: java, spark (its home), python. In the folder come to lie the
pods' directories and the file requests, in which each line is what a client has asked for: method, path, body.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import signal
import ssl
import struct
import subprocess
import sys
import threading
import time
import typing as t
import uuid
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

Object = dict[str, t.Any]
# All that the token's owner may touch, as docs/spark.md says.
COLLECTION = re.compile(r"/api/v1/namespaces/[\w-]+/(pods|configmaps)")
# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
REQUIREMENT = re.compile(
    r"(?P<absent>!)?(?P<name>[\w./-]+)( in \((?P<several>[^)]*)\)|(?P<differs>!)?=+(?P<one>[\w.-]*))?(,|$)"
)
ADDRESS = "127.0.0.1"


class Store:
    """Objects by their paths, and all changes so far, for those who watch."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.changes: list[tuple[str, str, Object]] = []
        self.objects: dict[str, Object] = {}

    def change(self, kind: str, path: str, patch: Object) -> Object:
        """Note what an object becomes that is ADDED, MODIFIED or DELETED; nothing of one that is gone already."""
        with self.changed:
            if kind == "ADDED" or path in self.objects:
                version = {"metadata": {"resourceVersion": str(len(self.changes) + 1)}}
                self.objects[path] = merged(merged(self.objects.get(path, {}), patch), version)
                self.changes.append((kind, path, self.objects[path]))
                self.changed.notify_all()
            return (self.objects.pop if kind == "DELETED" else self.objects.get)(path, {})


class Node:
    """Runs the container of each pod as a process of this machine."""

    def __init__(self, settings: Object, store: Store) -> None:
        self.settings, self.store = settings, store
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, path: str, pod: Object) -> None:
        """Begin, and let the pod's status tell what becomes of it."""
        (container,) = pod["spec"]["containers"]
        directory = Path(self.settings["folder"]) / "pods" / pod["metadata"]["name"]
        variables = self._variables(pod, container, directory)
        directory.mkdir(parents=True)
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                self._command(container, variables), cwd=directory, env=variables, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self.processes[path] = process
        self.store.change("MODIFIED", path, status("Running", container, running={"startedAt": now()}))
        code = process.wait()
        end = {
            "exitCode": code if code >= 0 else 128 - code,
            "finishedAt": now(),
            "reason": "Error" if code else "Completed",
        }
        self.store.change("MODIFIED", path, status("Failed" if code else "Succeeded", container, terminated=end))

    def end(self, path: str) -> None:
        """Kill it, and all that it has begun."""
        if process := self.processes.get(path):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _variables(self, pod: Object, container: Object, directory: Path) -> dict[str, str]:
        """The container's environment. Its empty volumes lie in the pod's directory."""
        fields = {"metadata.name": pod["metadata"]["name"], "status.podIP": ADDRESS}
        variables = {
            "JAVA_HOME": self.settings["java"],
            "PATH": os.defpath,
            "PYSPARK_PYTHON": self.settings["python"],
            "SPARK_HOME": self.settings["spark"],
        }
        for its in container["env"]:
            source = its.get("valueFrom")
            variables[its["name"]] = fields[source["fieldRef"]["fieldPath"]] if source else its.get("value", "")
        for volume in container["volumeMounts"]:
            for name, value in variables.items():
                if value.startswith(volume["mountPath"]):
                    variables[name] = str(directory / volume["name"])
        return variables

    def _command(self, container: Object, variables: t.Mapping[str, str]) -> list[str]:
        """What entrypoint.sh of Spark's image makes of the argument "executor"."""
        assert container["args"] == ["executor"], container
        options = [value for name, value in variables.items() if name.startswith("SPARK_JAVA_OPT_")]
        words = {
            "driver-url": "DRIVER_URL",
            "executor-id": "EXECUTOR_ID",
            "cores": "EXECUTOR_CORES",
            "app-id": "APPLICATION_ID",
            "hostname": "EXECUTOR_POD_IP",
            "resourceProfileId": "RESOURCE_PROFILE_ID",
            "podName": "EXECUTOR_POD_NAME",
        }
        return [
            f"{variables['JAVA_HOME']}/bin/java",
            *options,
            f"-Xmx{variables['SPARK_EXECUTOR_MEMORY']}",
            *("-cp", f"{variables['SPARK_CONF_DIR']}:{variables['SPARK_HOME']}/jars/*"),
            "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
            *(word for name, variable in words.items() for word in (f"--{name}", variables[f"SPARK_{variable}"])),
        ]


class Handler(http.server.BaseHTTPRequestHandler):
    """One client's connection; see Kubernetes' API concepts: https://kubernetes.io/docs/reference/using-api/api-concepts/."""

    protocol_version = "HTTP/1.1"
    settings: t.ClassVar[Object]
    store: t.ClassVar[Store]
    node: t.ClassVar[Node]

    def log_message(self, *_words: t.Any) -> None:
        """The file of requests says more."""

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            super().handle_one_request()

    def answer(self, body: Object, code: HTTPStatus = HTTPStatus.OK) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, code: HTTPStatus) -> None:
        told = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": code.phrase.replace(" ", ""),
        }
        self.answer(told | {"message": f"{self.command} {self.path}: {code.phrase}"}, code)

    def do(self) -> None:
        """Note the request, and answer it."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        with (Path(self.settings["folder"]) / "requests").open("a") as file:
            file.write(json.dumps([self.command, self.path, body.decode()]) + "\n")
        collection, _slash, _name = url.path.rpartition("/")
        if self.headers.get("Authorization") != f"Bearer {self.settings['token']}":
            self.refuse(HTTPStatus.UNAUTHORIZED)
        elif COLLECTION.fullmatch(url.path):
            self.do_to_collection(url.path, query, json.loads(body or b"{}"))
        elif COLLECTION.fullmatch(collection) and url.path in self.store.objects:
            self.do_to_object(url.path, json.loads(body or b"{}"))
        else:
            self.refuse(HTTPStatus.NOT_FOUND if COLLECTION.fullmatch(collection) else HTTPStatus.FORBIDDEN)

    do_GET = do_POST = do_PATCH = do_DELETE = do  # noqa: N815  # http.server's own names

    def do_to_collection(self, path: str, query: t.Mapping[str, str], body: Object) -> None:
        if self.command == "POST":
            self.create(f"{path}/{body['metadata']['name']}", body)
        elif self.command == "GET" and query.get("watch") == "true":
            self.watch(path, query)
        else:
            with self.store.changed:
                its = {where: each for where, each in self.store.objects.items() if suits(where, each, path, query)}
                version = {"resourceVersion": str(len(self.store.changes))}
            if self.command == "DELETE":
                for where in its:
                    self.delete(where)
            self.answer({"kind": "List", "apiVersion": "v1", "metadata": version, "items": list(its.values())})

    def create(self, path: str, body: Object) -> None:
        if path in self.store.objects:
            self.refuse(HTTPStatus.CONFLICT)
            return
        its = merged(body, {"metadata": {"uid": str(uuid.uuid4()), "creationTimestamp": now()}})
        if body["kind"] == "Pod":
            its["status"] = {"phase": "Pending"}
        self.answer(self.store.change("ADDED", path, its), HTTPStatus.CREATED)
        if body["kind"] == "Pod":
            threading.Thread(target=self.node.run, args=(path, its)).start()

    def watch(self, path: str, query: t.Mapping[str, str]) -> None:
        """Tell all changes after a version through a WebSocket (RFC 6455), as long as somebody listens."""
        told = int(query.get("resourceVersion", 0))
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(HTTPStatus.SWITCHING_PROTOCOLS)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while True:
            with self.store.changed:
                while len(self.store.changes) == told:
                    self.store.changed.wait()
                new, told = self.store.changes[told:], len(self.store.changes)
            for kind, where, its in new:
                if suits(where, its, path, query):
                    message = json.dumps({"type": kind, "object": its}).encode()
                    self.wfile.write(struct.pack("!BBQ", 0x81, 127, len(message)) + message)

    def do_to_object(self, path: str, body: Object) -> None:
        its = self.store.objects[path]
        if self.command == "DELETE":
            self.delete(path)
        elif self.command == "PATCH":
            its = self.store.change("MODIFIED", path, body)
        self.answer(its)

    def delete(self, path: str) -> None:
        """An object, and the process of a pod."""
        self.node.end(path)
        self.store.change("DELETED", path, {})


def suits(where: str, its: Object, collection: str, query: t.Mapping[str, str]) -> bool:
    """Whether an object is in this collection, and has the labels that were asked for."""
    labels = its["metadata"].get("labels", {})
    if where.rpartition("/")[0] != collection:
        return False
    for needed in REQUIREMENT.finditer(query.get("labelSelector", "")):
        value = labels.get(needed["name"])
        wanted = re.split(r",\s*", needed["several"] or needed["one"] or value or "")
        if (value in wanted) == bool(needed["absent"] or needed["differs"]):
            return False
    return True


def merged(old: Object, patch: Object) -> Object:
    """As PATCH and the status of pods need it."""
    return old | {
        name: merged(old[name], value) if isinstance(value, dict) and isinstance(old.get(name), dict) else value
        for name, value in patch.items()
    }


def status(phase: str, container: Object, **state: t.Any) -> Object:
    told = {"name": container["name"], "image": container["image"], "ready": phase == "Running", "state": state}
    return {"status": {"phase": phase, "podIP": ADDRESS, "containerStatuses": [told]}}


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main(settings: Object) -> None:
    """Serve until SIGTERM."""
    Handler.settings, Handler.store = settings, Store()
    Handler.node = Node(settings, Handler.store)
    with http.server.ThreadingHTTPServer((ADDRESS, settings["port"]), Handler) as server:
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings["pem"])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        signal.signal(signal.SIGTERM, lambda *_unused: threading.Thread(target=server.shutdown).start())
        print("listening", flush=True)
        server.serve_forever(0.05)
    for path in Handler.node.processes:
        Handler.node.end(path)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
