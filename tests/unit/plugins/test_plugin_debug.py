"""debug: a mark on the block, and debug lines as long as a configuration asks for them."""

from __future__ import annotations

import pytest

from support.chain import FakeProcess, make_directive, make_site, run
from waypost.control.lender import Lease, Pool
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Services, Site
from waypost.plugins.debug import parse, setup


def test_refused() -> None:
    with pytest.raises(CorefileError, match="Wrong argument count or unexpected line ending after 'x'"):
        parse(make_directive("debug x"))


def configure(services: Services) -> Site:
    site = make_site(services=services)
    setup(make_directive("debug"), site)
    return site


async def test_lines_begin_when_the_configuration_serves_and_end_with_the_last_one() -> None:
    process = FakeProcess()
    pool = Pool()
    old, new = process.services(), process.services()
    new.log = old.log
    leases = Lease(pool), Lease(pool)
    old.lender, new.lender = leases
    site = configure(old)
    assert site.debug
    old.log.debug("checked only")
    await run(old.hooks.active)
    old.log.debug("one")
    configure(new)
    await run(new.hooks.active)
    await leases[0].release()
    old.log.debug("two")
    await leases[1].release()
    old.log.debug("after")
    assert process.lines == ["[DEBUG] one", "[DEBUG] two"]
