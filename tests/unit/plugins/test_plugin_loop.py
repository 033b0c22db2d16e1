import asyncio
from collections.abc import Callable

import pytest

from support.asking import Block, block
from support.chain import FakeProcess, make_directive, make_request, make_site, run
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.metrics.expose import Exposition
from waypost.plugins.loop import Config, Loop, exchange, parse, setup
from waypost.wire import consts, names
from waypost.wire.query import Query, parse_query


class Server:
    """What probes reach: tells the test of each, and answers as the test says."""

    def __init__(self, on_probe: Callable[[Query], None] | None = None, failures: int = 0) -> None:
        self.probes: list[tuple[Query, str, int]] = []
        self.on_probe = on_probe
        self.failures = failures

    async def exchange(self, query: bytes, host: str, port: int) -> None:
        parsed = parse_query(query)
        self.probes.append((parsed, host, port))
        if self.on_probe is not None:
            self.on_probe(parsed)
        if len(self.probes) <= self.failures:
            raise TimeoutError


class Pauses:
    """Stands for the clock: pauses between tries end at once, those between probes when `end` says so."""

    def __init__(self) -> None:
        self.long: list[float] = []
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds < 10:
            return
        self.long.append(seconds)
        self._begun.set()
        await self._ended.wait()
        self._ended.clear()

    async def begun(self) -> None:
        """Returns once a probe is over."""
        await self._begun.wait()
        self._begun.clear()

    async def end(self) -> None:
        """Begin the next probe, and return once it is over."""
        self._ended.set()
        await self.begun()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    made = Pauses()
    monkeypatch.setattr(asyncio, "sleep", made.sleep)
    return made


def looping(monkeypatch: pytest.MonkeyPatch, server: Server, text: str = "loop", *labels: str) -> Block:
    monkeypatch.setattr("waypost.plugins.loop.exchange", server.exchange)
    return block(setup, text, *(labels or ("example.org:1053",)))


async def probed(served: Block, pauses: Pauses) -> None:
    """Run the probing at start."""
    await run(served.site.hooks.active)
    await pauses.begun()
    await run(served.site.hooks.stop)


async def test_a_probe_that_comes_round_three_times_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    replies: list[object] = []

    def round_and_round(query: Query) -> None:
        assert served.site.chain is not None
        request = Request(query, ("127.0.0.1", 54138), make_request().server, True, 0.0)
        replies.extend(served.site.chain.serve(request) for _ in range(3))

    server = Server(round_and_round)
    served = looping(monkeypatch, server)
    await probed(served, pauses)
    ((query, host, port),) = server.probes
    assert (host, port) == ("127.0.0.1", 1053)
    assert query.qtype == consts.TYPE_HINFO
    assert query.flags == consts.RD
    assert served.process.exits == [1]
    assert "\n".join(served.process.lines) == (
        '[FATAL] Loop (127.0.0.1:54138 -> :1053) detected for zone "example.org.", '
        f'see https://coredns.io/plugins/loop#troubleshooting. Query: "HINFO {names.to_text(query.qname)}"'
    )
    assert repr(replies[-1]) == "Reply(SERVFAIL  0/0/0 '')"
    assert len(served.following.seen) == 2


async def test_degraded_it_is_an_error_and_a_metric(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    def round_and_round(query: Query) -> None:
        assert served.site.chain is not None
        for _ in range(10):
            served.site.chain.serve(Request(query, ("::1", 54138), make_request().server, True, 0.0))

    served = looping(monkeypatch, Server(round_and_round), "loop {\n degrade\n}")
    gauge = served.process.metrics.gauge("waypost_loop_detected", "", ("zone",)).labels("example.org.")
    assert gauge.value == 0
    await probed(served, pauses)
    assert gauge.value == 1
    assert served.process.exits == []
    (line,) = served.process.lines
    assert line.startswith("[ERROR] Loop ([::1]:54138 -> :1053) detected")


async def test_seen_twice_is_no_loop(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """B140: an upstream that was slow, or a query sent again, was taken for a loop."""

    def twice(query: Query) -> None:
        assert served.site.chain is not None
        for _ in range(2):
            served.site.chain.serve(Request(query, ("127.0.0.1", 1), make_request().server, True, 0.0))

    server = Server(twice, failures=3)
    served = looping(monkeypatch, server)
    await probed(served, pauses)
    assert len({query.qname for query, _, _ in server.probes}) == 4
    assert served.process.exits == []
    assert served.process.lines == []


async def test_copies_of_an_old_probe_do_not_count(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """B140: a late copy of an earlier probe was taken for a loop."""
    server = Server(failures=1)
    served = looping(monkeypatch, server)
    await probed(served, pauses)
    assert served.site.chain is not None
    for query, _, _ in server.probes:
        for _ in range(10):
            served.site.chain.serve(Request(query, ("192.0.2.1", 1), make_request().server, True, 0.0))
    assert served.process.exits == []


async def test_no_pattern_of_hinfo_queries_ends_the_process(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """S09: whoever guessed the name of the probe could end the process."""

    def flood(query: Query) -> None:
        assert served.site.chain is not None
        name = names.to_text(query.qname)
        for n in range(10_000):
            guess = [
                f"{n}.{n}.example.org.",
                "example.org.",
                f"{n}.{name}",
                ".",
                f"{n}.4450246729822808669.example.org.",
            ][n % 5]
            served.site.chain.serve(make_request(guess, "HINFO"))
        for qtype in ("A", "ANY", "TXT"):
            served.site.chain.serve(make_request(name, qtype))

    served = looping(monkeypatch, Server(flood))
    await probed(served, pauses)
    assert served.process.exits == []
    assert len(served.following.seen) == 10_003


async def test_probes_are_unlike_each_other(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    server = Server(failures=50)
    await probed(looping(monkeypatch, server), pauses)
    labels = [label for query, _, _ in server.probes for label in names.labels(query.qname)[:2]]
    assert len(set(labels)) == len(labels)
    assert max(map(int, labels)) > 1 << 60
    assert len({query.id for query, _, _ in server.probes}) > 40


@pytest.mark.parametrize(
    ("bind", "hosts"),
    [
        ([], ["127.0.0.1", "::1"]),
        (["0.0.0.0", "10.0.0.1"], ["127.0.0.1"]),
        (["::"], ["::1"]),
        (["10.0.0.1"], ["10.0.0.1"]),
    ],
)
async def test_where_probes_go(
    monkeypatch: pytest.MonkeyPatch, pauses: Pauses, bind: list[str], hosts: list[str]
) -> None:
    server = Server(failures=3)
    monkeypatch.setattr("waypost.plugins.loop.exchange", server.exchange)
    site = make_site("a.org:1053", "b.org:1054")
    site.bind = bind
    setup(make_directive("loop"), site)
    await run(site.hooks.active)
    await pauses.begun()
    await run(site.hooks.stop)
    assert {host for _, host, _ in server.probes} == set(hosts)
    assert {port for _, _, port in server.probes} == {1053}


async def test_without_a_plain_dns_address_nothing_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    served = looping(monkeypatch, server, "loop", "tls://a.org:853")
    await run(served.site.hooks.active)
    assert len(asyncio.all_tasks()) == 1
    await run(served.site.hooks.stop)
    assert server.probes == []


async def test_stopping_ends_the_probing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silence(query: bytes, host: str, port: int) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("waypost.plugins.loop.exchange", silence)
    served = block(setup, "loop", "a.org:1053")
    await run(served.site.hooks.active)
    await run(served.site.hooks.stop)
    assert len(asyncio.all_tasks()) == 1


class Later:
    """A block that served well until a loop was closed behind it: `closed` says whether it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pauses: Pauses, process: FakeProcess | None = None) -> None:
        self.closed = False
        self.server = Server(self.go_round)
        monkeypatch.setattr("waypost.plugins.loop.exchange", self.server.exchange)
        self.served = block(setup, "loop", "example.org:1053", process=process)
        self.process = self.served.process
        self.pauses = pauses

    def go_round(self, query: Query) -> None:
        assert self.served.site.chain is not None
        for _ in range(10 if self.closed else 1):
            self.served.site.chain.serve(Request(query, ("127.0.0.1", 54138), make_request().server, True, 0.0))

    async def start(self) -> None:
        await run(self.served.site.hooks.active)
        await self.pauses.begun()

    async def stop(self) -> None:
        await run(self.served.site.hooks.stop)

    async def is_forwarded(self) -> bool:
        """Whether a query gets past the plugin; it is refused with SERVFAIL if not."""
        before = len(self.served.following.seen)
        reply = await self.served.reply("www.example.org.")
        assert reply.rcode == consts.SERVFAIL
        return len(self.served.following.seen) > before

    @property
    def detected(self) -> bool:
        return b'waypost_loop_detected{zone="example.org."} 1' in Exposition(self.process.metrics).text()


async def test_a_loop_that_is_closed_later(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """B48: a loop that came after the start ate the memory, because nobody looked any more."""
    later = Later(monkeypatch, pauses)
    await later.start()
    for _ in range(3):
        await pauses.end()
    assert await later.is_forwarded()
    assert (later.process.lines, later.detected) == ([], False)

    later.closed = True
    for _ in range(3):
        await pauses.end()
        assert not await later.is_forwarded()
        assert later.detected
        (line,) = later.process.lines
        assert line.startswith('[ERROR] Loop (127.0.0.1:54138 -> :1053) detected for zone "example.org.", see ')

    later.closed = False
    await pauses.end()
    assert await later.is_forwarded()
    assert not later.detected
    assert later.process.lines[1:] == ['[INFO] Loop for zone "example.org." is gone, queries are forwarded again']
    await later.stop()
    assert later.process.exits == []
    assert len({query.qname for query, _, _ in later.server.probes}) == len(later.server.probes) == 8
    assert all(27 <= seconds < 33 for seconds in pauses.long)


async def test_probes_without_a_reply_are_no_loop(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """B140: it is tried again, but each of them came by only once."""
    later = Later(monkeypatch, pauses)
    await later.start()
    later.server.failures = 10
    await pauses.end()
    await later.stop()
    assert len(later.server.probes) == 11
    assert (later.process.lines, later.process.exits) == ([], [])


async def test_a_reload_while_there_is_a_loop(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """B48: the process has started well, so it goes on; and what is known need not be found again."""
    old = Later(monkeypatch, pauses)
    await old.start()
    old.closed = True
    await pauses.end()
    new = Later(monkeypatch, pauses, old.process)
    new.closed = True
    assert not await new.is_forwarded()
    await new.start()
    await old.stop()
    assert not await new.is_forwarded()
    assert new.detected
    assert len(new.process.lines) == 1
    await new.stop()
    assert new.process.exits == []


async def test_blocks_of_one_address_do_not_share_what_they_found(monkeypatch: pytest.MonkeyPatch) -> None:
    services = FakeProcess().services()
    sites = [make_site("example.org:1053", services=services) for _ in range(2)]
    for site in sites:
        site.peers = sites
        setup(make_directive("loop"), site)
    handlers = [handler for site in sites for handler in site.all_handlers() if isinstance(handler, Loop)]
    assert len({id(handler._finding) for handler in handlers}) == 2


async def test_the_exchange_ends_with_the_reply_that_has_its_id() -> None:
    class Responder(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            self.transport.sendto(b"\xff\xff" + data[2:], addr)  # type: ignore[attr-defined]
            self.transport.sendto(data, addr)  # type: ignore[attr-defined]

    events = asyncio.get_running_loop()
    transport, _ = await events.create_datagram_endpoint(Responder, local_addr=("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    await exchange(b"\x12\x34rest", "127.0.0.1", port)
    transport.close()
    with pytest.raises(OSError):
        await exchange(b"\x12\x34rest", "127.0.0.1", port)


@pytest.mark.parametrize(
    ("text", "config"), [("loop", Config()), ("loop {\n}", Config()), ("loop {\n degrade\n}", Config(True))]
)
def test_configurations(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("loop x", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'"),
        ("loop\nloop", "this plugin can only be used once per Server Block"),
        ("loop {\n x\n}", "Corefile:3 - Error during parsing: unknown property 'x'"),
        (
            "loop {\n degrade x\n}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == error


def test_a_zone_without_room_for_a_probe_is_refused() -> None:
    zone = ".".join(["a" * 50] * 4 + ["b" * 30])
    with pytest.raises(CorefileError, match="leaves no room for a probe"):
        setup(make_directive("loop"), make_site(zone, process=FakeProcess()))
