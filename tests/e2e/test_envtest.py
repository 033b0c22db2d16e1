"""What starts a real API server, as far as it goes without one."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from aiohttp import web

from support.apiclient import ApiClient, path_of, path_to
from support.apiobjects import api_namespace, api_service, api_slice
from support.apiserver import ApiServer
from support.envtest import (
    PROGRAMS,
    TOKEN,
    VARIABLE,
    ControlPlane,
    Ports,
    Program,
    api_arguments,
    certificate_commands,
    etcd_arguments,
    missing,
    write_kubeconfig,
    write_tokens,
)
from support.followed import following
from waypost.kube.config import load_kubeconfig

PORTS = Ports(2379, 2380, 6443)
WITH_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not on the PATH")


def program(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_what_is_missing(tmp_path: Path) -> None:
    assert missing({}) == "KUBEBUILDER_ASSETS is not set: expected a folder with etcd and kube-apiserver"
    env = {VARIABLE: str(tmp_path), "PATH": ""}
    assert missing(env) == f"KUBEBUILDER_ASSETS={tmp_path} has no program etcd and no kube-apiserver"
    program(tmp_path / "etcd")
    (tmp_path / "kube-apiserver").write_text("not a program")
    assert missing(env) == f"KUBEBUILDER_ASSETS={tmp_path} has no program kube-apiserver"
    program(tmp_path / "kube-apiserver")
    assert missing(env).startswith("openssl is not on the PATH")
    program(tmp_path / "openssl")
    assert missing(env | {"PATH": str(tmp_path)}) == ""


def flags(arguments: list[str]) -> dict[str, str]:
    """Arguments of the form `--name=value`, each once."""
    pairs = [argument.removeprefix("--").partition("=") for argument in arguments]
    assert all(argument.startswith("--") for argument in arguments)
    assert len({name for name, _, _ in pairs}) == len(pairs)
    return {name: value for name, _, value in pairs}


def test_arguments_fit_together(tmp_path: Path) -> None:
    etcd, api = flags(etcd_arguments(tmp_path, PORTS)), flags(api_arguments(tmp_path, PORTS))
    assert api["etcd-servers"] == etcd["listen-client-urls"] == etcd["advertise-client-urls"] == "http://127.0.0.1:2379"
    assert etcd["initial-cluster"] == f"{etcd['name']}={etcd['listen-peer-urls']}"
    assert etcd["initial-advertise-peer-urls"] == etcd["listen-peer-urls"] == "http://127.0.0.1:2380"
    assert (api["bind-address"], api["secure-port"]) == ("127.0.0.1", "6443")
    made = {word for command in certificate_commands(tmp_path) for word in command}
    assert {api["tls-cert-file"], api["tls-private-key-file"], api["service-account-key-file"]} <= made
    assert api["service-account-key-file"] == api["service-account-signing-key-file"]


def test_tokens(tmp_path: Path) -> None:
    """Token, user, uid and groups, as the API server reads them."""
    write_tokens(tmp_path / "tokens.csv")
    assert (tmp_path / "tokens.csv").read_text() == 'envtest,admin,1,"system:masters"\n'


@WITH_OPENSSL
async def test_the_kubeconfig_leads_to_a_server_with_the_certificate(tmp_path: Path) -> None:
    """Over TLS, with our token, by the plugin itself and by the client of the tests."""
    for command in certificate_commands(tmp_path):
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    assert "PRIVATE KEY" in (tmp_path / "accounts.key").read_text()
    objects = [api_namespace("a"), api_service("a/web", "10.96.0.1")]
    with ApiServer(objects, tls=context) as server:
        server.fault(token=TOKEN)
        kubeconfig = tmp_path / "kubeconfig"
        write_kubeconfig(kubeconfig, server.url, tmp_path / "server.pem")
        assert load_kubeconfig(str(kubeconfig), None).server == server.url
        async with following(server, access=f"kubeconfig {kubeconfig}") as cluster:
            await cluster.becomes({"web.a.svc": ["10.96.0.1"]})
        tls = ssl.create_default_context(cafile=str(tmp_path / "server.pem"))
        async with ApiClient(server.url, TOKEN, tls) as api:
            seen = await api.version("Service")
            assert await api.watch_code("Service", seen) == 200
            server.expire()
            assert await api.watch_code("Service", seen) == 410


def test_paths() -> None:
    slices = "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices"
    assert path_of("Service") == "/api/v1/services"
    assert path_to(api_namespace("a"), create=True) == "/api/v1/namespaces"
    assert path_to(api_service("a/web"), create=True) == "/api/v1/namespaces/a/services"
    assert path_to(api_slice("a/web-1")) == f"{slices}/web-1"


async def test_the_client_changes_objects(unused_tcp_port: int) -> None:
    asked: list[tuple[str, str, str, object]] = []

    failures = [503, 500]

    async def answer(request: web.Request) -> web.Response:
        if failures:
            return web.Response(status=failures.pop())
        body = await request.json() if request.can_read_body else None
        asked.append((request.method, request.path, request.content_type, body))
        if request.headers["Authorization"] != "Bearer t":
            return web.json_response({}, status=401)
        return web.json_response(body or {}, status=201 if request.method == "POST" else 200)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    url, item = f"http://127.0.0.1:{unused_tcp_port}", api_service("a/web", "10.96.0.1")
    try:
        async with ApiClient(url, "t", pause=0.0) as api:
            assert await api.create(item) == {"apiVersion": "v1", **item}
            await api.patch(item, {"spec": None})
            await api.delete(item)
        async with ApiClient(url, "wrong") as api:
            with pytest.raises(AssertionError, match="DELETE /api/v1/namespaces/a/services/web: 401"):
                await api.delete(item)
            assert len(asked) == 4, "a refusal is not tried again"
    finally:
        await runner.cleanup()
    where = "/api/v1/namespaces/a/services"
    assert asked[:3] == [
        ("POST", where, "application/json", {"apiVersion": "v1", **item}),
        ("PATCH", f"{where}/web", "application/merge-patch+json", {"spec": None}),
        ("DELETE", f"{where}/web", "application/octet-stream", None),
    ]


def test_a_program_that_ends_says_why(tmp_path: Path) -> None:
    program(tmp_path / "etcd", "#!/bin/sh\necho unknown flag >&2\nexit 2\n")
    started = Program([tmp_path / "etcd"], tmp_path / "log")
    with pytest.raises(AssertionError, match="ended: unknown flag"):
        started.until(lambda: False)
    started.stop()


@WITH_OPENSSL
def test_a_control_plane_that_does_not_start_leaves_nothing_running(tmp_path: Path) -> None:
    for name in PROGRAMS:
        program(tmp_path / name, f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/started\nexit 1\n')
    with pytest.raises(AssertionError, match="ended"), ControlPlane(tmp_path, tmp_path):
        pass
    (line,) = (tmp_path / "started").read_text().splitlines()
    assert line.startswith(f"{tmp_path}/etcd --name=only --data-dir={tmp_path}/etcd")
