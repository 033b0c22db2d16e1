"""The `dnstap` directive."""

from __future__ import annotations

import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.dnstap.config import Config, parse
from waypost.plugins.dnstap.place import Place

UNIX = Place("unix", "/run/a.sock")
TCP = Place("tcp", "127.0.0.1:6000")
TLS = Place("tls", "example.org:6000")


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("dnstap /run/a.sock", Config(UNIX)),
        ("dnstap unix:///run/a.sock full", Config(UNIX, full=True)),
        ("dnstap tcp://127.0.0.1:6000/ full", Config(TCP, full=True)),
        ("dnstap /run/a.sock full 1024 4096", Config(UNIX, full=True, buffer=1024, queue=4096)),
        ("dnstap /run/a.sock full 8", Config(UNIX, full=True, buffer=8)),
        ("dnstap /run/a.sock some 8 2 x", Config(UNIX, buffer=8, queue=2, ignored=("some", "x"))),
        ("dnstap tls://example.org:6000 {\n skipverify\n}", Config(TLS, skip_verify=True)),
        (
            'dnstap /run/a.sock {\n identity ns1\n version v2\n extra "{name} {/a/b}"\n}',
            Config(UNIX, identity="ns1", version="v2", extra="{name} {/a/b}"),
        ),
        ('dnstap /run/a.sock {\n identity ""\n}', Config(UNIX, identity="")),
        ("dnstap listen tcp://127.0.0.1:6000 full", Config(TCP, listen=True, full=True)),
        (
            "dnstap listen tls://example.org:6000 {\n tls cert key ca\n skipverify\n}",
            Config(TLS, listen=True, tls=("cert", "key", "ca"), skip_verify=True),
        ),
        (
            "dnstap listen tls://example.org:6000 {\n tls cert key\n}",
            Config(TLS, listen=True, tls=("cert", "key")),
        ),
    ],
)
def test_options(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == (config,)


def test_several_taps() -> None:
    text = "dnstap /run/a.sock full\ndnstap tcp://127.0.0.1:6000 {\n identity x\n}"
    assert parse(make_directive(text)) == (Config(UNIX, full=True), Config(TCP, identity="x"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("dnstap", "Wrong argument count or unexpected line ending after 'dnstap'"),
        ("dnstap listen", "dnstap listen requires an endpoint argument"),
        ("dnstap a full x", 'dnstap: invalid MultipleTcpWriteBuf "x": strconv.Atoi: parsing "x": invalid syntax'),
        ("dnstap a full 0", "dnstap: MultipleTcpWriteBuf must be between 1 and 1024 (MiB units): 0"),
        ("dnstap a full 1025", "dnstap: MultipleTcpWriteBuf must be between 1 and 1024 (MiB units): 1025"),
        ("dnstap a full 1 y", 'dnstap: invalid MultipleQueue "y": strconv.Atoi: parsing "y": invalid syntax'),
        ("dnstap a full 1 4097", "dnstap: MultipleQueue must be between 1 and 4096 (x10k messages): 4097"),
        ("dnstap a {\n identity\n}", "Wrong argument count or unexpected line ending after 'identity'"),
        ("dnstap a {\n identity a b\n}", "unknown property 'b'"),
        ("dnstap a {\n message_types x\n}", "unknown property 'message_types'"),
        ("dnstap a {\n tls a b\n}", "tls directive only valid for listeners"),
        ("dnstap listen a {\n tls a\n}", "tls requires cert and key file paths"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error
