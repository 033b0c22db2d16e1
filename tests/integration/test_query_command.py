"""`waypost query` as a process: in process, from a live server, over UDP and TCP, and no traceback for any input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.process import COMMAND, free_port, run, serving
from waypost.cli import query

CLUSTER = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: client, namespace: shop}
spec: {template: {spec: {dnsConfig: {options: [{name: ndots, value: "2"}]}}}}
"""
COREFILE = """\
.:53 {
    bind 127.0.0.1
    errors
    kubernetes cluster.local in-addr.arpa
    template IN TXT big.example {
        answer "{{ .Name }} 60 IN TXT LONG"
        answer "{{ .Name }} 60 IN TXT 2LONG"
        answer "{{ .Name }} 60 IN TXT 3LONG"
    }
    template IN A drop.example {
        rcode SERVFAIL
    }
}
""".replace("LONG", "x" * 200)
HERE = ("--conf", "Corefile", "--manifests", "cluster.yaml", "--node-resolv-conf", "none")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "Corefile").write_text(COREFILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(*words: str, code: int = 0) -> Any:
    """What the command prints as JSON."""
    done = run("query", *words, "-o", "json")
    assert (done.returncode, done.stderr) == (code, ""), done.stdout
    return json.loads(done.stdout)


class TestInProcess:
    def test_text(self) -> None:
        done = run("query", "web.shop", "--search", *HERE)
        assert (done.returncode, done.stderr) == (0, "")
        lines = [line.partition(", 0.")[0] for line in done.stdout.splitlines()]
        assert lines[:6] == [
            ";; NOERROR, flags qr aa rd",
            ";; QUESTION",
            ";web.shop.svc.cluster.local. A",
            "",
            ";; ANSWER",
            "web.shop.svc.cluster.local. 5 IN A 10.96.0.7",
        ]
        assert [line.rpartition(", ")[0] for line in done.stdout.splitlines()[7:]] == [
            ";; 1  web.shop.default.svc.cluster.local. A  NXDOMAIN  in this process over udp",
            ";; 2  web.shop.svc.cluster.local. A  NOERROR  in this process over udp",
        ]

    def test_short(self) -> None:
        done = run("query", "web.shop.svc.cluster.local", "--short", *HERE)
        assert (done.returncode, done.stdout) == (0, "10.96.0.7\n")
        done = run("query", "10.96.0.7", "PTR", "--short", *HERE)
        assert done.stdout == "web.shop.svc.cluster.local.\n"

    def test_as_a_workload(self) -> None:
        for who in ("shop/client", "cluster.yaml", "shop/"):
            value = asked("web", "--search", "--from", who, *HERE)
            assert value["response"]["answer"] == ["web.shop.svc.cluster.local. 5 IN A 10.96.0.7"]
        value = asked("web.shop.svc", "--search", "--from", "shop/client", *HERE)
        assert value["queries"][0]["name"] == "web.shop.svc."  # ndots:2 of that workload

    def test_nothing_there(self) -> None:
        value = asked("web.prod", "--search", *HERE)
        assert value["response"]["rcode"] == "SERVFAIL"  # nobody serves names outside of the cluster
        assert asked("web.prod.svc.cluster.local", *HERE)["response"]["rcode"] == "NXDOMAIN"

    def test_what_is_truncated_is_asked_again(self) -> None:
        value = asked("big.example", "TXT", *HERE)
        assert [query["transport"] for query in value["queries"]] == ["udp", "tcp"]
        assert len(value["response"]["answer"]) == 3
        value = asked("big.example", "TXT", "--tcp", *HERE)
        assert [query["transport"] for query in value["queries"]] == ["tcp"]

    def test_a_resolver_knows_some_names(self) -> None:
        done = run("query", "localhost", "--search", *HERE)
        assert done.returncode == 0
        assert done.stdout.startswith(";; nothing was asked for localhost: a resolver knows it by itself")
        assert asked("localhost", "--search", *HERE) == {"response": None, "queries": []}


class TestALiveServer:
    @pytest.fixture
    def port(self, tmp_path: Path) -> Iterator[int]:
        port = free_port()
        text = COREFILE.replace(".:53", f".:{port}")
        text = text.replace("cluster.local in-addr.arpa", "cluster.local {\nmanifests cluster.yaml\n}")
        with serving(tmp_path, text, port):
            yield port

    def test_udp_and_tcp(self, port: int) -> None:
        server = ("--server", f"127.0.0.1:{port}", "--node-resolv-conf", "none")
        value = asked("web.shop", "--search", *server)
        assert value["response"]["answer"] == ["web.shop.svc.cluster.local. 5 IN A 10.96.0.7"]
        assert value["response"]["server"] == f"127.0.0.1:{port}"
        value = asked("big.example", "TXT", *server)
        assert [query["transport"] for query in value["queries"]] == ["udp", "tcp"]
        assert len(value["response"]["answer"]) == 3

    def test_nobody_listens(self) -> None:
        where = f"127.0.0.1:{free_port()}"
        value = asked("a.example", "--server", where, code=1)
        assert value["response"]["rcode"] is None
        assert value["response"]["error"] == "Connection refused"
        done = run("query", "a.example", "--server", where)
        assert done.returncode == 1
        assert done.stdout.startswith(";; 1  a.example. A  Connection refused  ")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("web", "NONSENSE"), 2),
        (("web", "--server", "nobody"), 2),
        (("web", "--server", "127.0.0.1", "--conf", "Corefile"), 2),
        (("web", "--conf", "missing"), 1),
        (("web", "--from", "missing.yaml"), 1),
        (("web", "--from", "shop/gone"), 1),
        (("web", "--resolv-conf", "missing"), 1),
    ],
)
def test_mistakes_are_told_in_a_line(words: tuple[str, ...], code: int) -> None:
    done = run("query", *words)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.startswith("waypost: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["", ".", "a..b", "\udcff.web", "x" * 70, "web\n", "*", "\\000", "ä.example"])
def test_any_name_is_asked_for(name: str) -> None:
    for search in ((), ("--search",)):
        done = run("query", *search, *HERE, "--", name)
        assert done.returncode in (0, 1, 2), done.stderr
        assert "Traceback" not in done.stderr


def test_help_has_examples_that_parse() -> None:
    done = run("query", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    examples = [line.split() for line in done.stdout.splitlines() if line.startswith("  waypost query ")]
    assert len(examples) >= 5
    for words in examples:
        query.make_parser().parse_intermixed_args(words[2:])


@pytest.mark.parametrize("command", ["explain", "query"])
def test_help_imports_little(command: str) -> None:
    """What takes long to import is imported only where it is used."""
    code = (
        "import sys\nfrom waypost.cli.main import main\n"
        f"try:\n    main(['{command}', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'dns', 'aiohttp', 'rich', 'asyncio', 'yaml', 'msgspec'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stderr == "[]\n"


def test_colours_on_a_terminal_only() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = [*COMMAND, "query", "web.shop.svc.cluster.local", *HERE]
    env = {**os.environ, "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.PIPE, env=env) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[" in shown
    assert b"10.96.0.7" in shown
