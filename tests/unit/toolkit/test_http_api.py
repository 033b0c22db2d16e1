from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from aiohttp import web

from support.http_script import Asked, HttpScript, as_json
from support.upstream import closed_port
from waypost.corefile.errors import CorefileError
from waypost.toolkit.http_api import ApiError, Endpoint, HttpApi, endpoint_of, excerpt
from waypost.toolkit.upstream_tls import client_context, files_of

TLS = Path(__file__).parents[2] / "data/kube-tls"


def ok(asked: Asked) -> web.Response:
    return as_json({"target": asked.target, "method": asked.method, "body": asked.body.decode()})


async def asking(*endpoints: Endpoint, tls: ssl.SSLContext | None = None, hostname: str = "", **how: object) -> bytes:
    """One request through an API that is opened and closed for it."""
    api = HttpApi(endpoints, headers={"User-Agent": "test"}, patience=5, tls=tls, hostname=hostname)
    api.open()
    try:
        return (await api.request("GET", "/x?a=%2F", **how)).body  # type: ignore[arg-type]
    finally:
        await api.close()


async def test_a_request_goes_out_as_it_is_said() -> None:
    async with HttpScript(ok) as script:
        body = await asking(Endpoint(script.url), body=b"{}", headers={"X-Token": "t"})
        assert body == b'{"target": "/x?a=%2F", "method": "GET", "body": "{}"}'
        (asked,) = script.seen
        assert (asked.headers["User-Agent"], asked.headers["X-Token"]) == ("test", "t")


async def test_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "api.sock")
    with pytest.raises(ApiError, match=f"dial unix {path}: connect: no such file or directory"):
        await asking(Endpoint("http://localhost", path))
    async with HttpScript(ok, path=path):
        assert b"/x" in await asking(Endpoint("http://localhost", path))


async def test_tls_with_a_certificate_of_the_client() -> None:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(TLS / "ca.pem"))
    server.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    server.verify_mode = ssl.CERT_REQUIRED
    ours = client_context(files_of([str(TLS / name) for name in ("client.pem", "client.key", "ca.pem")]))
    async with HttpScript(ok, tls=server) as script:
        assert b"/x" in await asking(Endpoint(script.url), tls=ours, hostname="kubernetes.default.svc")
        with pytest.raises(ApiError, match=r"certificate is not valid for '127\.0\.0\.1'"):
            await asking(Endpoint(script.url), tls=ours)
        with pytest.raises(ApiError, match="failed to verify certificate: x509"):
            await asking(Endpoint(script.url), hostname="kubernetes.default.svc")


async def test_a_redirection_is_an_answer_like_any_other() -> None:
    async with HttpScript(lambda asked: web.Response(status=302, headers={"Location": "/y"}, text="there")) as script:
        assert await asking(Endpoint(script.url)) == b"there"
        assert len(script.seen) == 1


async def test_before_it_is_open_there_is_nobody() -> None:
    api = HttpApi((), headers={}, patience=1)
    with pytest.raises(ApiError, match="not connected"):
        await api.request("GET", "/")


async def test_the_last_error_is_told_when_all_have_failed() -> None:
    with closed_port() as port:
        async with HttpScript(lambda asked: web.Response(status=500, text="a\n b")) as script:
            with pytest.raises(ApiError, match=r'^GET "http://127.*/x\?a=%2F": status 500: a b$'):
                await asking(Endpoint(f"http://127.0.0.1:{port}"), Endpoint(script.url))
            with pytest.raises(ApiError, match="connection refused"):
                await asking(Endpoint(script.url), Endpoint(f"http://127.0.0.1:{port}"))


def test_excerpt_is_one_short_line() -> None:
    assert excerpt(b"a\n\n\xffb" + b"c" * 500) == "a \N{REPLACEMENT CHARACTER}b" + "c" * 195


@pytest.mark.parametrize(
    ("text", "scheme", "url"),
    [
        ("http://localhost:2379", "https", "http://localhost:2379"),
        ("https://[::1]:2379/", "http", "https://[::1]:2379"),
        ("etcd.example:2379", "http", "http://etcd.example:2379"),
        ("etcd.example:2379", "https", "https://etcd.example:2379"),
        ("192.0.2.1", "http", "http://192.0.2.1"),
    ],
)
def test_endpoints(text: str, scheme: str, url: str) -> None:
    assert endpoint_of(text, scheme) == Endpoint(url)


def test_endpoint_on_a_unix_socket() -> None:
    assert endpoint_of("unix:///secrets/api.sock", unix=True) == Endpoint("http://localhost", "/secrets/api.sock")
    with pytest.raises(CorefileError, match="expected http://HOST:PORT, https://HOST:PORT, unix://PATH or HOST:PORT"):
        endpoint_of("unix://", unix=True)


@pytest.mark.parametrize(
    "text",
    ["", "unix:///run/etcd", "http://", "http://a:b", "http://a:99999", "http://a/v3", "http://a?b=c", "http://[::1"],
)
def test_endpoints_that_are_none(text: str) -> None:
    with pytest.raises(CorefileError, match="expected http://HOST:PORT, https://HOST:PORT or HOST:PORT"):
        endpoint_of(text)
