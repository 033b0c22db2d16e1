"""`waypost logs` as a process: output, exit codes, what it reads, and no traceback for any input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from support.process import COMMAND, ask, free_port, run, serving
from support.querylog import line
from support.tree import ROOT

PODS = {
    "apiVersion": "v1",
    "kind": "PodList",
    "items": [
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"containers": [{"name": "a", "image": "b"}]},
            "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]},
        }
        for name, namespace, ip in (
            ("web-0", "shop", "10.244.1.7"),
            ("agent-a", "kube-system", "192.0.2.1"),
            ("agent-b", "kube-system", "192.0.2.1"),
        )
    ],
}
STEPS = ("shop.svc.cluster.local.", "svc.cluster.local.", "cluster.local.")


def log() -> str:
    made = []
    for second in range(0, 50, 10):
        for name in (*(f"api.example.com.{step}" for step in STEPS), "api.example.com."):
            rcode = "NOERROR" if name == "api.example.com." else "NXDOMAIN"
            made += [f"2024-05-01T10:40:{second:02}.000000001Z {line(name, kind, rcode)}" for kind in ("A", "AAAA")]
    made.append(f"2024-05-01T10:41:00Z {line('metrics.shop.svc.cluster.local.', client='192.0.2.1')}")
    made.append("2024-05-01T10:41:00Z [ERROR] plugin/errors: 2 x. A: i/o timeout")
    return "\n".join(made) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dns.log").write_text(log())
    (tmp_path / "dns.log.gz").write_bytes(gzip.compress(log().encode()))
    (tmp_path / "pods.json").write_text(json.dumps(PODS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(*words: str, text: str = "") -> dict[str, Any]:
    done = run("logs", *words, "-o", "json", text=text)
    assert (done.returncode, done.stderr) == (0, "")
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_text() -> None:
    done = run("logs", "dns.log", "--pods", "pods.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "42 lines: 41 queries; no queries: 1 ERROR\n" in done.stdout
    assert "write api.example.com. with the final dot: 2 queries instead of 8" in done.stdout
    assert "10.244.1.7  shop       web-0           40       97.6 %" in done.stdout
    assert "(host network)" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [("dns.log",), ("dns.log.gz",), ("-",), ()])
def test_where_it_reads(words: tuple[str, ...]) -> None:
    value = report(*words, text="" if words[:1] in (("dns.log",), ("dns.log.gz",)) else log())
    assert (value["queries"], value["nxdomain"], value["useless"]) == (41, 30, 30)
    assert value["lines"] == {"read": 42, "outside": 0, "passed": {"ERROR": 1}}
    assert [row["stem"] for row in value["search_list"]] == ["api.example.com"]


@pytest.mark.parametrize(
    ("words", "queries"),
    [
        (("--since", "2024-05-01T10:40:40Z"), 9),
        (("--until", "2024-05-01T10:40:10Z"), 8),
        (("--since", "1h"), 0),
        (("--client", "192.0.2.0/24"), 1),
        (("--client", "192.0.2.1", "--client", "10.244.1.7"), 41),
        (("--zone", "Example.com"), 10),
        (("--zone", "shop.svc.cluster.local", "--client", "192.0.2.1"), 1),
    ],
)
def test_what_is_counted(words: tuple[str, ...], queries: int) -> None:
    value = report("dns.log", *words)
    assert (value["queries"], value["lines"]["outside"]) == (queries, 41 - queries)


def test_cluster_domain_and_top() -> None:
    value = report("dns.log", "--cluster-domain", "other.example", "--top", "1")
    assert value["namespaces"] == []
    assert value["useless"] == 0
    assert len(value["always_failing"]) == 1


def test_format() -> None:
    value = report("--format", "{remote} {name} {rcode}", text="[INFO] 10.0.0.1 a.b. SERVFAIL\nnothing\n")
    assert (value["queries"], value["rcodes"][0]["key"]) == (1, "SERVFAIL")
    assert {left["why"] for left in value["left_out"]} >= {"no line says its type", "no line says its duration"}


def test_the_example_of_the_page_is_true() -> None:
    page = (ROOT / "docs/logs.md").read_text(encoding="utf-8")
    _, _, after = page.partition("$ waypost logs dns.log | head -26\n")
    shown = list(takewhile(lambda text: not text or text.startswith("    "), after.splitlines()))
    done = run("logs", str(ROOT / "tests/data/querylog/dns.log"))
    assert [text[4:] for text in shown[:26]] == done.stdout.splitlines()[:26]


def test_page() -> None:
    done = run("logs", "dns.log", "-o", "html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")


def test_several_servers_are_read_side_by_side(folder: Path) -> None:
    lines = log().splitlines(keepends=True)
    for number in (0, 1):
        (folder / f"{number}.log").write_text("".join(lines[number::2]))
    value = report("0.log", "1.log")
    assert value["repeats"]["pairs"] == 20
    assert value["repeats"]["lone_a"] == value["repeats"]["back"] == 0


def test_our_own_log(folder: Path) -> None:
    port = free_port()
    corefile = f".:{port} {{\n    log\n    errors\n    whoami\n}}\n"
    with serving(folder, corefile, port) as server:
        for name in ("a.example.org.", "b\\.c\\032d.example.org."):
            ask(port, name, "AAAA")
        server.until(lambda: sum("AAAA" in line for line in server.lines) == 2, "its log")
        value = report(text="\n".join(server.lines))
    assert value["queries"] == 2
    assert {row["name"] for row in value["durations"]["slowest"]} == {"a.example.org.", "b\\046c\\ d.example.org."}
    assert [row["address"] for row in value["clients"]] == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("missing.log",), 1, "waypost: missing.log: No such file or directory"),
        ((".",), 1, "Is a directory"),
        (("dns.log", "--pods", "missing"), 1, "missing: cannot be read"),
        (("dns.log", "--pods", "dns.log"), 1, "no pod with an address"),
        (("--format", "{type}"), 2, "--format: a format without {name}"),
        (("--since", "soon"), 2, "expected a time such as 2024-05-01T12:00:00Z"),
        (("--client", "web"), 2, "expected an IP address or network, got 'web'"),
        (("--top", "0"), 2, "expected a number from 1 to 1000"),
        (("-o", "pdf"), 2, "invalid choice"),
    ],
)
def test_mistakes(words: tuple[str, ...], code: int, text: str) -> None:
    done = run("logs", *words)
    assert done.returncode == code
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_mistakes_in_json() -> None:
    done = run("logs", "missing.log", "-o", "json")
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {"error": "missing.log: No such file or directory"}


@pytest.mark.parametrize("output", ["text", "json", "html"])
def test_any_bytes(output: str) -> None:
    data = os.urandom(100_000) + b"\n" + b"x" * 2_000_000 + b"\n\xff" + line("a.example.").encode() + b'\n{"log": \n'
    done = subprocess.run([*COMMAND, "logs", "-o", output], input=data, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_damaged_gzip_is_said(folder: Path) -> None:
    (folder / "half.gz").write_bytes((folder / "dns.log.gz").read_bytes()[:-20])
    done = run("logs", "half.gz")
    assert done.returncode == 0
    assert "half.gz: gzip data is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_reader_goes_away() -> None:
    done = subprocess.run(
        f"{' '.join(COMMAND)} logs dns.log | head -1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout.startswith("42 lines")
    assert "Traceback" not in done.stderr
