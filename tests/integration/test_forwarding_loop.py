"""A forwarding loop that is closed while the process serves, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import dns.rcode
import pytest

from support.process import ask, free_port
from support.upstream import until
from waypost.control.files import Source
from waypost.control.supervisor import Settings, Supervisor
from waypost.log import Log
from waypost.metrics.expose import Exposition

COREFILE = """\
.:{port} {{
    bind 127.0.0.1
    hosts {{
        192.0.2.7 app.cluster.local
        fallthrough
    }}
    loop
    forward . {folder}/resolv.conf {{
        policy sequential
    }}
}}
.:{other} {{
    bind 127.0.0.1
    forward . 127.0.0.1:{port}
}}
.:{upstream} {{
    bind 127.0.0.1
    whoami
}}
"""


@dataclass
class World:
    """A server that follows a resolv.conf, and one that forwards to it; `exits` are the codes it wanted to end with."""

    supervisor: Supervisor
    output: io.StringIO
    folder: Path
    port: int
    other: int
    upstream: int
    exits: list[int] = field(default_factory=list)

    def follow(self, *ports: int) -> None:
        """Put name servers on these ports of loopback into the resolv.conf."""
        text = "".join(f"nameserver 127.0.0.1:{port}\n" for port in ports)
        (self.folder / "resolv.conf").write_text(text)

    async def rcode(self, name: str) -> str:
        return dns.rcode.to_text((await asyncio.to_thread(ask, self.port, name)).rcode())

    @property
    def detected(self) -> bool:
        return b'waypost_loop_detected{zone="."} 1' in Exposition(self.supervisor.metrics).text()

    def says(self, text: str) -> int:
        return self.output.getvalue().count(text)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr("waypost.plugins.loop._INTERVAL", 0.05)
    monkeypatch.setattr("waypost.plugins.loop._JITTER", 0.05)
    monkeypatch.setattr("waypost.plugins.forward.follow._POLL_SECONDS", 0.02)
    output, exits = io.StringIO(), list[int]()
    ports = free_port(), free_port(), free_port()
    path = tmp_path / "Corefile"
    path.write_text(COREFILE.format(port=ports[0], other=ports[1], upstream=ports[2], folder=tmp_path))
    supervisor = Supervisor(Settings(Source(str(path))), Log(output), exits.append)
    made = World(supervisor, output, tmp_path, *ports, exits)
    made.follow(made.upstream)
    await supervisor.start()
    yield made
    await supervisor.stop(graceful=True)
    gc.unfreeze()


@pytest.mark.parametrize("way", ["itself", "another"])
async def test_a_followed_file_comes_to_name_the_server(world: World, way: str) -> None:
    """B48, B139: what the server knows by itself is answered all the time, and the process lives."""
    assert await world.rcode("www.example.org.") == "NOERROR"
    world.follow(world.port if way == "itself" else world.other, world.upstream)
    await until(lambda: world.detected)
    for _ in range(3):
        assert await world.rcode("www.example.org.") == "SERVFAIL"
        assert await world.rcode("app.cluster.local.") == "NOERROR"
    assert world.says("[ERROR]") == world.says("[ERROR] plugin/loop: Loop (") == 1

    world.follow(world.upstream)
    await until(lambda: not world.detected)
    assert await world.rcode("www.example.org.") == "NOERROR"
    assert world.says("[INFO] plugin/loop: Loop for zone") == 1
    assert world.exits == []
