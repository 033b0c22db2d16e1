"""What a start goes without: each module that is imported before the first answer keeps a cluster waiting for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.apiobjects import api_namespace, api_service
from support.apiserver import ApiServer
from support.process import ServerProcess, ask, free_port, get
from support.tree import SOURCE

STOCK = SOURCE / "waypost/manifests/example/Corefile"
LATE = frozenset(
    (
        "aiohttp", "aioquic", "botocore", "cryptography", "dns", "h11", "h2", "http.client", "http.server", "maxminddb",
        "multiprocessing", "opentelemetry", "prometheus_client", "re2", "rich", "sqlite3", "unittest", "urllib.request",
        "waypost.kube.folder", "waypost.manifests.documents", "waypost.toolkit.upstream_https", "xml", "yaml",
    )
)  # fmt: skip
"""What other commands, other directives or rare requests need."""


def corefile(port: int, api: str, metrics: int) -> str:
    """The stock one on ports of its own, with the cluster of an API server."""
    text = STOCK.read_text(encoding="utf-8")
    for old, new in (
        (".:53 {", f".:{port} {{\n    bind 127.0.0.1"),
        ("health {", f"health 127.0.0.1:{free_port()} {{"),
        ("    ready\n", f"    ready 127.0.0.1:{free_port()}\n"),
        ("       ttl 30\n", f"       ttl 30\n       endpoint {api}\n"),
        (":9153", f"127.0.0.1:{metrics}"),
        ("lameduck 5s", "lameduck 0s"),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def imported(process: ServerProcess) -> set[str]:
    """Modules so far, each with the packages that it is in."""
    names = re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s*([\w.]+)$", "\n".join(process.errors), re.M)
    return {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)}


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python says what it imports."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")


def test_before_the_first_answer_nothing_is_imported_that_a_stock_cluster_does_not_need(tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    with ApiServer([api_namespace("a"), api_service("a/web", "10.96.0.1")]) as server:
        (tmp_path / "Corefile").write_text(corefile(port, server.url, metrics), encoding="utf-8")
        with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
            process.serving(port)
            assert ask(port, "web.a.svc.cluster.local.").rcode() == 0
            found = imported(process)
            assert {"asyncio", "httptools", "waypost.kube.client", "waypost.plugins.forward"} <= found
            assert found & LATE == set()
            used = {line.split()[0] for line in STOCK.read_text(encoding="utf-8").splitlines() if line.strip("{} ")}
            plugins = {name.split(".")[2] for name in found if name.startswith("waypost.plugins.")}
            assert plugins <= used | {"bind", "order"}
            assert "coredns_build_info" in get(metrics, "/metrics")
            process.until(lambda: "prometheus_client" in imported(process), "the first scrape imports its library")


def test_a_block_without_a_cluster_does_without_its_client(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "Corefile").write_text(f".:{port} {{\n bind 127.0.0.1\n whoami\n}}\n", encoding="utf-8")
    with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
        process.serving(port)
        found = imported(process)
    assert {"waypost.kube", "waypost.plugins.forward", "waypost.plugins.kubernetes", *LATE} & found == set()
