"""The words of a `waypost` directive, and what is said about them."""

from __future__ import annotations

import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_site, run
from waypost.cli.admin import DEFAULT_ADDRESS
from waypost.corefile.errors import CorefileError
from waypost.plugins.waypost import setup
from waypost.plugins.waypost.config import DEFAULT_ADMIN, Config, parse
from waypost.wire.reply import DROP


@pytest.mark.parametrize(
    ("lines", "config"),
    [
        ("admin", Config("127.0.0.1:9253")),
        ("admin [::1]:80", Config("[::1]:80")),
        ("admin :9253", Config(":9253")),
        ("ready_max_age 3m", Config("", 180.0)),
        ("ready_max_age 3m\nadmin localhost:1", Config("localhost:1", 180.0)),
        ("max_udp_size 512", Config(max_udp_size=512)),
        ("max_udp_size 4096", Config(max_udp_size=4096)),
    ],
)
def test_options(lines: str, config: Config) -> None:
    assert parse(make_directive(f"waypost {{\n{lines}\n}}")) == config


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("waypost", 2, "nothing is asked for, expected one of: admin, ready_max_age, max_udp_size"),
        ("waypost {\n}", 3, "nothing is asked for, expected one of: admin, ready_max_age, max_udp_size"),
        ("waypost admin", 2, "Wrong argument count or unexpected line ending after 'admin'"),
        ("waypost {\nadmin\nfoo\n}", 4, "unknown property 'foo', expected one of: admin, ready_max_age, max_udp_size"),
        ("waypost {\nadmin :1 :2\n}", 3, "Wrong argument count or unexpected line ending after ':2'"),
        ("waypost {\nadmin 127.0.0.1\n}", 3, "address 127.0.0.1: missing port in address"),
        ("waypost {\nadmin :x\n}", 3, "address x: invalid port"),
        ("waypost {\nready_max_age\n}", 3, "Wrong argument count or unexpected line ending after 'ready_max_age'"),
        ("waypost {\nready_max_age 0s\n}", 3, "ready_max_age must be positive: 0s"),
        ("waypost {\nready_max_age -1s\n}", 3, "ready_max_age must be positive: -1s"),
        ("waypost {\nready_max_age soon\n}", 3, 'time: invalid duration "soon"'),
        ("waypost {\nmax_udp_size\n}", 3, "Wrong argument count or unexpected line ending after 'max_udp_size'"),
        ("waypost {\nmax_udp_size 511\n}", 3, "max_udp_size must be from 512 to 4096: 511"),
        ("waypost {\nmax_udp_size 4097\n}", 3, "max_udp_size must be from 512 to 4096: 4097"),
        ("waypost {\nmax_udp_size big\n}", 3, 'strconv.Atoi: parsing "big": invalid syntax'),
        ("waypost {\nadmin\n}\nwaypost {\nadmin\n}", 5, "this plugin can only be used once per Server Block"),
    ],
)
def test_refused(text: str, line: int, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert (caught.value.text, caught.value.line) == (error, line)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "localhost:1"])
def test_loopback_needs_no_warning(address: str) -> None:
    assert Config(address, 120.0).warnings == []


@pytest.mark.parametrize("address", [":1", "0.0.0.0:1", "[::]:1", "192.0.2.1:1", "ns.example:1"])
def test_an_address_that_others_reach_warns(address: str) -> None:
    (warning,) = Config(address).warnings
    assert warning == f"admin {address} is not protected: whoever can reach it can read and flush the caches"


def test_a_limit_that_a_quiet_server_exceeds_warns() -> None:
    assert Config(ready_max_age=119.0).warnings[0].startswith("ready_max_age below 2m: ")


def test_commands_ask_where_the_server_listens() -> None:
    assert DEFAULT_ADDRESS == DEFAULT_ADMIN


class Following(FakeNext):
    """A plugin that can be told how long its source may be silent; `has_source` says whether there is one."""

    def __init__(self, *, has_source: bool) -> None:
        super().__init__(DROP)
        self.has_source = has_source
        self.limit = 0.0

    def limit_silence(self, seconds: float) -> bool:
        self.limit = seconds
        return self.has_source


async def test_the_limit_holds_for_every_block() -> None:
    process = FakeProcess()
    services = process.services()
    site, other = make_site(services=services), make_site("cluster.local", services=services)
    site.peers = other.peers = [site, other]
    setup(make_directive("waypost {\nready_max_age 3m\n}"), site)
    manifests, api = Following(has_source=False), Following(has_source=True)
    site.add(FakeNext(DROP))
    site.add(manifests)
    other.add(api)
    await run(services.hooks.start)
    assert (manifests.limit, api.limit) == (180.0, 180.0)
    assert process.lines == []


async def test_a_limit_for_nobody_is_pointed_out() -> None:
    process = FakeProcess()
    site = make_site(process=process)
    setup(make_directive("waypost {\nready_max_age 3m\n}"), site)
    site.add(Following(has_source=False))
    await run(site.hooks.start)
    assert process.lines == ["[WARNING] ready_max_age has no effect: no block follows a Kubernetes API"]
