"""CPU time of the whole server process per query, beside a bare Python loop in the same run: `make bench`.

Machines are noisy: read the ratios, not the microseconds. Needs dnsperf.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from load import write_cluster, write_distinct, write_missing, write_mixed

HERE = Path(__file__).parent
COREFILE = HERE.parent / "src/waypost/manifests/example/Corefile"
TICK = os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Run every load against both servers, alternating, and print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the figures there")
    options = parser.parse_args()
    if shutil.which("dnsperf") is None:
        print("bench: dnsperf is not installed (Debian: apt-get install dnsperf)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.services, options.seconds, options.rounds)
    print(f"\n{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores")
    print(f"{'load':<10}{'bare loop':>12}{'waypost':>12}{'ratio':>8}{'queries/s':>12}")
    for load, row in figures.items():
        print(
            f"{load:<10}{row['bare']:>10.2f}us{row['waypost']:>10.2f}us"
            f"{row['waypost'] / row['bare']:>8.2f}{row['qps']:>12.0f}"
        )
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def measure(folder: Path, services: int, seconds: float, rounds: int) -> dict[str, dict[str, float]]:
    """Medians of CPU microseconds a query by load and server."""
    write_cluster(folder / "cluster.json", services)
    loads = {name: folder / f"{name}.txt" for name in ("mixed", "distinct", "missing")}
    write_mixed(loads["mixed"], services, 40_000)
    write_distinct(loads["distinct"], services)
    write_missing(loads["missing"], 200_000)
    bare_port, port = free_port(), free_port()
    bare = [sys.executable, str(HERE / "bare_loop.py"), str(bare_port)]
    ours = [
        sys.executable, "-m", "waypost.cli.main", "serve", "--conf", str(stock_corefile(folder)),
        "--listen", f"127.0.0.1:{port}", "--manifests", str(folder / "cluster.json"),
    ]  # fmt: skip
    figures: dict[str, dict[str, float]] = {}
    with server(bare, bare_port) as bare_pid, server(ours, port) as pid:
        for name, file in loads.items():
            runs = [
                (per_query(bare_pid, bare_port, file, seconds), per_query(pid, port, file, seconds))
                for _ in range(rounds)
            ]
            figures[name] = {
                "bare": statistics.median(run[0][0] for run in runs),
                "waypost": statistics.median(run[1][0] for run in runs),
                "qps": statistics.median(run[1][1] for run in runs),
            }
    return figures


def stock_corefile(folder: Path) -> Path:
    """The stock Corefile with free ports for its HTTP servers, and an upstream that needs no network."""
    text = COREFILE.read_text(encoding="utf-8")
    text = text.replace("health {", f"health 127.0.0.1:{free_port()} {{")
    text = re.sub(r"^(\s*)ready$", rf"\1ready 127.0.0.1:{free_port()}", text, flags=re.M)
    text = text.replace(":9153", f"127.0.0.1:{free_port()}").replace("/etc/resolv.conf", "127.0.0.1:9")
    path = folder / "Corefile"
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def server(command: list[str], port: int) -> Iterator[int]:
    """A server process, answering once this is entered."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        probe = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"
        for _ in range(300):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.settimeout(0.2)
                sock.sendto(probe, ("127.0.0.1", port))
                try:
                    sock.recv(512)
                    break
                except OSError:
                    time.sleep(0.1)
        else:
            raise SystemExit(f"bench: {command[:4]} does not answer")
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def per_query(pid: int, port: int, file: Path, seconds: float) -> tuple[float, float]:
    """CPU microseconds a query of one process under one dnsperf run, and the queries a second that it answered."""
    before = cpu_seconds(pid)
    command = [
        "dnsperf",
        "-s",
        "127.0.0.1",
        "-p",
        str(port),
        "-d",
        str(file),
        "-l",
        str(seconds),
        "-c",
        "20",
        "-q",
        "200",
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(pid) - before
    completed = re.search(r"Queries completed:\s+(\d+)", out)
    rate = re.search(r"Queries per second:\s+([\d.]+)", out)
    if completed is None or rate is None or int(completed[1]) == 0:
        raise SystemExit(f"bench: dnsperf said\n{out}")
    return used / int(completed[1]) * 1e6, float(rate[1])


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
