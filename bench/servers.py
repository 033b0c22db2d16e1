"""The servers that are compared: the floor, a bare Python loop, Waypost and its peers, each with the same Corefile."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from processes import free_port, listening, process, running

HERE = Path(__file__).parent
COREFILE = HERE.parent / "src/waypost/manifests/example/Corefile"
KEPT, PASSED_ON = "kept", "passed on"
"""What becomes of external names: answered from the cache, or asked upstream every time."""


class Server(NamedTuple):
    """A running server; `ports` by what it does with external names."""

    name: str
    pids: dict[str, int]
    ports: dict[str, int]


def compiled_floor(folder: Path) -> Path | None:
    """floor.c as a program, None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    program = folder / "floor"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "floor.c")], check=True)
    return program


@contextmanager
def all_servers(folder: Path, services: int, peers: Sequence[str]) -> Iterator[list[Server]]:
    """Start them; `peers` are commands with `{conf}` where the Corefile's path belongs."""
    with ExitStack() as stack:
        api, upstream = free_port(), free_port()
        objects = [str(number) for number in (api, services, services, 0)]
        stack.enter_context(process([sys.executable, str(HERE / "kubeapi.py"), *objects]))
        listening(api)
        stack.enter_context(running([sys.executable, str(HERE / "upstream.py"), str(upstream)], upstream))

        def simple(name: str, *command: str) -> Server:
            port = free_port()
            pid = stack.enter_context(running([*command, str(port)], port))
            return Server(name, {KEPT: pid, PASSED_ON: pid}, {KEPT: port, PASSED_ON: port})

        def configured(name: str, command: str) -> Server:
            pids, ports = {}, {}
            for mode in (KEPT, PASSED_ON):
                ports[mode] = port = free_port()
                conf = folder / f"Corefile-{port}"
                conf.write_text(corefile(port, upstream, api, cache=mode == KEPT), encoding="utf-8")
                words = [word.replace("{conf}", str(conf)) for word in shlex.split(command)]
                pids[mode] = stack.enter_context(running(words, port))
            return Server(name, pids, ports)

        servers = []
        floor = compiled_floor(folder)
        if floor is not None:
            servers.append(simple("floor", str(floor)))
        servers.append(simple("bare loop", sys.executable, str(HERE / "bare_loop.py")))
        ours = shlex.join([sys.executable, "-m", "waypost.cli.main", "serve", "--conf"])
        servers.append(configured("waypost", f"{ours} {{conf}}"))
        for command in peers:
            name = Path(shlex.split(command)[0]).name
            known = sum(server.name.partition(" #")[0] == name for server in servers)
            servers.append(configured(f"{name} #{known + 1}" if known else name, command))
        yield servers


def corefile(port: int, upstream: int, api: int, *, cache: bool = True) -> str:
    """The stock Corefile on free ports of the loopback interface, with an upstream and a Kubernetes API there.

    External names are kept for an hour, so that a run does not measure when they end; or not at all.
    """
    text = COREFILE.read_text(encoding="utf-8")
    changes = (
        (r"^\.:53 \{", f".:{port} {{\n    bind 127.0.0.1"),
        (r"health \{", f"health 127.0.0.1:{free_port()} {{"),
        (r"^(\s*)ready$", rf"\1ready 127.0.0.1:{free_port()}"),
        (r":9153", f"127.0.0.1:{free_port()}"),
        (r"/etc/resolv.conf", f"127.0.0.1:{upstream}"),
        (r"^(\s*)ttl 30$", rf"\1ttl 30\n\1endpoint http://127.0.0.1:{api}"),
        (r"cache 30", "cache 3600") if cache else (r"^ *cache 30 \{[^}]*\}\n", ""),
    )
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.M)
        if count != 1:
            raise SystemExit(f"bench: the stock Corefile has changed: {count} times {pattern}")
    return text
