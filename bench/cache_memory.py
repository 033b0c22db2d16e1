"""What a million cached names take: `python bench/cache_memory.py`.

A real server with one `cache` in front of `forward` is asked for as many names as `--names` says, each once or, with
`--hits`, also a second time; then its memory is looked at from outside. Needs dnsperf.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

import dnsperf
from loads import write_external
from processes import free_port, memory, running
from servers import HERE

TARGET = "400 MB (381 MiB) for the process"
COREFILE = """.:{port} {{
    bind 127.0.0.1
    prometheus 127.0.0.1:{metrics}
    forward . 127.0.0.1:{upstream}
    cache 3600 {{
        success {capacity}
    }}
}}
"""
# A capacity is rounded down to a multiple of 256.
ROUNDING = 256


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--hits", action="store_true", help="ask for every name again before looking")
    options = parser.parse_args()
    if not dnsperf.installed():
        print(f"cache_memory: {dnsperf.MISSING}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        figures = measure(Path(name), options.names, hits=options.hits)
    for label, value in figures.items():
        print(f"{label:<32}{value:>12,.1f}")
    print(f"target: {TARGET} with 1,000,000 names")
    return 0


def measure(folder: Path, names: int, *, hits: bool) -> dict[str, float]:
    """Memory before and after, and what it comes to for each name."""
    port, upstream, metrics = free_port(), free_port(), free_port()
    conf, questions = folder / "Corefile", folder / "names.txt"
    capacity = names + ROUNDING
    conf.write_text(COREFILE.format(port=port, upstream=upstream, metrics=metrics, capacity=capacity), encoding="utf-8")
    write_external(questions, names)
    server = [sys.executable, "-m", "waypost.cli.main", "serve", "--conf", str(conf)]
    with running([sys.executable, str(HERE / "upstream.py"), str(upstream)], upstream), running(server, port) as pid:
        rss, pss = resident(pid)
        run = dnsperf.run(port, questions, once=True)
        if hits or run.lost:
            run = dnsperf.run(port, questions, once=True)
        time.sleep(2)
        rss_after, pss_after = resident(pid)
        return {
            "names": entries(metrics),
            "RSS before, MiB": rss,
            "RSS after, MiB": rss_after,
            "PSS after, MiB": pss_after,
            "highest RSS, MiB": memory(pid, "status", "VmHWM"),
            "bytes a name (PSS)": (pss_after - pss) * 1024 * 1024 / entries(metrics),
        }


def resident(pid: int) -> tuple[float, float]:
    """RSS and PSS in MiB."""
    return memory(pid, "status", "VmRSS"), memory(pid, "smaps_rollup", "Pss")


def entries(port: int) -> float:
    """How many answers the cache says that it holds."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return dnsperf.found(r'^coredns_cache_entries\{.*type="success".*\} ([\d.e+]+)$', answer.read().decode())


if __name__ == "__main__":
    sys.exit(main())
