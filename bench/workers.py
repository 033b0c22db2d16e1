"""Throughput and memory of `multisocket N` against one process: `python bench/workers.py`.

Both servers follow the same large cluster and are asked in turn, in rounds. Who asks (`asker.c`) has the same
processors as they do and takes its share, about a microsecond a query; so beside the usual loads stands one that costs
the server more. It asks from many ports, since the kernel deals them out to sockets by a hash: few of them may all but
leave a worker out. Memory is PSS: a page that n processes share counts 1/n in each.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from loads import write_distinct, write_missing, write_mixed
from processes import cpu_seconds, free_port, memory, running
from servers import Around, compiled_program, corefile, surroundings

# Beside the stock block one whose queries are dear: a pattern and a template, as people have them.
DEAR = r"""
dear.example:PORT {
    bind 127.0.0.1
    rewrite stop {
        name regex (.*)\.dear\.example\.$ {1}.made.example. answer auto
    }
    template IN A made.example. {
        match "^(?P<first>[a-z]+)-(?P<number>[0-9]+)[.]made[.]example[.]$"
        answer "{{ .Name }} 60 IN A 192.0.2.{{ .Group.number }}"
    }
}
"""


_PORTS = 128
_WAITING = 8
"""Queries that are on their way from each port."""


class Server(NamedTuple):
    """A server with so many processes (1: no supervisor)."""

    workers: int
    pid: int
    port: int

    def pids(self) -> list[int]:
        """Its processes, the one that was started first."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [self.pid, *map(int, children.split())]

    def pss(self) -> list[float]:
        """MiB of each."""
        return [memory(pid, "smaps_rollup", "Pss") for pid in self.pids()]


@contextmanager
def serving(folder: Path, around: Around, workers: int) -> Iterator[Server]:
    """The stock Corefile, and a block whose queries are dear."""
    port = free_port()
    path = folder / f"Corefile-{workers}"
    text = corefile(port, around.upstream, around.api) + DEAR.replace("PORT", str(port))
    if workers > 1:
        text = text.replace("    bind 127.0.0.1\n", f"    bind 127.0.0.1\n    multisocket {workers}\n")
    path.write_text(text, encoding="utf-8")
    with running([sys.executable, "-m", "waypost.cli.main", "serve", "--conf", str(path)], port) as pid:
        yield Server(workers, pid, port)


def write_loads(folder: Path, services: int) -> dict[str, Path]:
    """Questions for dnsperf by the name of the load."""
    files = {name: folder / f"{name}.txt" for name in ("mixed", "distinct", "missing", "dear")}
    write_mixed(files["mixed"], services, 40_000)
    write_distinct(files["distinct"], services)
    write_missing(files["missing"], 200_000)
    dear = (f"host-{n % 250}.dear.example A" for n in range(1000))
    files["dear"].write_text("\n".join(dear) + "\n", encoding="utf-8")
    return files


def main() -> int:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--endpoints", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--loads", default="mixed,distinct,missing,dear")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        asker = compiled_program(folder, "asker")
        if asker is None:
            print("workers: no C compiler (cc)", file=sys.stderr)
            return 1
        files = write_loads(folder, options.services)
        around = stack.enter_context(surroundings(options.services, options.endpoints))
        servers = [stack.enter_context(serving(folder, around, number)) for number in (1, options.workers)]
        show_memory("after the sync", servers)
        for load in options.loads.split(","):
            file = files[load]
            for server in servers:
                asked(asker, server, file, 1.0)  # code is warm, memos are filled
            show_rates(load, [rates(asker, servers, file, options.seconds) for _ in range(options.rounds)])
        show_memory("after all loads", servers)
    return 0


def rates(asker: Path, servers: Sequence[Server], file: Path, seconds: float) -> list[tuple[float, float]]:
    """Of each server: queries a second, and microseconds of CPU time for each."""
    found = []
    for server in servers:
        before = cpu_seconds(server.pid)
        answered, took = asked(asker, server, file, seconds)
        found.append((answered / took, (cpu_seconds(server.pid) - before) / answered * 1e6))
    return found


def asked(asker: Path, server: Server, file: Path, seconds: float) -> tuple[int, float]:
    """How many questions of a file were answered, and in how many seconds."""
    words = [str(asker), str(server.port), str(seconds), str(_PORTS), str(_WAITING), str(file)]
    answered, failed, took = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    if int(failed) or not int(answered):
        raise SystemExit(f"bench: {answered} questions answered, {failed} of them with an error")
    return int(answered), float(took)


def show_rates(load: str, rounds: list[list[tuple[float, float]]]) -> None:
    """One load: medians, and the ratios of the rounds."""
    (one, cost), (many, cost_of_many) = (
        [statistics.median(values) for values in zip(*(found[n] for found in rounds), strict=True)] for n in (0, 1)
    )
    ratios = sorted(found[1][0] / found[0][0] for found in rounds)
    print(
        f"{load:<10} {one:>9,.0f} /s at {cost:5.1f} us, with workers {many:>9,.0f} /s at {cost_of_many:5.1f} us: "
        f"x {ratios[-1]:.2f} ({', '.join(f'{ratio:.2f}' for ratio in ratios)})",
        flush=True,
    )


def show_memory(when: str, servers: Sequence[Server]) -> None:
    """PSS of each process, and what a further worker costs."""
    for server in servers:
        parts = server.pss()
        names = ["supervisor", *(f"worker {n}" for n in range(len(parts) - 1))] if len(parts) > 1 else ["process"]
        listed = ", ".join(f"{name} {size:.1f}" for name, size in zip(names, parts, strict=True))
        print(f"{when}, {server.workers} x: PSS {sum(parts):.1f} MiB ({listed})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
