"""A real Kubernetes API server with its etcd, on loopback, where KUBEBUILDER_ASSETS names a folder that has both.

    with ControlPlane(Path(os.environ["KUBEBUILDER_ASSETS"]), folder) as plane:
        plane.kubeconfig, plane.api, plane.restart(), plane.compact()

The folder is one that `setup-envtest use -p path` prints. No controller runs: EndpointSlices are ours to make, and
namespaces are never gone. Who has the token may do everything.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from support.process import free_port

VARIABLE = "KUBEBUILDER_ASSETS"
PROGRAMS = ("etcd", "kube-apiserver")
TOKEN = "envtest"
SERVICE_RANGE = "10.96.0.0/16"
_PATIENCE = 60.0
_LAST_LINES = 30


def missing(env: Mapping[str, str]) -> str:
    """What a control plane cannot be started for, in one line; empty if all is there."""
    folder = env.get(VARIABLE, "")
    if not folder:
        return f"{VARIABLE} is not set: expected a folder with {' and '.join(PROGRAMS)}"
    lacking = [name for name in PROGRAMS if not os.access(Path(folder) / name, os.X_OK)]
    if lacking:
        return f"{VARIABLE}={folder} has no program {' and no '.join(lacking)}"
    if shutil.which("openssl", path=env.get("PATH")) is None:
        return "openssl is not on the PATH: the API server's certificate is made with it"
    return ""


class Ports(NamedTuple):
    """Where the programs listen on 127.0.0.1: etcd for clients and for peers, the API server."""

    etcd: int
    peers: int
    api: int


def certificate_commands(folder: Path) -> list[list[str]]:
    """Make `server.pem` with `server.key`, trusted as it is, and the key that signs tokens of service accounts."""
    server_key, service_key = str(folder / "server.key"), str(folder / "accounts.key")
    new_key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=kube-apiserver", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    return [
        [*new_key, *names, "-keyout", server_key, "-out", str(folder / "server.pem")],
        ["openssl", "genrsa", "-out", service_key, "2048"],
    ]


def etcd_arguments(folder: Path, ports: Ports) -> list[str]:
    """A member on its own, which does not wait for the disk."""
    clients, peers = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.peers}"
    return [
        "--name=only",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=only={peers}",
        "--unsafe-no-fsync",
    ]


def api_arguments(folder: Path, ports: Ports) -> list[str]:
    """RBAC as in a cluster; only `ControlPlane.compact` compacts etcd."""
    account_key = folder / "accounts.key"
    return [
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        "--etcd-compaction-interval=0s",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports.api}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--cert-dir={folder}",
        f"--tls-cert-file={folder / 'server.pem'}",
        f"--tls-private-key-file={folder / 'server.key'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={account_key}",
        f"--service-account-signing-key-file={account_key}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
    ]


def write_tokens(path: Path) -> None:
    """The API server's list of tokens: ours is an administrator's."""
    path.write_text(f'{TOKEN},admin,1,"system:masters"\n', encoding="utf-8")


def write_kubeconfig(path: Path, url: str, ca: Path) -> None:
    """A kubeconfig (YAML, of which JSON is a part) for this server with our token."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
    }
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")


class Program:
    """A program that runs, with its output in a file."""

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self._log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def until(self, ready: Any) -> None:
        """Wait until `ready()` is true; fails, with its last lines, if it ends before or takes a minute."""
        deadline = time.monotonic() + _PATIENCE
        while not ready():
            assert self._popen.poll() is None, f"ended: {self.last_lines()}"
            assert time.monotonic() < deadline, f"not ready: {self.last_lines()}"
            time.sleep(0.1)

    def stop(self) -> None:
        """Kill it: nothing is to be kept."""
        self._popen.kill()
        self._popen.wait()

    def last_lines(self) -> str:
        """What it said last."""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:])


class ControlPlane:
    """The two programs. Use it as a context manager; `folder` holds all their files."""

    def __init__(self, assets: Path, folder: Path) -> None:
        self._assets = assets
        self._folder = folder
        self.ports = Ports(free_port(), free_port(), free_port())
        self.kubeconfig = folder / "kubeconfig"
        self.api = f"https://127.0.0.1:{self.ports.api}"
        self._etcd: Program | None = None
        self._server: Program | None = None

    def __enter__(self) -> Self:
        for command in certificate_commands(self._folder):
            subprocess.run(command, check=True, capture_output=True)
        write_tokens(self._folder / "tokens.csv")
        write_kubeconfig(self.kubeconfig, self.api, self.ca)
        try:
            self._etcd = self._start("etcd", etcd_arguments)
            self._etcd.until(lambda: _answers(f"http://127.0.0.1:{self.ports.etcd}/health"))
            self.start_api()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @property
    def ca(self) -> Path:
        """What a client of the API server has to trust."""
        return self._folder / "server.pem"

    @property
    def tls(self) -> ssl.SSLContext:
        """The same for Python's clients."""
        return ssl.create_default_context(cafile=str(self.ca))

    def start_api(self) -> None:
        """Start the API server, and wait until it is ready."""
        self._server = self._start("kube-apiserver", api_arguments)
        self._server.until(lambda: _answers(f"{self.api}/readyz", self.tls))

    def stop_api(self) -> None:
        """Kill the API server."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def restart_api(self) -> None:
        """Another API server over the same etcd: it knows no history."""
        self.stop_api()
        self.start_api()

    def compact(self) -> None:
        """Let etcd forget every version but the present one."""
        revision = _post(self.ports.etcd, "/v3/maintenance/status", {})["header"]["revision"]
        _post(self.ports.etcd, "/v3/kv/compaction", {"revision": revision, "physical": True})

    def _start(self, name: str, arguments: Any) -> Program:
        command = [self._assets / name, *arguments(self._folder, self.ports)]
        return Program(command, self._folder / f"{name}.log")

    def _stop(self) -> None:
        self.stop_api()
        if self._etcd is not None:
            self._etcd.stop()
            self._etcd = None


def _answers(url: str, tls: ssl.SSLContext | None = None) -> bool:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"} if tls is not None else {})
    try:
        with urllib.request.urlopen(request, timeout=2, context=tls) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _post(port: int, path: str, body: dict[str, Any]) -> Any:
    """etcd's API as JSON; 64-bit numbers are text in it."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)
