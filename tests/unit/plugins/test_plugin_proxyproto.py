"""The `proxyproto` directive."""

from __future__ import annotations

import pytest

from support.chain import FakeProcess, make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.corefile.networks import Networks
from waypost.dispatch.proxying import ProxyPolicy
from waypost.plugins.proxyproto import parse, setup


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("proxyproto", ProxyPolicy(None, "use")),
        ("proxyproto {\n allow 192.0.2.0/24 2001:db8::/32\n allow 198.51.100.1/32\n}",
         ProxyPolicy(Networks.of(["192.0.2.0/24", "2001:db8::/32", "198.51.100.1/32"]), "ignore")),
        ("proxyproto {\n allow 192.0.2.0/24\n default Reject\n}", ProxyPolicy(Networks.of(["192.0.2.0/24"]), "reject")),
        ("proxyproto {\n default skip\n}", ProxyPolicy(None, "skip")),
        ("proxyproto {\n udp_session_tracking 28s\n}", ProxyPolicy(None, "use", 28.0, 10240)),
        ("proxyproto {\n udp_session_tracking 1m 20000\n}", ProxyPolicy(None, "use", 60.0, 20000)),
        ("proxyproto {\n allow\n}", ProxyPolicy(None, "use")),
    ],
)  # fmt: skip
def test_options(text: str, policy: ProxyPolicy) -> None:
    assert parse(make_directive(text)) == policy


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("proxyproto x", "Wrong argument count or unexpected line ending after 'x'"),
        ("proxyproto {\n foo\n}", "unknown option 'foo'"),
        ("proxyproto {\n allow 192.0.2.1\n}", "192.0.2.1: invalid CIDR address: 192.0.2.1"),
        ("proxyproto {\n default\n}", "Wrong argument count or unexpected line ending after 'default'"),
        ("proxyproto {\n default maybe\n}", "Wrong argument count or unexpected line ending after 'maybe'"),
        ("proxyproto {\n udp_session_tracking\n}",
         "Wrong argument count or unexpected line ending after 'udp_session_tracking'"),
        ("proxyproto {\n udp_session_tracking x\n}",
         'udp_session_tracking: invalid duration "x": time: invalid duration "x"'),
        ("proxyproto {\n udp_session_tracking 1s 0\n}",
         'udp_session_tracking: invalid max sessions "0": must be a positive integer'),
        ("proxyproto {\n udp_session_tracking 1s x\n}",
         'udp_session_tracking: invalid max sessions "x": must be a positive integer'),
    ],
)  # fmt: skip
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


def test_it_marks_the_block_and_says_where_headers_are_not_read() -> None:
    process = FakeProcess()
    site = make_site(".", "quic://.:853", process=process)
    setup(make_directive("proxyproto"), site)
    assert site.proxying == ProxyPolicy(None, "use")
    assert process.lines == ["[WARNING] PROXY headers are not read on quic://.:853"]
