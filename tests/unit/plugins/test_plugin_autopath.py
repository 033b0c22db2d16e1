"""autopath: one query walks a client's search path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dns.message
import pytest

from support.asking import texts
from support.chain import FakeProcess, make_directive, make_request, make_site, run
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import Handler, Outcome, settled
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.plugins.autopath import Walker, parse, setup
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.fit import pack
from waypost.wire.record import address, cname
from waypost.wire.reply import DROP, Reply, authoritative, copied_flags, failure

FOUND, EMPTY, NOBODY = "found", "empty", "nobody"
PATH = "search ns.svc.test svc.test test\n"


class Names:
    """The plugins behind: what each name (lower case) is. Everything else is NXDOMAIN."""

    name = "names"
    next: Handler

    def __init__(self, known: Mapping[str, str | Reply], *, later: bool = False) -> None:
        self.known = known
        self.later = later
        self.asked: list[str] = []

    def serve(self, request: Request) -> Outcome:
        reply = self.reply(request)
        return settled_later(reply) if self.later else reply

    def reply(self, request: Request) -> Reply:
        query = request.query
        self.asked.append(names.to_text(query.qname))
        what = self.known.get(names.to_text(query.name), NOBODY)
        if isinstance(what, Reply):
            return what
        if what == FOUND:
            return authoritative(query, (address(query.qname, 30, b"\x01\x02\x03\x04"),))
        return authoritative(query, rcode=consts.NOERROR if what == EMPTY else consts.NXDOMAIN)


async def settled_later(reply: Reply) -> Reply:
    return reply


class Knowing(Names):
    """A plugin that knows the search path of one client."""

    name = "kubernetes"

    def autopath(self, request: Request) -> list[bytes]:
        known = request.client_ip == "192.0.2.9"
        return [names.from_text(text) for text in ("ns.svc.test.", "svc.test.", ".")] if known else []


def block(text: str, behind: Names, *labels: str) -> tuple[Site, FakeProcess]:
    process = FakeProcess()
    site = make_site(*labels, process=process)
    setup(make_directive(text), site)
    site.add(behind)
    site.link()
    return site, process


async def ask(site: Site, name: str, **how: Any) -> dns.message.Message:
    assert site.chain is not None
    request = make_request(name, site=site, **how)
    reply = await settled(site.chain.serve(request))
    if not reply.written:
        reply = Reply(reply.rcode, copied_flags(request.query))
    return dns.message.from_wire(pack(request.query, reply, datagram=True))


@pytest.fixture
def resolv_conf(tmp_path: Path) -> Path:
    path = tmp_path / "resolv.conf"
    path.write_text(PATH)
    return path


@pytest.mark.parametrize("later", [False, True])
async def test_the_path_is_walked_until_a_name_is_there(resolv_conf: Path, later: bool) -> None:
    behind = Names({"www.test.": FOUND}, later=later)
    site, process = block(f"autopath {resolv_conf}", behind)
    message = await ask(site, "WWW.Ns.svc.test.")
    assert behind.asked == ["WWW.Ns.svc.test.", "WWW.svc.test.", "WWW.test."]
    assert texts(message.answer) == ["WWW.Ns.svc.test. 30 CNAME WWW.test.", "WWW.test. 30 A 1.2.3.4"]
    assert message.question[0].name.to_text() == "WWW.Ns.svc.test."
    assert process.metrics.families["coredns_autopath_success_total"].cell(("dns://:53",)).value == 1  # type: ignore[union-attr]


async def test_the_name_itself_needs_no_cname(resolv_conf: Path) -> None:
    site, _ = block(f"autopath {resolv_conf}", Names({"www.ns.svc.test.": FOUND}))
    assert texts((await ask(site, "Www.ns.svc.test.")).answer) == ["Www.ns.svc.test. 30 A 1.2.3.4"]


async def test_the_plain_name_is_last(resolv_conf: Path) -> None:
    site, _ = block(f"autopath {resolv_conf}", Names({"www.example.org.": FOUND}))
    message = await ask(site, "www.example.org.ns.svc.test.")
    assert texts(message.answer) == [
        "www.example.org. 30 A 1.2.3.4",
        "www.example.org.ns.svc.test. 30 CNAME www.example.org.",
    ]


async def test_no_data_ends_the_walk(resolv_conf: Path) -> None:
    behind = Names({"www.svc.test.": EMPTY, "www.test.": FOUND})
    site, _ = block(f"autopath {resolv_conf}", behind)
    message = await ask(site, "www.ns.svc.test.")
    assert (message.rcode(), message.answer) == (consts.NOERROR, [])
    assert len(behind.asked) == 2


@pytest.mark.parametrize("later", [False, True])
async def test_nobody_knows_it(resolv_conf: Path, later: bool) -> None:
    behind = Names({}, later=later)
    site, process = block(f"autopath {resolv_conf}", behind)
    assert (await ask(site, "www.ns.svc.test.")).rcode() == consts.NXDOMAIN
    assert behind.asked == ["www.ns.svc.test.", "www.svc.test.", "www.test.", "www."]
    assert process.metrics.families["coredns_autopath_success_total"].cells == {}


@pytest.mark.parametrize("later", [False, True])
async def test_a_failure_ends_the_walk(resolv_conf: Path, later: bool) -> None:
    behind = Names({"www.svc.test.": failure(consts.SERVFAIL, "no upstream"), "www.test.": FOUND}, later=later)
    site, _ = block(f"autopath {resolv_conf}", behind)
    assert (await ask(site, "www.ns.svc.test.")).rcode() == consts.SERVFAIL
    assert len(behind.asked) == 2


async def test_a_written_error_is_an_answer(resolv_conf: Path) -> None:
    site, _ = block(f"autopath {resolv_conf}", Names({"www.svc.test.": Reply(consts.SERVFAIL, 0)}))
    assert (await ask(site, "www.ns.svc.test.")).rcode() == consts.SERVFAIL


async def test_a_refusal_without_a_reason_is_passed_over(resolv_conf: Path) -> None:
    site, _ = block(f"autopath {resolv_conf}", Names({"www.ns.svc.test.": failure(consts.REFUSED), "www.test.": FOUND}))
    assert len((await ask(site, "www.ns.svc.test.")).answer) == 2
    site, _ = block(f"autopath {resolv_conf}", Names({"www.ns.svc.test.": failure(consts.REFUSED)}))
    assert (await ask(site, "www.ns.svc.test.")).rcode() == consts.REFUSED


@pytest.mark.parametrize("later", [False, True])
async def test_domains_that_nobody_serves_are_passed_over(resolv_conf: Path, later: bool) -> None:
    """B90: what is missing in every domain that is served does not exist."""
    nobody = failure(consts.SERVFAIL, "plugin/names: no next plugin found")
    behind = Names({"www.svc.test.": nobody, "www.": nobody}, later=later)
    site, _ = block(f"autopath {resolv_conf}", behind)
    assert (await ask(site, "www.ns.svc.test.")).rcode() == consts.NXDOMAIN
    assert behind.asked == ["www.ns.svc.test.", "www.svc.test.", "www.test.", "www."]
    alone, _ = block(f"autopath {resolv_conf}", Names(dict.fromkeys(behind.asked, nobody), later=later))
    assert (await ask(alone, "www.ns.svc.test.")).rcode() == consts.SERVFAIL


async def test_silence_stays_silence(resolv_conf: Path) -> None:
    site, _ = block(f"autopath {resolv_conf}", Names({"www.ns.svc.test.": DROP}))
    assert site.chain is not None
    assert await settled(site.chain.serve(make_request("www.ns.svc.test."))) is DROP


async def test_an_answer_that_begins_with_an_alias(resolv_conf: Path) -> None:
    target = names.from_text("first.ns.svc.test.")
    owner = names.from_text("cn.ns.svc.test.")
    alias = Reply(consts.NOERROR, 0, (cname(owner, 60, target), address(target, 50, b"\x01\x02\x03\x04")))
    site, _ = block(f"autopath {resolv_conf}", Names({"cn.ns.svc.test.": alias}))
    assert site.chain is not None
    reply = await settled(site.chain.serve(make_request("cn.ns.svc.test.")))
    assert reply.answer == (cname(owner, 50, target), *alias.answer)


async def test_the_search_domain_itself(resolv_conf: Path) -> None:
    site, _ = block(f"autopath {resolv_conf}", Names({"ns.svc.test.": FOUND}))
    assert (await ask(site, "ns.svc.test.")).rcode() == consts.SERVFAIL


@pytest.mark.parametrize("name", ["www.svc.test.", "www.example.org.", "xns.svc.test."])
async def test_names_not_below_the_first_domain_are_left_alone(resolv_conf: Path, name: str) -> None:
    behind = Names({})
    site, _ = block(f"autopath {resolv_conf}", behind)
    await ask(site, name)
    assert behind.asked == [name]


async def test_names_outside_the_zones_are_left_alone(resolv_conf: Path) -> None:
    behind = Names({})
    site, _ = block(f"autopath example.org {resolv_conf}", behind)
    await ask(site, "www.ns.svc.test.")
    assert behind.asked == ["www.ns.svc.test."]


async def test_candidates_that_would_be_too_long_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text(f"search a.test {'.'.join(['x' * 63] * 3)} test\n")
    behind = Names({})
    site, _ = block(f"autopath {path}", behind)
    base = "y" * 63 + ".y"
    await ask(site, f"{base}.a.test.")
    assert behind.asked == [f"{base}.a.test.", f"{base}.test.", f"{base}."]


async def test_the_path_of_a_client() -> None:
    behind = Knowing({"www.svc.test.": FOUND})
    site, _ = block("autopath @kubernetes", behind)
    await run(site.hooks.start)
    assert len((await ask(site, "www.ns.svc.test.")).answer) == 2
    behind.asked.clear()
    await ask(site, "www.ns.svc.test.", client=("192.0.2.8", 4000))
    assert behind.asked == ["www.ns.svc.test."]


async def test_a_block_without_the_plugin_has_no_path() -> None:
    behind = Names({})
    site, _ = block("autopath @kubernetes", behind)
    await run(site.hooks.start)
    await ask(site, "www.ns.svc.test.")
    assert behind.asked == ["www.ns.svc.test."]


async def test_a_plugin_that_knows_no_paths() -> None:
    site, _ = block("autopath @names", Names({}))
    with pytest.raises(CorefileError) as caught:
        await run(site.hooks.start)
    assert str(caught.value) == "plugin/autopath: names does not implement the AutoPather interface"


def test_a_relative_file_is_below_root(resolv_conf: Path) -> None:
    site = make_site()
    site.root = str(resolv_conf.parent)
    setup(make_directive("autopath resolv.conf"), site)
    assert isinstance(site.handlers["autopath"][0], Walker)


def test_no_arguments() -> None:
    with pytest.raises(CorefileError, match=r"^no resolv-conf specified$"):
        parse(make_directive("autopath"), ())


def test_no_file(tmp_path: Path) -> None:
    path = tmp_path / "none"
    with pytest.raises(CorefileError) as caught:
        setup(make_directive(f"autopath {path}"), make_site())
    assert str(caught.value) == f'failed to parse "{path}": open {path}: no such file or directory'


def test_zones() -> None:
    assert parse(make_directive("autopath Example.org 10.0.0.0/8 @kubernetes"), ()).zones == ZoneList(
        frozenset((names.from_text("example.org."), names.from_text("10.in-addr.arpa.")))
    )
