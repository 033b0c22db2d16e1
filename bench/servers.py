"""The servers that are compared: the floor, a bare Python loop, Waypost and its peers, each with the same Corefile."""

from __future__ import annotations

import compileall
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from figures import BARE, FLOOR, OURS
from processes import free_port, listening, process, running

HERE = Path(__file__).parent
COREFILE = HERE.parent / "src/waypost/manifests/example/Corefile"
KEPT, PASSED_ON, LOGGED = "kept", "passed on", "logged"
"""External names are answered from the cache, or asked upstream every time; kept, and every query is logged."""
COMMAND = shlex.join([sys.executable, "-m", "waypost.cli.main", "serve", "--conf", "{conf}"])
"""The command of the server under test."""
_PATIENCE = 600.0  # seconds: a large cluster is all encoded beforehand


class Server(NamedTuple):
    """A running server; process ids and ports by the mode it runs in."""

    name: str
    pids: dict[str, int]
    ports: dict[str, int]


class Around(NamedTuple):
    """Ports of what servers need: a simulated Kubernetes API, and an upstream that knows every name."""

    api: int
    upstream: int


def compiled() -> None:
    """Let our modules be compiled, as those of every installed package are: a checkout's may not be."""
    compileall.compile_dir(HERE.parent / "src", quiet=1)


def compiled_program(folder: Path, name: str) -> Path | None:
    """`name`.c of this folder as a program, None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    program = folder / name
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / f"{name}.c")], check=True)
    return program


@contextmanager
def surroundings(services: int, endpoints: int | None = None) -> Iterator[Around]:
    """A cluster of so many Services, with one endpoint each if nothing else is said."""
    around = Around(free_port(), free_port())
    objects = [str(number) for number in (around.api, services, services if endpoints is None else endpoints, 0)]
    upstream = [sys.executable, str(HERE / "upstream.py"), str(around.upstream)]
    with process([sys.executable, str(HERE / "kubeapi.py"), *objects]), running(upstream, around.upstream):
        listening(around.api, _PATIENCE)
        yield around


@contextmanager
def all_servers(folder: Path, around: Around, peers: Sequence[str], modes: Sequence[str]) -> Iterator[list[Server]]:
    """Start them, those with a Corefile once for each mode; `peers` are commands with `{conf}` for its path."""
    with ExitStack() as stack:

        def simple(name: str, *command: str) -> Server:
            port = free_port()
            pid = stack.enter_context(running([*command, str(port)], port))
            return Server(name, dict.fromkeys((KEPT, PASSED_ON), pid), dict.fromkeys((KEPT, PASSED_ON), port))

        def configured(name: str, command: str) -> Server:
            pids, ports = {}, {}
            for mode in modes:
                ports[mode] = port = free_port()
                words = command_line(command, folder, port, around, mode)
                pids[mode] = stack.enter_context(running(words, port, read=mode == LOGGED))
            return Server(name, pids, ports)

        floor = compiled_program(folder, "floor")
        servers = [] if floor is None else [simple(FLOOR, str(floor))]
        servers += [simple(BARE, sys.executable, str(HERE / "bare_loop.py")), configured(OURS, COMMAND)]
        yield servers + list(map(configured, peer_names(peers), peers))


def peer_names(commands: Sequence[str]) -> list[str]:
    """Each command's program, numbered from its second appearance."""
    programs = [Path(shlex.split(command)[0]).name for command in commands]
    seen = [programs[:n].count(program) + 1 for n, program in enumerate(programs)]
    return [program if count == 1 else f"{program} #{count}" for program, count in zip(programs, seen, strict=True)]


def command_line(command: str, folder: Path, port: int, around: Around, mode: str = KEPT) -> list[str]:
    """A server's words, with its Corefile written to the folder."""
    conf = folder / f"Corefile-{port}"
    text = corefile(port, around.upstream, around.api, cache=mode != PASSED_ON, log=mode == LOGGED)
    conf.write_text(text, encoding="utf-8")
    return [word.replace("{conf}", str(conf)) for word in shlex.split(command)]


def corefile(port: int, upstream: int, api: int, *, cache: bool = True, log: bool = False) -> str:
    """The stock Corefile on free ports of the loopback interface, with an upstream and a Kubernetes API there.

    External names are kept for an hour, so that a run does not measure when they end; or not at all.
    """
    text = COREFILE.read_text(encoding="utf-8")
    changes = (
        (r"^\.:53 \{", f".:{port} {{\n    bind 127.0.0.1" + ("\n    log" if log else "")),
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
