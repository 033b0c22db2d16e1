"""`waypost resolvconf` and `waypost cascade` as processes: output, exit codes, and no traceback for any input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dns.message
import dns.rrset
import pytest

from support.podside import CLOSED, cases
from support.process import COMMAND, free_port, run, serving
from waypost.cli import cascade, resolvconf

NODE = "nameserver 192.0.2.53\nsearch corp.example\n"
DEPLOYMENT = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      dnsConfig:
        options: [{name: ndots, value: "2"}]
"""
KUBELET = "kind: KubeletConfiguration\nclusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\n"
COREFILE = """\
.:53 {
    errors
    log
    health
    ready
    prometheus :9153
    kubernetes cluster.local
    cache 30
    loop
    reload
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "node.conf").write_text(NODE)
    (tmp_path / "web.yaml").write_text(DEPLOYMENT)
    (tmp_path / "kubelet.yaml").write_text(KUBELET)
    (tmp_path / "Corefile").write_text(COREFILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestResolvConf:
    def test_text(self) -> None:
        done = run(
            "resolvconf", "--pod", "web.yaml", "--kubelet-config", "kubelet.yaml", "--node-resolv-conf", "node.conf"
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == (
            "search shop.svc.cluster.local svc.cluster.local cluster.local corp.example\n"
            "nameserver 10.96.0.10\noptions ndots:2\n"
        )

    def test_json_and_standard_input(self) -> None:
        words = ("resolvconf", "--pod", "-", "--node-resolv-conf", "none", "-o", "json")
        done = run(*words, text=json.dumps({"kind": "Pod", "metadata": {"namespace": "a"}, "spec": {}}))
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == {
            "nameservers": ["10.96.0.10"],
            "searches": ["a.svc.cluster.local", "svc.cluster.local", "cluster.local"],
            "options": ["ndots:5"],
            "events": [],
        }

    def test_warnings(self) -> None:
        Path("node.conf").write_text("".join(f"nameserver 192.0.2.{place}\n" for place in range(4)))
        pod = '{"kind": "Pod", "spec": {"dnsPolicy": "Default"}}'
        done = run("resolvconf", "--pod", "-", "--node-resolv-conf", "node.conf", text=pod)
        assert done.returncode == 0
        assert done.stdout.count("nameserver") == 3
        assert done.stderr == (
            "Warning  DNSConfigForming  Pod  Nameserver limits were exceeded, some nameservers have been omitted, "
            "the applied nameserver line is: 192.0.2.0 192.0.2.1 192.0.2.2\n"
        )

    def test_check_node(self) -> None:
        Path("node.conf").write_text(f"search {' '.join(f'd{place}.example' for place in range(30))}\n")
        words = ("resolvconf", "--node-resolv-conf", "node.conf", "-o", "json")
        reasons = [event["reason"] for event in json.loads(run(*words, "--check-node").stdout)["events"]]
        assert reasons == ["CheckLimitsForResolvConf", "DNSConfigForming"]
        assert [event["reason"] for event in json.loads(run(*words).stdout)["events"]] == ["DNSConfigForming"]

    def test_refused_by_the_api_server(self) -> None:
        pod = '{"kind": "Deployment", "spec": {"template": {"spec": {"dnsPolicy": "None"}}}}'
        words = ("resolvconf", "--pod", "-", "--node-resolv-conf", "none")
        done = run(*words, "-o", "json", text=pod)
        error = {
            "field": "spec.template.spec.dnsConfig",
            "type": "FieldValueRequired",
            "detail": "must provide `dnsConfig` when `dnsPolicy` is None",
        }
        assert (done.returncode, json.loads(done.stdout), done.stderr) == (1, {"errors": [error]}, "")
        done = run(*words, text=pod)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"waypost: {error['field']}: Required value: {error['detail']}\n"
        done = run(*words, "--no-validate", text=pod)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_node_file_is_missing(self) -> None:
        done = run("resolvconf", "--node-resolv-conf", "gone.conf", "-o", "json")
        assert (done.returncode, json.loads(done.stdout)) == (1, {"error": "open gone.conf: no such file or directory"})
        done = run("resolvconf", "--node-resolv-conf", "gone.conf")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(
            "Warning  FailedCreatePodSandBox  Pod  Failed to create pod sandbox: open gone.conf: "
        )

    def test_messages_name_the_path_of_the_kubelet(self) -> None:
        Path("kubelet.yaml").write_text("resolvConf: /run/resolv.conf\n")
        words = ("resolvconf", "--kubelet-config", "kubelet.yaml", "-o", "json")
        done = run(*words, "--node-resolv-conf", "gone.conf")
        assert json.loads(done.stdout) == {"error": "open /run/resolv.conf: no such file or directory"}

    @pytest.mark.parametrize(
        ("words", "code", "error"),
        [
            (["x"], 2, "usage: waypost resolvconf"),
            (["--pod"], 2, "usage: waypost resolvconf"),
            (["-o", "yaml"], 2, "usage: waypost resolvconf"),
            (["--pod", "gone.yaml"], 1, "waypost: gone.yaml: No such file or directory\n"),
            (["--pod", "."], 1, "waypost: .: Is a directory\n"),
            (["--pod", "kubelet.yaml"], 1, "waypost: kubelet.yaml: no Pod, and no workload with a pod template\n"),
            (["--pod", "node.conf"], 1, "waypost: node.conf: document 1: "),
            (["--pod", "/dev/null"], 1, "waypost: /dev/null: no Pod"),
            (["--kubelet-config", "web.yaml"], 1, "waypost: web.yaml: no KubeletConfiguration\n"),
            (["--kubelet-config", "node.conf"], 1, "waypost: node.conf: document 1: expected an object, got "),
            (["--node-ip", "x"], 1, "waypost: --node-ip: expected an IP address, got 'x'\n"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else None,
    )
    def test_bad_words(self, words: list[str], code: int, error: str) -> None:
        done = run("resolvconf", "--node-resolv-conf", "none", *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(error), done.stderr

    @pytest.mark.parametrize("text", [b"\xff\xfe", b"a: [", b"\0", b"[" * 5000, b"kind: Pod\nspec: 1\n", b"&a [*a]"])
    def test_odd_files(self, text: bytes) -> None:
        Path("odd").write_bytes(text)
        for option in ("--pod", "--kubelet-config", "--node-resolv-conf"):
            done = subprocess.run([*COMMAND, "resolvconf", option, "odd"], capture_output=True, timeout=10)
            assert done.returncode in (0, 1)
            assert b"Traceback" not in done.stderr


class TestCascade:
    def test_text(self) -> None:
        zone = {"web.shop.svc.cluster.local./A": {"records": [{"type": "A", "data": "10.96.0.7"}]}}
        Path("zone.json").write_text(json.dumps(zone))
        done = run("cascade", "web.shop", "--node-resolv-conf", "none", "--answers", "zone.json", "--family", "inet")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [
            "#  NAME                                 TYPE  SERVER      RCODE",
            "1  web.shop.default.svc.cluster.local.  A     10.96.0.10  NXDOMAIN",
            "2  web.shop.svc.cluster.local.          A     10.96.0.10  NOERROR",
            "",
            "2 queries, 1 useless; 2 conntrack entries",
            "result: addresses 10.96.0.7",
            "advice: write web.shop.svc.cluster.local. with the final dot: 1 query instead of 2",
        ]

    def test_json(self) -> None:
        done = run(
            "cascade", "web", "--node-resolv-conf", "none", "--family", "inet6", "--resolver", "musl", "-o", "json"
        )
        queries = [[f"web{suffix}.", "AAAA"] for suffix in (
            ".default.svc.cluster.local", ".svc.cluster.local", ".cluster.local", "")]  # fmt: skip
        assert json.loads(done.stdout) == {"queries": queries, "result": "nxdomain", "wasted": 3}

    def test_pod(self) -> None:
        done = run("cascade", "a.b.c", "--pod", "web.yaml", "--node-resolv-conf", "none", "-o", "json")
        assert json.loads(done.stdout)["queries"][0] == ["a.b.c.", "A"]

    @pytest.mark.parametrize("name", ["web", "web.shop", "web.shop.svc.cluster.local"])
    @pytest.mark.parametrize(
        "source", [[], ["--conf", "Corefile", "--manifests", "web.yaml"]], ids=["assumed", "Corefile"]
    )
    def test_compare(self, name: str, source: list[str]) -> None:
        words = ["--namespace", "shop", "--node-resolv-conf", "none", "--compare", "-o", "json"]
        done = run("cascade", name, *words, *source)
        assert done.returncode == 0
        found = json.loads(done.stdout)
        assert found["target"] == "web.shop.svc.cluster.local."
        assert [(each["name"], each["namespace"], each["queries"]) for each in found["spellings"]] == [
            ("web", "shop", 1),
            ("web.shop", "default", 2),
            ("web.shop.svc", "default", 3),
            ("web.shop.svc.cluster.local", "default", 4),
            ("web.shop.svc.cluster.local.", "default", 1),
        ]
        assert {each["result"] for each in found["spellings"]} == {"addresses"}

    def test_compare_with_a_file(self) -> None:
        Path("pod.conf").write_text("nameserver 10.96.0.10\nsearch shop.svc.k8s svc.k8s k8s\noptions ndots:5\n")
        done = run("cascade", "web", "--resolv-conf", "pod.conf", "--compare")
        assert done.stdout.splitlines()[1:6] == [
            "web                shop            1        0        addresses",
            "web.shop           default         2        1        addresses",
            "web.shop.svc       default         3        2        addresses",
            "web.shop.svc.k8s   default         4        3        addresses",
            "web.shop.svc.k8s.  default         1        0        addresses",
        ]

    def test_corefile_in_process_opens_no_listener(self) -> None:
        code = (
            "import sys\n"
            "def hook(event, args):\n"
            "    if event == 'socket.bind': raise SystemExit(f'{event} {args}')\n"
            "sys.addaudithook(hook)\n"
            "from waypost.cli.main import main\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        words = ["cascade", "web.shop", "--node-resolv-conf", "none", "--conf", "Corefile", "--manifests", "web.yaml"]
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=10)
        assert done.returncode == 0, done.stderr
        assert "result: addresses 10.96.0.7" in done.stdout
        assert "advice: write web.shop.svc.cluster.local. with the final dot: 2 queries instead of 4" in done.stdout

    def test_live_server(self, tmp_path: Path) -> None:
        port = free_port()
        with serving(
            tmp_path, f'.:{port} {{\n    template IN A web.x {{\n answer "web.x. 5 IN A 10.0.0.1"\n }}\n}}\n', port
        ):
            words = ("--resolv-conf", "/dev/null", "--server", f"127.0.0.1:{port}", "--family", "inet", "-o", "json")
            done = run("cascade", "web.x", *words)
        assert json.loads(done.stdout) == {"queries": [["web.x.", "A"]], "result": "addresses", "wasted": 0}

    def test_live_server_that_does_not_listen(self) -> None:
        done = run(
            "cascade", "web.", "--resolv-conf", "/dev/null", "--server", f"127.0.0.1:{free_port()}", "-o", "json"
        )
        assert json.loads(done.stdout)["result"] == "unreachable"

    @pytest.mark.parametrize(
        ("words", "code", "error"),
        [
            ([], 2, "usage: waypost cascade"),
            (["a", "b"], 2, "usage: waypost cascade"),
            (["a", "--resolver", "bind"], 2, "usage: waypost cascade"),
            (["a", "--server", "localhost"], 2, "usage: waypost cascade"),
            (["a", "--server", "10.96.0.10:x"], 2, "usage: waypost cascade"),
            (["a", "--manifests", "."], 2, "usage: waypost cascade"),
            (["a", "--conf", "Corefile", "--answers", "x"], 2, "usage: waypost cascade"),
            (["a", "--resolv-conf", "node.conf", "--pod", "web.yaml"], 2, "usage: waypost cascade"),
            (["a", "--resolv-conf", "gone"], 1, "waypost: gone: No such file or directory\n"),
            (["a", "--node-resolv-conf", "gone"], 1, "Warning  FailedCreatePodSandBox"),
            (["a", "--answers", "gone"], 1, "waypost: gone: No such file or directory\n"),
            (["a", "--answers", "node.conf"], 1, "waypost: node.conf: not JSON: "),
            (["a", "--conf", "node.conf"], 1, "waypost: "),
            (["a", "--conf", "gone"], 1, "waypost: loading Caddyfile via flag: open gone: no such file"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else None,
    )
    def test_bad_words(self, words: list[str], code: int, error: str) -> None:
        done = run("cascade", *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(error), done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("name", [b"", b".", b"\xff", b"a\nb", b"x" * 300, b"\x1b[31m", "\N{SNOWMAN}".encode()])
    @pytest.mark.parametrize("output", ["text", "json"])
    def test_odd_names(self, name: bytes, output: str) -> None:
        words = [*map(os.fsencode, COMMAND), b"cascade", name, b"--resolver", b"musl", b"-o", output.encode()]
        done = subprocess.run([*words, b"--node-resolv-conf", b"none"], capture_output=True, timeout=10)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("command", ["resolvconf", "cascade"])
def test_help_has_examples(command: str) -> None:
    done = run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"examples:\n  waypost {command} " in done.stdout


@pytest.mark.parametrize("command", ["resolvconf", "cascade"])
def test_starts_without_what_it_does_not_need(command: str) -> None:
    code = (
        "import sys\nfrom waypost.cli.main import main\nmain(sys.argv[1:])\n"
        "late = {'asyncio', 'dns', 'aiohttp', 'msgspec', 'yaml', 'rich'} & set(sys.modules)\n"
        "assert not late, late"
    )
    words = [command, *(["web"] if command == "cascade" else []), "--node-resolv-conf", "none"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=10)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", cases("resolvconf"))
def test_recorded_pods(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command gives what the kubelet gave, in its exact JSON."""
    pod, kubelet, expected = case["pod"], case["kubelet"], case["expect"]
    meta = {name: pod[name] for name in ("name", "namespace", "uid")}
    spec = {name: pod[name] for name in ("dnsPolicy", "hostNetwork", "dnsConfig") if pod[name] is not None}
    (tmp_path / "pod.json").write_text(json.dumps({"kind": "Pod", "metadata": meta, "spec": spec}))
    (tmp_path / "kubelet.yaml").write_text(json.dumps({k: v for k, v in kubelet.items() if k != "nodeIPs"}))
    words = ["--pod", "pod.json", "--kubelet-config", "kubelet.yaml", "--no-validate", "-o", "json"]
    if kubelet["nodeIPs"]:
        words += ["--node-ip", ",".join(kubelet["nodeIPs"])]
    if kubelet["resolvConf"]:
        words += ["--node-resolv-conf", "the-node.conf"]
        if case["node_resolv_conf"] is not None:
            (tmp_path / "the-node.conf").write_bytes(case["node_resolv_conf"].encode())
    code = resolvconf.main(words)
    found = json.loads(capsys.readouterr().out)
    if "error" in expected:
        assert (code, found) == (1, {"error": expected["error"]})
        return
    assert code == 0
    assert sorted(found["options"]) == expected["options"]
    assert (found["nameservers"], found["searches"]) == (expected["nameservers"], expected["searches"])
    events = [{name: event[name] for name in ("reason", "object", "message")} for event in expected["events"]]
    assert found["events"] == events


@pytest.mark.parametrize("case", [case for case in cases("cascade") if "env" not in case.values[0]])
def test_recorded_look_ups(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command sends what the resolver sent."""
    zone = {**case["zone"], f"@{CLOSED}": {"rcode": "UNREACHABLE"}}
    (tmp_path / "zone.json").write_text(json.dumps(zone))
    (tmp_path / "resolv.conf").write_bytes(case["resolv_conf"].encode())
    words = ["--resolv-conf", "resolv.conf", "--answers", "zone.json", "--family", case["family"], "-o", "json"]
    words += ["--resolver", case["resolver"], "--hostname", case.get("hostname", "pod-0"), "--", case["name"]]
    assert cascade.main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["queries"] == case["expect_queries"]
    assert found["result"] == case["result"]


def test_messages_are_judged_by_dnspython() -> None:
    """A reply without EDNS is one that tells less."""
    from waypost.cli.answers import reply_of

    response = dns.message.make_response(dns.message.make_query("web.x.", "A"))
    response.answer.append(dns.rrset.from_text("web.x.", 5, "IN", "A", "10.0.0.1"))
    reply = reply_of(dns.message.from_wire(response.to_wire()))
    assert (reply.rcode, [record.data for record in reply.records], reply.bare) == ("NOERROR", ["10.0.0.1"], True)
