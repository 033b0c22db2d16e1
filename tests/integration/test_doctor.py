"""`waypost doctor` as a process: from a folder, from an API server, and for input of any kind."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
import yaml

from support.dnscluster import CONNTRACK, Json, changed, objects, policy
from support.doctorapi import DoctorApi
from support.process import COMMAND, free_port, run
from support.tree import ROOT
from support.upstream import ScriptedUpstream, good
from waypost.cli.doctor import main
from waypost.diagnosis.checks import CHECKS

PLURALS = ("networkpolicies", "daemonsets", "events")
LOOP = '[FATAL] plugin/loop: Loop (127.0.0.1:55953 -> :53) detected for zone "."\n'


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No kubeconfig, and not in a pod."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dump(folder: Path, items: list[Json] | None = None) -> None:
    """As `kubectl get -o yaml` gives them, with the kinds that there are none of."""
    folder.mkdir(exist_ok=True)
    given = list(objects().values()) if items is None else items
    (folder / "everything.yaml").write_text(yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": given}))
    for plural in PLURALS:
        (folder / f"{plural}.yaml").write_text("kind: List\napiVersion: v1\nitems: []\n")
    (folder / "version.yaml").write_text("serverVersion: {gitVersion: v1.36.1}\n")


def node(folder: Path, resolv_conf: str = "nameserver 192.0.2.53\n") -> None:
    files = {
        "etc/resolv.conf": resolv_conf,
        "proc/net/stat/nf_conntrack": CONNTRACK,
        "proc/sys/net/netfilter/nf_conntrack_count": "10\n",
        "proc/sys/net/netfilter/nf_conntrack_max": "1000\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def kubeconfig(url: str) -> str:
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
    }
    Path("config").write_text(yaml.safe_dump(config))
    return "config"


def told(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """Verdicts by code of a JSON report."""
    found: dict[str, list[str]] = {}
    for each in json.loads(done.stdout)["findings"]:
        found.setdefault(each["code"], []).append(each["verdict"])
    return found


class TestFolder:
    def test_healthy(self) -> None:
        dump(Path("dump"))
        node(Path("node"))
        done = run("doctor", "--from", "dump", "--node", "node", "-o", "json")
        assert (done.returncode, done.stderr) == (0, "")
        verdicts = told(done)
        assert list(verdicts) == [check.code for check in CHECKS]
        assert {code for code, found in verdicts.items() if found != ["ok"] * len(found)} == {"D105", "D304"}

    def test_ill(self) -> None:
        dump(Path("dump"), [*objects().values(), policy("deny-all", policyTypes=["Egress"])])
        node(Path("node"), "nameserver 127.0.0.53\n")
        done = run("doctor", "--from", "dump", "--node", "node")
        assert done.returncode == 1
        assert "failure  D501  pods in namespace shop may not ask DNS over UDP\n" in done.stdout
        assert "NetworkPolicy shop/(deny-all).spec.egress: no rule allows UDP 53 to Pod coredns-a\n" in done.stdout
        assert "failure  D402  " in done.stdout
        assert "remedy: set resolvConf" in done.stdout
        assert "\x1b" not in done.stdout

    def test_only(self) -> None:
        dump(Path("dump"))
        assert list(told(run("doctor", "--from", "dump", "--only", "d107,D5", "-o", "json"))) == [
            "D107", "D501", "D502", "D503", "D504", "D505",
        ]  # fmt: skip

    def test_strict(self) -> None:
        dump(Path("dump"), changed(lambda objects: objects.pop("PodDisruptionBudget/coredns")))
        Path("dump/poddisruptionbudgets.yaml").write_text("kind: List\napiVersion: v1\nitems: []\n")
        for words, code in (
            (("--only", "D108"), 0),
            (("--only", "D108", "--strict"), 1),
            (("--only", "D107", "--strict"), 0),
        ):
            assert run("doctor", "--from", "dump", *words).returncode == code

    def test_a_log_beside_the_objects(self) -> None:
        def restart(objects: dict[str, Json]) -> None:
            objects["Pod/coredns-a"]["status"]["containerStatuses"][0]["restartCount"] = 3

        dump(Path("dump"), changed(restart))
        assert told(run("doctor", "--from", "dump", "--only", "D202", "-o", "json")) == {"D202": ["unknown"]}
        Path("dump/coredns-a-previous.log").write_text(LOOP)
        assert told(run("doctor", "--from", "dump", "--only", "D202", "-o", "json")) == {"D202": ["failure"]}

    def test_a_node_alone(self) -> None:
        node(Path("node"))
        done = run("doctor", "--node", "node", "-o", "json")
        verdicts = told(done)
        assert done.returncode == 0
        assert {code for code, found in verdicts.items() if found == ["ok"]} == {
            f"D40{number}" for number in range(1, 8)
        }
        assert all(found == ["unknown"] for code, found in verdicts.items() if not code.startswith("D4"))

    async def test_upstreams_can_be_asked(self) -> None:
        words = ("doctor", "--from", "dump", "--only", "D304", "--probe", "-o", "json")
        async with ScriptedUpstream(good()) as upstream:
            corefile = f".:53 {{\n    forward . {upstream.address}\n}}\n"
            dump(Path("dump"), changed(lambda objects: objects["ConfigMap/coredns"]["data"].update(Corefile=corefile)))
            [found] = json.loads((await asyncio.to_thread(run, *words)).stdout)["findings"]
        assert (found["verdict"], found["summary"]) == ("ok", f"upstream {upstream.address} answers")
        assert [line.partition(" after ")[0] for line in found["evidence"]] == ["UDP: NOERROR", "TCP: NOERROR"]
        assert told(await asyncio.to_thread(run, *words)) == {"D304": ["failure"]}


class TestApiServer:
    def test_healthy(self) -> None:
        with DoctorApi(objects().values()) as server:
            done = run("doctor", "--kubeconfig", kubeconfig(server.url), "-o", "json", "--only", "D1,D2,D301,D303,D5")
            requests = server.requests
        assert (done.returncode, done.stderr) == (0, "")
        assert {code for code, found in told(done).items() if found != ["ok"] * len(found)} == {"D105"}
        assert any(each.startswith("/api/v1/pods?limit=") for each in requests)
        assert any("fieldSelector=reason%3DDNSConfigForming" in each for each in requests)

    def test_asks_only_for_what_the_checks_need(self) -> None:
        with DoctorApi(objects().values()) as server:
            run("doctor", "--kubeconfig", kubeconfig(server.url), "--only", "D101")
            assert {each.partition("?")[0] for each in server.requests} == {"/version", "/api/v1/services"}

    def test_many_pages(self) -> None:
        pods = [objects()["Pod/web"] | {"metadata": {"name": f"web-{n}", "namespace": "shop"}} for n in range(1200)]
        with DoctorApi([*objects().values(), *pods]) as server:
            done = run("doctor", "--kubeconfig", kubeconfig(server.url), "--only", "D503")
            assert sum(each.startswith("/api/v1/pods?") for each in server.requests) == 3
        assert "resolv.conf of 1203 pods" in done.stdout

    def test_the_log_of_the_last_run(self) -> None:
        def restart(objects: dict[str, Json]) -> None:
            objects["Pod/coredns-a"]["status"]["containerStatuses"][0]["restartCount"] = 3

        with DoctorApi(changed(restart)) as server:
            server.answers["/api/v1/namespaces/kube-system/pods/coredns-a/log"] = LOOP.encode()
            done = run("doctor", "--kubeconfig", kubeconfig(server.url), "--only", "D202")
        assert done.returncode == 1
        assert "log of Pod kube-system/coredns-a [coredns]: Loop (" in done.stdout

    def test_what_may_not_be_read_is_unknown_and_the_rest_goes_on(self) -> None:
        with DoctorApi(objects().values()) as server:
            server.refused.add("/apis/networking.k8s.io/v1/networkpolicies")
            done = run("doctor", "--kubeconfig", kubeconfig(server.url), "-o", "json", "--only", "D1,D501,D502,D503")
        verdicts = told(done)
        assert (verdicts["D501"], verdicts["D502"], verdicts["D100"]) == (["unknown"], ["unknown"], ["unknown"])
        assert (verdicts["D101"], verdicts["D503"]) == (["ok"], ["ok"])
        assert "is forbidden: no rights" in done.stdout

    @pytest.mark.parametrize("fault", [{"refuse": 500}, {"refuse": 401}])
    def test_refused_altogether(self, fault: dict[str, int]) -> None:
        with DoctorApi(objects().values()) as server:
            server.fault(**fault)
            done = run("doctor", "--kubeconfig", kubeconfig(server.url), "-o", "json")
        assert done.returncode == 1
        assert told(done)["D100"] == ["failure"]
        assert done.stderr == ""

    def test_nobody_there(self) -> None:
        done = run("doctor", "--kubeconfig", kubeconfig(f"http://127.0.0.1:{free_port()}"), "--only", "D100,D101")
        assert done.returncode == 1
        assert "connection refused" in done.stdout

    def test_no_answer_in_time(self) -> None:
        with DoctorApi(objects().values()) as server:
            server.fault(delay=1.0)
            done = run("doctor", "--kubeconfig", kubeconfig(server.url), "--only", "D101", "--timeout", "0.2")
        assert "unknown  D101  Service objects: no answer within 0.2 s" in done.stdout

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"{", b"[]", b"null", b"7", b'{"items": 7}', b'{"items": [7, null, {}]}',
            b'{"metadata": [], "items": []}',
            b'{"items": [{"metadata": {"name": 7}}]}', b"\xff\xfe", b"[" * 5000,
            b'{"metadata": {"continue": {}}, "items": [{"metadata": {"name": "kube-dns"}, "spec": 7}]}',
        ],
    )  # fmt: skip
    def test_answers_of_any_kind(self, body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
        with DoctorApi(objects().values()) as server:
            for path in list(server.answers):
                server.answers[path] = body
            server.answers |= {"/api/v1/services": body, "/api/v1/pods": body, "/api/v1/nodes": body}
            assert main(["--kubeconfig", kubeconfig(server.url)]) in (0, 1)
        assert capsys.readouterr().err == ""


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("--from", "gone"), "--from: no folder 'gone'"),
            (("--node", "gone"), "--node: no folder 'gone'"),
            (("--from", ".", "--only", "D999"), "--only: no check 'D999'; there are D100"),
            (("--from", ".", "--service", "kube-dns"), "--service: expected NAMESPACE/NAME"),
            (("--from", ".", "--pod", "web"), "--pod: --namespace is needed"),
            (("--from", ".", "--context", "x"), "--from: not together"),
            (("--from", ".", "--timeout", "never"), "--timeout: expected seconds"),
            (("--from", ".", "--timeout", "nan"), "--timeout: expected seconds"),
            ((), "nothing to look at: there is no kubeconfig"),
        ],
    )
    def test_wrong(self, words: tuple[str, ...], text: str) -> None:
        done = run("doctor", *words)
        assert done.returncode == 2
        assert text in done.stderr

    @pytest.mark.parametrize("content", ["", "}", "current-context: x\n", "a: [\n"])
    def test_a_kubeconfig_that_cannot_be_used(self, content: str) -> None:
        Path("config").write_text(content)
        done = run("doctor", "--kubeconfig", "config")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("waypost: kubeconfig config")
        assert done.stderr.count("\n") == 1

    def test_help_has_every_exit_code(self) -> None:
        assert "exit code: 0 no failure" in run("doctor", "--help").stdout


def made(kind: str, name: str, **fields: Json) -> bytes:
    """An object of the DNS namespace in a file."""
    meta = {"name": name, "namespace": "kube-system"}
    return json.dumps({"kind": kind, "apiVersion": "v1", "metadata": meta, **fields}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00\x01", b"\xff", b"{}", b"- - -\n", b"kind: Service\n", b"kind: List\nitems: {}\n", b"a: &a [*a]\n",
        b"kind: Pod\napiVersion: v1\n", b"kind: Pod\napiVersion: v1\nmetadata: 7\n",
        made("ConfigMap", "coredns", data={"Corefile": ".:53 {"}),
        made("Service", "kube-dns", spec={"ports": [{"port": "x"}]}),
    ],
)  # fmt: skip
def test_files_of_any_kind(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("dump", "node/etc", "node/proc/net/stat", "node/var/lib/kubelet"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("dump/a.yaml", "dump/b.json", "dump/c.log", "node/etc/resolv.conf"):
        Path(name).write_bytes(content)
    for name in ("node/proc/net/stat/nf_conntrack", "node/var/lib/kubelet/config.yaml"):
        Path(name).write_bytes(content)
    assert main(["--from", "dump", "--node", "node"]) in (0, 1)
    assert capsys.readouterr().err == ""


def test_control_characters_do_not_reach_the_terminal() -> None:
    def escape(objects: dict[str, Json]) -> None:
        objects["Service/kube-dns"]["spec"]["selector"] = {"a\x1b[2J": "b\nfailure"}

    dump(Path("dump"), changed(escape))
    done = run("doctor", "--from", "dump", "--only", "D103")
    assert "\\x1b[2J=b\\x0afailure" in done.stdout
    assert "\x1b" not in done.stdout


def test_progress_and_colours_on_a_terminal() -> None:
    dump(Path("dump"))
    ours, theirs = pty.openpty()
    words = [*COMMAND, "doctor", "--from", "dump", "--only", "D107"]
    env = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        words, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=env, timeout=30, check=False
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    assert done.returncode == 0
    assert b"reading dump" in shown
    assert b"\x1b[32mok" in shown


class TestPage:
    PAGE = (ROOT / "docs/doctor.md").read_text(encoding="utf-8") if (ROOT / "docs/doctor.md").exists() else ""

    def test_table_of_checks(self) -> None:
        rows = [line.split("|") for line in self.PAGE.splitlines() if line.startswith("| D")]
        assert [(row[1].strip(), row[2].strip()) for row in rows] == [(check.code, check.title) for check in CHECKS]

    def test_recorded_example(self) -> None:
        dump(Path("dump"), [*objects().values(), policy("deny-all", policyTypes=["Egress"])])
        node(Path("node"), "nameserver 127.0.0.53\n")
        done = run("doctor", "--from", "dump", "--node", "node", "--only", "D101,D402,D501")
        recorded = "".join(f"    {line}\n" if line else "\n" for line in done.stdout.splitlines())
        assert f"    $ waypost doctor --from dump --node node --only D101,D402,D501\n{recorded}" in self.PAGE
