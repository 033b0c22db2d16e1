"""The questions that the pods of the simulated cluster ask, made from a seed: files for dnsperf."""

from __future__ import annotations

import random
from pathlib import Path

NAMESPACES = 20
EXTERNAL_NAMES = 5_000
MISSING_NAMES = 200_000
LOADS = ("mixed", "distinct", "missing", "cached", "forwarded")


def service_name(n: int) -> str:
    """The name of the n-th Service, as `kubeapi.py` makes it."""
    return f"svc-{n}.ns-{n % NAMESPACES}.svc.cluster.local"


def write_mixed(path: Path, services: int, queries: int, seed: int = 1) -> None:
    """What pods with ndots:5 ask: the search list in order, A and AAAA, popular Services first (Zipf)."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(services)]
    lines: list[str] = []
    for n in rng.choices(range(services), weights, k=queries // 4):
        namespace = f"ns-{n % NAMESPACES}"
        name = f"svc-{n}"
        own = rng.random() < 0.5
        spelled = name if own else f"{name}.{namespace}"
        searches = [f"{namespace if own else 'ns-0'}.svc.cluster.local", "svc.cluster.local"]
        for search in searches[:1] if own else searches:
            lines += (f"{spelled}.{search} A", f"{spelled}.{search} AAAA")
    path.write_text("\n".join(lines[:queries]) + "\n", encoding="utf-8")


def write_distinct(path: Path, services: int) -> None:
    """Every Service once."""
    names = (f"{service_name(n)} A" for n in range(services))
    path.write_text("\n".join(names) + "\n", encoding="utf-8")


def write_missing(path: Path, queries: int = MISSING_NAMES, seed: int = 2) -> None:
    """Random names that no Service has; other ones with every seed."""
    rng = random.Random(seed)
    names = (f"{rng.getrandbits(48):x}.ns-{rng.randrange(NAMESPACES)}.svc.cluster.local A" for _ in range(queries))
    path.write_text("\n".join(names) + "\n", encoding="utf-8")


def write_external(path: Path, names: int) -> None:
    """Names outside the cluster, each once."""
    path.write_text("\n".join(f"host-{n}.example.com A" for n in range(names)) + "\n", encoding="utf-8")


def write_all(folder: Path, services: int) -> dict[str, Path]:
    """The questions of every load, for a cluster with so many Services."""
    files = {name: folder / f"{name}.txt" for name in LOADS}
    write_mixed(files["mixed"], services, 40_000)
    write_distinct(files["distinct"], services)
    write_missing(files["missing"])
    write_external(files["cached"], EXTERNAL_NAMES)
    write_external(files["forwarded"], EXTERNAL_NAMES)
    return files
