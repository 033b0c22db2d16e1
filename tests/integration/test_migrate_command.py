"""`waypost migrate` as a process."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.process import run
from support.tree import ROOT
from waypost.cli import migrate
from waypost.cli.migrate_verify import verify
from waypost.corefile.stock import stock_corefile, stub_block

OLD = """\
# the DNS of our cluster
.:53 {
    errors  # to the log
    health
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        upstream
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    proxy . 192.0.2.1
    cache 30
    reload
}
"""
NEW = """\
# the DNS of our cluster
.:53 {
    errors  # to the log
    health {
        lameduck 5s
    }
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . 192.0.2.1 {
        max_concurrent 1000
    }
    cache 30
    reload
    loop
    ready
}
"""
KUBE_DNS = {
    "kind": "ConfigMap",
    "metadata": {"name": "kube-dns"},
    "data": {
        "stubDomains": '{"example.local": ["10.100.0.10:53"]}',
        "upstreamNameservers": '["8.8.8.8:53"]',
        "federations": '{"a": "a.test"}',
    },
}
EXAMPLE = ROOT / "src/waypost/manifests/example"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Corefile").write_text(OLD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_corefile() -> None:
    done = run("migrate", "Corefile")
    assert (done.returncode, done.stdout) == (0, NEW)
    assert "Corefile: line 10: renamed: proxy to forward\n" in done.stderr
    assert "Corefile: line 6: kubernetes: dropped upstream\n" in done.stderr


def test_standard_input_and_versions() -> None:
    done = run("migrate", "-", "--from", "v1.6.9", "--to", "1.7.0", text=OLD)
    assert (done.returncode, done.stdout) == (0, OLD.replace("        upstream\n", ""))
    done = run("migrate", "-", "--required-only", text=OLD)
    assert done.stdout == OLD.replace("        upstream\n", "").replace("proxy", "forward")


def test_diff() -> None:
    done = run("migrate", "Corefile", "--diff", "--required-only")
    assert done.returncode == 0
    changes = [line for line in done.stdout.splitlines() if line[0] in "+-"]
    assert changes == [
        "--- Corefile",
        "+++ Corefile (migrated)",
        "-        upstream",
        "-    proxy . 192.0.2.1",
        "+    forward . 192.0.2.1",
    ]
    assert run("migrate", "-", "--diff", text=NEW).stdout == ""


def test_a_config_map_with_a_corefile() -> None:
    for text in (
        json.dumps({"kind": "ConfigMap", "data": {"Corefile": OLD}}),
        "kind: ConfigMap\ndata:\n  Corefile: |\n",
    ):
        if text.startswith("kind"):
            text += "".join(f"    {line}\n" for line in OLD.splitlines())
        assert run("migrate", "-", text=text).stdout == NEW


def test_kube_dns(folder: Path) -> None:
    (folder / "kube-dns.json").write_text(json.dumps(KUBE_DNS))
    for words, text in (("kube-dns.json",), ""), (("-",), json.dumps(KUBE_DNS)):
        done = run("migrate", *words, "--cluster-domain", "k8s.test", text=text)
        assert done.returncode == 0
        assert (
            done.stdout
            == f"{stock_corefile('k8s.test', ['8.8.8.8:53'])}\n{stub_block('example.local', ['10.100.0.10:53'])}"
        )
        assert "data.federations: dropped" in done.stderr


def test_verify_without_difference() -> None:
    names = ("web.shop.svc.cluster.local", "db.shop.svc.cluster.local/SRV", "none.shop.svc.cluster.local")
    done = run("migrate", "Corefile", "--verify", *names, "--manifests", str(EXAMPLE))
    assert (done.returncode, done.stdout) == (0, "no difference in 5 answers\n")
    assert "does not start as it is" in done.stderr


def test_verify_with_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    before = ".:53 {\n    hosts {\n        192.0.2.2 a.test\n        192.0.2.1 a.test b.test\n    }\n}\n"
    after = before.replace("192.0.2.1 a.test", "192.0.2.3 a.test")
    assert verify("Corefile", (before, before, before), ["a.test"], ()) == 0
    assert capsys.readouterr().out == "no difference in 2 answers\n"
    assert verify("Corefile", (before, before, after), ["a.test", "b.test/aaaa", "0/25.b.test"], ()) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "TYPE", "BEFORE", "AFTER"]
    assert [re.split(" {2,}", line) for line in lines[1:]] == [
        ["a.test.", "A", "NOERROR A 192.0.2.1, A 192.0.2.2", "NOERROR A 192.0.2.2, A 192.0.2.3"]
    ]


def test_verify_an_old_one_that_still_starts() -> None:
    done = run("migrate", "-", "--verify", "a.test/TXT", text=". {\n    whoami\n    health :0\n}\n")
    assert (done.returncode, done.stdout) == (0, "no difference in 1 answer\n")
    assert "does not start" not in done.stderr


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (".:53 {\n", [], "the brace that opens here is never closed"),
        (
            ".:53 {\n    unheard\n}\n",
            [],
            "the result would not start: Corefile:2 - Error during parsing: Unknown directive",
        ),
        (".:53 {\n    whoami\n}\n", ["--verify", "a..b"], "--verify: expected NAME or NAME/TYPE, got 'a..b'"),
        (json.dumps(KUBE_DNS), ["--verify", "a"], "kube-dns has none"),
        (json.dumps(KUBE_DNS).replace("8.8.8.8:53", "x"), [], "data.upstreamNameservers[0]: expected an address"),
        (json.dumps(KUBE_DNS), ["--cluster-domain", "A"], "--cluster-domain: expected a domain"),
        ('{"kind": "ConfigMap", "data": {"a": "b"}}', [], "data: expected a Corefile, or kube-dns's stubDomains"),
        ('{"kind": "ConfigMap", "data": []}', [], "data: expected an object"),
        ("", ["--manifests", "x"], ""),
        ("", ["--from", "new"], ""),
    ],
    ids=range(10),
)
def test_what_cannot_be_migrated(text: str, words: list[str], says: str, folder: Path) -> None:
    (folder / "Corefile").write_text(text)
    done = run("migrate", "Corefile", *words)
    assert (done.returncode, done.stdout) == (1 if says else 2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_no_file() -> None:
    done = run("migrate", "gone")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "waypost: gone: No such file or directory\n")


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        migrate.main(["--help"])
    assert "examples:\n  waypost migrate " in capsys.readouterr().out
