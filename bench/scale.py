"""Following a large cluster: memory, time to sync, pauses, and how soon a change is answered: `python bench/scale.py`.

A simulated API server (`kubeapi.py`) in a process of its own, the real server, and dnsperf. Machines are noisy: every
figure is the median of `--rounds`, and beside the pauses stand those of an idle echo loop at the same time.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dns.message
import dnsperf
from dnsperf import found
from loads import write_mixed
from processes import cpu_seconds, free_port, memory, until_quiet
from servers import HERE, corefile

PROBE = dns.message.make_query("probe.ns-0.svc.cluster.local.", "A", id=0x1234).to_wire()
ABSENT = dns.message.make_query("absent.ns-0.svc.cluster.local.", "A", id=0x1234).to_wire()
PROBE_NET = 40
TARGETS = {
    "memory after sync (PSS, MiB)": "<= 120",
    "peak of a relist / steady": "<= 1.3",
    "list to ready (s)": "<= 2",
    "change to answer, p95 (ms)": "<= 50",
}


@dataclass
class Api:
    """The simulated API server; `facts` is what it said."""

    popen: subprocess.Popen[str]
    facts: list[dict[str, float]] = field(default_factory=list)

    def command(self, text: str) -> None:
        """Send a command."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(text + "\n")
        self.popen.stdin.flush()

    def read(self) -> None:
        """Collect facts until it ends."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.facts.append(json.loads(line))

    def wait(self, name: str, times: int = 1, seconds: float = 120.0) -> dict[str, float]:
        """The fact with this name that came as the n-th."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            facts = [fact for fact in list(self.facts) if name in fact]
            if len(facts) >= times:
                return facts[times - 1]
            time.sleep(0.005)
        raise SystemExit(f"scale: the API server did not say {name}")


class Pinger(threading.Thread):
    """Asks one question again and again, a millisecond apart; keeps the time and address of every answer."""

    def __init__(self, port: int, wire: bytes) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.answers: list[tuple[float, bytes]] = []
        self._address = ("127.0.0.1", port)
        self._wire = wire
        self._ended = threading.Event()

    def run(self) -> None:
        """Until `end`."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(5.0)
            sock.connect(self._address)
            while not self._ended.is_set():
                started = time.monotonic()
                try:
                    sock.send(self._wire)
                    answer = sock.recv(4096)
                except OSError:
                    time.sleep(0.05)  # nobody listens yet
                    continue
                now = time.monotonic()
                self.longest = max(self.longest, now - started)
                self.answers.append((now, answer))
                time.sleep(0.001)

    def end(self) -> float:
        """Stop; gives the longest time between question and answer in milliseconds."""
        self._ended.set()
        self.join()
        return self.longest * 1000


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--endpoints", type=int, default=100_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="length of the updates under load")
    parser.add_argument("--rate", type=int, default=500, help="slice updates a second")
    parser.add_argument("--qps", type=int, default=20_000)
    options = parser.parse_args()
    if not dnsperf.installed():
        print(f"scale: {dnsperf.MISSING}", file=sys.stderr)
        return 1
    shapes = {
        "watch list": (0, False),
        "list in pages": (0, True),
        f"{options.pods} pods": (options.pods, False),
    }
    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_mixed(Path(folder) / "mixed.txt", options.services, 40_000)
        for shape, (pods, lists_only) in shapes.items():
            runs = [measure(Path(folder), options, pods, lists_only) for _ in range(options.rounds)]
            table[shape] = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
            show(shape, table[shape])
    return 0


def show(shape: str, figures: dict[str, float]) -> None:
    """One shape's figures."""
    print(f"\n{shape}")
    for name, value in figures.items():
        print(f"  {name:<48}{value:>10.2f}  {TARGETS.get(name, '')}", flush=True)


def measure(folder: Path, options: argparse.Namespace, pods: int, lists_only: bool) -> dict[str, float]:
    """One life of the server."""
    api_port, port, echo = free_port(), free_port(), free_port()
    numbers = [str(number) for number in (api_port, options.services, options.endpoints, pods)]
    flags = ["--lists-only"] if lists_only else []
    api = Api(piped([sys.executable, str(HERE / "kubeapi.py"), *numbers, *flags]))
    threading.Thread(target=api.read, daemon=True).start()
    bare = subprocess.Popen([sys.executable, str(HERE / "bare_loop.py"), str(echo)])
    server = None
    try:
        api.wait("ready")
        server = start(folder, port, api_port, pods)
        return observe(server, api, folder, options, port, echo)
    finally:
        for process in (server, api.popen, bare):
            if process is not None:
                process.kill()
                process.wait()


def piped(command: list[str]) -> subprocess.Popen[str]:
    """A process with both ends in our hands."""
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def start(folder: Path, port: int, api_port: int, pods: int) -> subprocess.Popen[Any]:
    """The server of the stock Corefile, with its cluster behind the simulated API."""
    path = folder / "Corefile"
    text = corefile(port, free_port(), api_port)
    path.write_text(text.replace("pods insecure", "pods verified") if pods else text, encoding="utf-8")
    words = ["serve", "--conf", str(path)]
    return subprocess.Popen([sys.executable, "-m", "waypost.cli.main", *words], stdout=subprocess.DEVNULL)


def observe(
    server: subprocess.Popen[Any], api: Api, folder: Path, options: argparse.Namespace, port: int, echo: int
) -> dict[str, float]:
    """Sync, three relists, updates under load."""
    pid = server.pid
    figures: dict[str, float] = {}
    first = api.wait("first")["first"]
    until_answered(port)
    figures["list to ready (s)"] = time.monotonic() - first
    figures["CPU until ready (s)"] = cpu_seconds(pid)
    figures["peak of the start (MiB)"] = memory(pid, "status", "VmHWM")
    time.sleep(1)
    steady = memory(pid, "status", "VmRSS")
    figures["memory after sync (PSS, MiB)"] = memory(pid, "smaps_rollup", "Pss")
    figures["memory after sync (RSS, MiB)"] = steady
    peaks = []
    pinger, reference = Pinger(port, ABSENT), Pinger(echo, ABSENT)
    pinger.start()
    reference.start()
    used = cpu_seconds(pid)
    for times in range(2, 5):
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # resets the peak
        api.command("expire")
        api.wait("watching", times)
        until_quiet(pid)
        peaks.append(memory(pid, "status", "VmHWM"))
    figures["peak of a relist / steady"] = max(peaks) / steady
    figures["CPU of a relist (s)"] = (cpu_seconds(pid) - used) / 3
    figures["longest pause in a relist (ms)"] = pinger.end()
    figures["  echo loop meanwhile (ms)"] = reference.end()
    figures["memory after relists (RSS, MiB)"] = memory(pid, "status", "VmRSS")
    return figures | under_load(pid, api, folder, options, port, echo)


def under_load(pid: int, api: Api, folder: Path, options: argparse.Namespace, port: int, echo: int) -> dict[str, float]:
    """Slice updates while queries are answered."""
    pinger, reference = Pinger(port, PROBE), Pinger(echo, PROBE)
    command = [
        "dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", str(folder / "mixed.txt"),
        "-l", str(options.seconds + 1), "-c", "20", "-q", "500", "-Q", str(options.qps),
    ]  # fmt: skip
    before = cpu_seconds(pid)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as load:
        time.sleep(0.5)
        pinger.start()
        reference.start()
        api.command(f"update {options.rate} {options.seconds}")
        updated = api.wait("updated")["updated"]
        time.sleep(0.2)
        pause, echoed = pinger.end(), reference.end()
        assert load.stdout is not None
        said = load.stdout.read()
    delays = sorted(change_delays(api, pinger))
    return {
        "slice updates a second": updated / options.seconds,
        "queries a second": found(r"Queries per second:\s+([\d.]+)", said),
        "queries lost": found(r"Queries lost:\s+(\d+)", said),
        "query latency, mean (ms)": found(r"Average Latency \(s\):\s+([\d.]+)", said) * 1000,
        "CPU under load (cores)": (cpu_seconds(pid) - before) / (options.seconds + 1),
        "change to answer, p50 (ms)": delays[len(delays) // 2] * 1000,
        "change to answer, p95 (ms)": delays[len(delays) * 95 // 100] * 1000,
        "change to answer, p99 (ms)": delays[len(delays) * 99 // 100] * 1000,
        "longest pause under load (ms)": pause,
        "  echo loop under load (ms)": echoed,
        "memory after updates (RSS, MiB)": memory(pid, "status", "VmRSS"),
    }


def change_delays(api: Api, pinger: Pinger) -> list[float]:
    """Seconds from sending each change of `probe` to the first answer that has it, or a later one."""
    seen: dict[int, float] = {}
    for moment, wire in pinger.answers:
        for rrset in dns.message.from_wire(wire).answer:
            first, second, third, fourth = map(int, rrset[0].to_text().split("."))
            seen.setdefault((first - PROBE_NET) * 2**24 + second * 65536 + third * 256 + fourth, moment)
    delays = []
    for fact in api.facts:
        if "probe" in fact:
            later = [moment for number, moment in seen.items() if number >= fact["probe"]]
            if later:
                delays.append(max(0.0, min(later) - fact["at"]))
    return delays


def until_answered(port: int) -> None:
    """Returns once the server knows the cluster: it listens from then on (or after `startup_timeout`)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.02)
        sock.connect(("127.0.0.1", port))
        for _ in range(20_000):
            try:
                sock.send(ABSENT)
                if sock.recv(512)[3] & 15 == 3:
                    return
            except OSError:
                pass
            time.sleep(0.002)
    raise SystemExit("scale: the server does not answer")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
