"""The tls directive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.chain import FakeProcess, make_directive, make_site
from support.secure import CA, KEYS, TLS
from waypost.corefile.errors import CorefileError
from waypost.dispatch.transports import TlsSettings
from waypost.plugins.tls import parse, setup

CERT, KEY = TLS.certificate, TLS.key
AT = "Corefile:3 - Error during parsing: "
ARGUMENT = "Wrong argument count or unexpected line ending after "


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("tls a b", TlsSettings("a", "b")),
        ("tls a b c", TlsSettings("a", "b", "c")),
        ("tls a b {\nclient_auth request\n}", TlsSettings("a", "b", client_auth="request")),
        ("tls a b c {\nclient_auth require\n}", TlsSettings("a", "b", "c", "require")),
        ("tls a b {\nclient_auth require_and_verify\n}", TlsSettings("a", "b", client_auth="require_and_verify")),
        ("tls a b {\nclient_auth nocert\nkeylog k\n}", TlsSettings("a", "b", keylog="k")),
    ],
)
def test_parse(text: str, settings: TlsSettings) -> None:
    assert parse(make_directive(text)) == (settings,)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("tls", f"plugin/tls: Corefile:2 - Error during parsing: {ARGUMENT}'tls'"),
        ("tls a", f"plugin/tls: Corefile:2 - Error during parsing: {ARGUMENT}'a'"),
        ("tls a b c d", f"plugin/tls: Corefile:2 - Error during parsing: {ARGUMENT}'d'"),
        ("tls a b {\nfoo\n}", "Corefile:3 - Error during parsing: unknown option 'foo'"),
        ("tls a b {\nclient_auth\n}", f"Corefile:3 - Error during parsing: {ARGUMENT}'client_auth'"),
        ("tls a b {\nclient_auth x\n}", "Corefile:3 - Error during parsing: unknown authentication type 'x'"),
        ("tls a b {\nkeylog a b\n}", f"Corefile:3 - Error during parsing: {ARGUMENT}'b'"),
        (
            "tls a b {\nclient_auth require\n}",
            AT + "client_auth require needs a CA: a certificate that nobody has signed proves nothing",
        ),
        (
            "tls {\nacme example.org\n}",
            AT + "certificates by ACME are not supported: expected `tls CERT KEY`, files that are followed",
        ),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == error


def test_setup_takes_the_last_line() -> None:
    site = make_site("tls://.")
    setup(make_directive(f"tls {KEYS}/client.pem {KEYS}/client.key\ntls {CERT} {KEY} {CA}"), site)
    assert site.tls == TlsSettings(CERT, KEY, CA)


def test_names_below_root(tmp_path: Path) -> None:
    for name in ("server.pem", "server.key", "ca.pem"):
        shutil.copy(KEYS / name, tmp_path / name)
    process = FakeProcess()
    site = make_site("tls://.", process=process)
    site.root = str(tmp_path)
    setup(make_directive("tls server.pem server.key ca.pem {\nkeylog keys\n}"), site)
    assert site.tls == TlsSettings(
        *(f"{tmp_path}/{name}" for name in ("server.pem", "server.key", "ca.pem")), keylog=f"{tmp_path}/keys"
    )
    assert process.lines == [f'[WARNING] Writing TLS Key Log to "{tmp_path}/keys"']


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ("/none/a /none/b", "could not load TLS cert: open /none/a: no such file or directory"),
        (f"{CERT} /none/b", "could not load TLS cert: open /none/b: no such file or directory"),
        (f"{CERT} {KEYS}/other.key", f"could not load TLS cert: {CERT}, {KEYS}/other.key: "),
        (f"{KEY} {KEY}", f"could not load TLS cert: {KEY}, {KEY}: "),
    ],
)
def test_files_that_cannot_be_used(files: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        setup(make_directive(f"tls {files}"), make_site("tls://."))
    assert str(caught.value).startswith(error)
