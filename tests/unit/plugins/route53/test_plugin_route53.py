"""Questions answered from hosted zones that botocore's own stub gives, judged by dnspython."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import pytest
from botocore.exceptions import ProfileNotFound

from support.asking import texts
from support.chain import FakeProcess, make_directive, make_site, run
from support.route53 import KEYS, Aws, alias, head, record_set
from support.serving import Serving
from support.upstream import until
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.plugins.route53 import parse, setup
from waypost.plugins.route53.config import Account, Config
from waypost.plugins.route53.source import HostedZone, Source, SourceError, connect_to_aws
from waypost.toolkit import extras
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.record import address, cname
from waypost.wire.reply import Reply, authoritative, failure

BALANCER = names.from_text("lb.example.net.")
HOST = names.from_text("host.example.net.")
SOA = "example.org. 900 SOA ns.example.net. admin.example.net. {} 7200 900 1209600 86400"


PUBLIC = [
    *head(),
    record_set("www.example.org.", "A", "192.0.2.1"),
    record_set("\\052.wild.example.org.", "A", "192.0.2.2"),
    record_set("a.b.c.example.org.", "A", "192.0.2.3"),
    record_set("near.example.org.", "CNAME", "www.example.org"),
    record_set("far.example.org.", "CNAME", "lb.example.net"),
    record_set("sub.example.org.", "NS", "ns.sub.example.org."),
    alias("example.org.", "A", "lb.example.net."),
    alias("apex6.example.org.", "AAAA", "lb.example.net."),
    alias("inside.example.org.", "A", "www.example.org."),
    alias("\\052.many.example.org.", "A", "lb.example.net."),
    alias("ring.example.org.", "A", "ring.example.org."),
    alias("broken.example.org.", "A", "broken.example.net."),
    alias("gone.example.org.", "A", "gone.example.net."),
    record_set("to-alias.example.org.", "CNAME", "inside.example.org"),
    record_set("only-in-both.example.org.", "A", "192.0.2.9"),
]
PRIVATE = [
    *head(serial=2),
    record_set("db.example.org.", "A", "10.0.0.1"),
    record_set("www.example.org.", "TXT", '"x"'),
]


def elsewhere(request: Request) -> Reply:
    """What other plugins know of targets."""
    query = request.query
    if query.name == BALANCER and query.qtype == consts.TYPE_A:
        answer = (
            cname(BALANCER, 20, HOST),
            address(HOST, 20, b"\xc6\x33\x64\x01"),
            address(HOST, 20, b"\xc6\x33\x64\x02"),
        )
        return authoritative(query, answer, depends=(b"key",))
    if query.name.endswith(names.from_text("gone.example.net.")):
        return authoritative(query, rcode=consts.NXDOMAIN)
    if query.name == BALANCER:
        return authoritative(query)
    return failure(consts.SERVFAIL, "next")


class World:
    """A server block with `route53` lines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        self.aws = Aws()
        monkeypatch.setattr("waypost.plugins.route53.source.connect_to_aws", lambda account: self.aws.client)
        self.served = Serving(f". {{\nerrors\n{text}\n}}", elsewhere)
        self.hooks = next(iter(self.served.server.zones.all_sites())).hooks

    async def ask(self, name: str, qtype: str = "A", **how: Any) -> dns.message.Message:
        return await self.served.ask(name, qtype, **how)


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
    await run(world.hooks.start)
    try:
        yield world
    finally:
        await run(world.hooks.stop)
        world.aws.end()


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    made = World(monkeypatch, "route53 example.org.:Z1")
    made.aws.page("Z1", PUBLIC)
    async with running(made):
        yield made


LB = ["198.51.100.1", "198.51.100.2"]


@pytest.mark.parametrize(
    ("name", "qtype", "answer"),
    [
        ("www.example.org.", "A", ["www.example.org. 300 A 192.0.2.1"]),
        ("x.wild.example.org.", "A", ["x.wild.example.org. 300 A 192.0.2.2"]),
        (
            "near.example.org.",
            "A",
            ["near.example.org. 300 CNAME www.example.org.", "www.example.org. 300 A 192.0.2.1"],
        ),
        ("far.example.org.", "CNAME", ["far.example.org. 300 CNAME lb.example.net."]),
        ("example.org.", "NS", ["example.org. 172800 NS ns.example.net."]),
        ("example.org.", "SOA", [SOA.format(1)]),
        ("example.org.", "A", [f"example.org. 20 A {ip}" for ip in LB]),
        ("EXAMPLE.org.", "A", [f"EXAMPLE.org. 20 A {ip}" for ip in LB]),
        ("x.many.example.org.", "A", [f"x.many.example.org. 20 A {ip}" for ip in LB]),
        ("inside.example.org.", "A", ["inside.example.org. 300 A 192.0.2.1"]),
        (
            "to-alias.example.org.",
            "A",
            ["to-alias.example.org. 300 CNAME inside.example.org.", "inside.example.org. 300 A 192.0.2.1"],
        ),
    ],
)
async def test_answers(world: World, name: str, qtype: str, answer: list[str]) -> None:
    message = await world.ask(name, qtype)
    assert texts(message.answer) == sorted(answer)
    assert message.flags & dns.flags.AA


async def test_cname_that_leads_out_is_looked_up(world: World) -> None:
    message = await world.ask("far.example.org.")
    assert len(texts(message.answer)) == 4


@pytest.mark.parametrize(
    ("name", "qtype", "rcode"),
    [
        ("none.example.org.", "A", "NXDOMAIN"),
        ("www.example.org.", "AAAA", "NOERROR"),
        ("b.c.example.org.", "A", "NOERROR"),
        ("example.org.", "AAAA", "NOERROR"),
        ("apex6.example.org.", "A", "NOERROR"),
        ("apex6.example.org.", "AAAA", "NOERROR"),
        ("gone.example.org.", "A", "NOERROR"),
        ("x.many.example.org.", "AAAA", "NOERROR"),
        ("inside.example.org.", "TYPE65401", "NOERROR"),
    ],
)
async def test_denials(world: World, name: str, qtype: str, rcode: str) -> None:
    message = await world.ask(name, qtype)
    assert dns.rcode.to_text(message.rcode()) == rcode
    assert not message.answer
    assert texts(message.authority) == [SOA.format(1)]


@pytest.mark.parametrize("name", ["broken.example.org.", "ring.example.org."])
async def test_alias_that_leads_nowhere(world: World, name: str) -> None:
    assert (await world.ask(name)).rcode() == dns.rcode.SERVFAIL


async def test_referral(world: World) -> None:
    message = await world.ask("x.sub.example.org.")
    assert not message.flags & dns.flags.AA
    assert texts(message.authority) == ["sub.example.org. 300 NS ns.sub.example.org."]


async def test_transfers_are_refused(world: World) -> None:
    assert (await world.ask("example.org.", "AXFR", datagram=False)).rcode() == dns.rcode.REFUSED


async def test_other_names_pass(world: World) -> None:
    await world.ask("example.com.")
    assert len(world.served.last.seen) == 1


async def test_hosted_zones_of_one_name_are_asked_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, "route53 example.org:Z2 example.org:Z1")
    world.aws.page("Z2", PRIVATE)
    world.aws.page("Z1", PUBLIC)
    async with running(world):
        assert texts((await world.ask("db.example.org.")).answer) == ["db.example.org. 300 A 10.0.0.1"]
        assert texts((await world.ask("only-in-both.example.org.")).answer) == [
            "only-in-both.example.org. 300 A 192.0.2.9"
        ]
        assert not (await world.ask("www.example.org.")).answer, "the first has the name"
        assert texts((await world.ask("none.example.org.")).authority) == [SOA.format(1)], "the last denies"


@pytest.mark.parametrize(
    ("zones", "name", "qtype", "passes"),
    [
        ("", "none.example.org.", "A", True),
        ("a.example.org", "none.example.org.", "A", False),
        ("", "www.example.org.", "AAAA", False),
        ("", "example.org.", "TXT", False),
        ("", "b.c.example.org.", "A", False),
    ],
)
async def test_fallthrough(monkeypatch: pytest.MonkeyPatch, zones: str, name: str, qtype: str, passes: bool) -> None:
    world = World(monkeypatch, f"route53 example.org:Z1 {{\nfallthrough {zones}\n}}")
    world.aws.page("Z1", PUBLIC)
    async with running(world):
        await world.ask(name, qtype)
        assert bool(world.served.last.seen) is passes


async def test_zones_of_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, "route53 example.org:Z1")
    world.aws.page("Z1", PUBLIC[:3], following="www2.example.org.")
    world.aws.page("Z1", [record_set("www2.example.org.", "A", "192.0.2.22")], start="www2.example.org.")
    async with running(world):
        assert (await world.ask("www.example.org.")).answer
        assert (await world.ask("www2.example.org.")).answer


async def test_without_the_zones_nothing_goes_live(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, "route53 example.org:Z1 example.net:Z2")
    world.aws.refuse("NoSuchHostedZone", "no such zone")
    world.aws.page("Z2", head("example.net."))
    with pytest.raises(
        CorefileError, match=r"^plugin/route53: failed to initialize route53 plugin: .*:Z1 .*no such zone"
    ):
        await run(world.hooks.start)
    world.aws.end()
    assert (await world.ask("www.example.org.")).rcode() == dns.rcode.SERVFAIL


class Turns:
    """Sleeps until it is told that the time has come."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.over.clear()
        await self.over.wait()

    async def turn(self) -> None:
        rounds = len(self.slept)
        self.over.set()
        await until(lambda: len(self.slept) > rounds)


async def test_zones_are_read_again_and_stay_if_they_cannot_be() -> None:
    aws, turns, process = Aws(), Turns(), FakeProcess()
    log = process.services().log
    zone = HostedZone(names.from_text("example.org."), "Z1")
    source = Source([zone], KEYS, 30, log, connect=lambda account: aws.client, sleep=turns.sleep)
    for serial in (1, 2):
        aws.page("Z1", head(serial=serial))
        if serial == 1:
            aws.refuse("Throttling", "too many")
            aws.page("Z1", [])
    await source.start()
    serials = []
    for _ in range(4):
        await until(lambda: bool(turns.slept))
        assert zone.zone is not None
        serials.append(zone.zone.serial)
        if len(serials) < 4:
            await turns.turn()
    await source.stop()
    aws.end()
    assert serials == [1, 1, 1, 2]
    assert set(turns.slept) == {30}
    assert ["Throttling" in line or "has no SOA" in line for line in process.lines] == [True, True]


class TestCredentials:
    def test_of_the_corefile(self) -> None:
        client: Any = connect_to_aws(Account(keys=("AKID", "secret"), endpoint="https://route53.example"))
        assert client._request_signer._credentials.access_key == "AKID"
        assert client.meta.endpoint_url == "https://route53.example"

    def test_of_a_profile_in_a_file(self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        path = tmp_path / "credentials"
        path.write_text("[dns]\naws_access_key_id = FROMFILE\naws_secret_access_key = secret\n")
        client: Any = connect_to_aws(Account(profile="dns", file=str(path)))
        assert client._request_signer._credentials.access_key == "FROMFILE"
        with pytest.raises(ProfileNotFound):
            connect_to_aws(Account(profile="none", file=str(path)))

    async def test_wrong_ones_are_told(self) -> None:
        zone = HostedZone(names.from_text("example.org."), "Z1")
        source = Source([zone], Account(endpoint="no url"), 60, FakeProcess().services().log)
        with pytest.raises(SourceError, match=r"example\.org\.:Z1 from route53: Invalid endpoint"):
            await source.read()


def test_configuration() -> None:
    text = """route53 example.org.:Z1 Example.org:Z2 {
        aws_endpoint https://route53.example
        credentials dns /etc/aws
        fallthrough a.org
        refresh 90
    }
    route53"""
    origin = names.from_text("example.org.")
    account = Account((), "https://route53.example", "dns", "/etc/aws")
    fall = ZoneList(frozenset((names.from_text("a.org."),)))
    assert parse(make_directive(text)) == (Config(((origin, "Z1"), (origin, "Z2")), account, fall, 90), Config())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("route53 example.org", 'Corefile:2 - Error during parsing: invalid zone "example.org"'),
        ("route53 :Z1", 'Corefile:2 - Error during parsing: invalid zone ":Z1"'),
        ("route53 a..b:Z1", 'Corefile:2 - Error during parsing: invalid zone "a..b:Z1": empty label'),
        ("route53 a.org:Z1 A.org.:Z1", 'Corefile:2 - Error during parsing: conflict zone "a.org:Z1"'),
        ("route53 {\nfoo\n}", 'Corefile:3 - Error during parsing: unknown property "foo"'),
        ("route53 {\naws_access_key a\n}", "Corefile:3 - Error during parsing: invalid access key: '[a]'"),
        ("route53 {\naws_endpoint\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        ("route53 {\ncredentials\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        ("route53 {\ncredentials a b c\n}", 'Corefile:3 - Error during parsing: unknown property "c"'),
        ("route53 {\nrefresh\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        (
            "route53 {\nrefresh x\n}",
            'Corefile:3 - Error during parsing: Unable to parse duration: time: invalid duration "x"',
        ),
        ("route53 {\nrefresh 0\n}", 'Corefile:3 - Error during parsing: refresh interval must be greater than 0: "0s"'),
    ],
)
def test_wrong_directives(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        parse(make_directive(text))
    assert str(raised.value).startswith(error)


def test_what_is_old_or_has_no_effect_is_told() -> None:
    process = FakeProcess()
    setup(make_directive("route53 {\naws_access_key a b\nupstream 1.1.1.1\n}"), make_site(process=process))
    assert ["deprecated" in process.lines[0], "'upstream' has no effect" in process.lines[1]] == [True, True]


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(CorefileError, match=r"pip install 'waypost\[route53\]'"):
        setup(make_directive("route53 example.org:Z1"), make_site())
