"""`waypost explain` as a process: from files, an API server and a running server, and no traceback for any input."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.apiserver import ApiServer
from support.process import free_port, get, run, serving
from waypost.cli import explain

CLUSTER = """\
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: prod}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.244.0.6]}]
ports: [{name: http, port: 8080, protocol: TCP}]
---
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: shop}
spec: {containers: [{name: c, image: i}]}
status: {podIP: 10.244.0.5}
"""
COREFILE = """\
.:53 {
    errors
    log
    prometheus :9153
    acl {
        block net 10.9.0.0/16
    }
    rewrite name old.shop.svc.cluster.local web.shop.svc.cluster.local
    kubernetes cluster.local in-addr.arpa {
        pods insecure
        fallthrough in-addr.arpa
    }
    cache 30
    forward . 127.0.0.1:UPSTREAM
}
"""
FROM_FILES = ("--conf", "Corefile", "--manifests", "cluster.yaml", "--node-resolv-conf", "none")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "Corefile").write_text(COREFILE.replace("UPSTREAM", str(free_port())))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*words: str) -> Any:
    """What the command prints as JSON."""
    done = run("explain", *words, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


class TestFromFiles:
    def test_the_whole_story_as_text(self) -> None:
        done = run("explain", "web.prod", "A", "--offline", *FROM_FILES)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert lines[:3] == [
            "pod      namespace default, address 127.0.0.1",
            "search   default.svc.cluster.local svc.cluster.local cluster.local, ndots:5",
            "answers  Corefile in this process",
        ]
        heads = [line.rpartition("  ")[0] for line in lines if line[:1].isdigit()]
        assert heads == [
            "1  web.prod.default.svc.cluster.local. A  NXDOMAIN",
            "2  web.prod.svc.cluster.local. A  NXDOMAIN",
            "3  web.prod.cluster.local. A  NXDOMAIN",
            "4  web.prod. A  not asked",
        ]
        assert "   kubernetes  namespace default does not exist; a Service prod exists" not in done.stdout
        assert lines[-1] == (
            "NXDOMAIN from kubernetes: namespace prod has no Service web; a Service web exists in namespace shop; "
            "whether web.prod. exists was not asked"
        )
        assert "\x1b" not in done.stdout

    def test_a_service_is_found_on_the_search_list(self) -> None:
        value = told("web", "A", "--from", "shop/client", *FROM_FILES)
        assert (value["namespace"], value["client"]) == ("shop", "10.244.0.5")
        assert (value["result"], value["addresses"]) == ("addresses", ["10.96.0.7"])
        (query,) = value["queries"]
        assert (query["name"], query["type"], query["rcode"]) == ("web.shop.svc.cluster.local.", "A", "NOERROR")
        assert query["answer"] == ["web.shop.svc.cluster.local. 5 IN A 10.96.0.7"]
        notes = {note["plugin"]: note for note in query["notes"] if note["step"] == "answered"}
        assert notes["kubernetes"]["objects"] == ["Service shop/web"]
        assert notes["kubernetes"]["version"].startswith("serial ")
        assert value["sentence"] == ("10.96.0.7 from kubernetes: Service shop/web has the cluster address 10.96.0.7")

    def test_rewriting_and_the_cache(self) -> None:
        value = told("old.shop.svc.cluster.local.", "A", *FROM_FILES)
        (query,) = value["queries"]
        assert [(note["plugin"], note["text"]) for note in query["notes"]] == [
            ("server", "the block .:53 takes the query"),
            ("rewrite", "old.shop.svc.cluster.local. A -> web.shop.svc.cluster.local. A"),
            ("rewrite", "the reply will be changed too"),
            ("acl", "client 127.0.0.1 is allowed: no rule fits"),
            ("cache", "miss: nothing is kept for this question"),
            ("kubernetes", "Service shop/web has the cluster address 10.96.0.7"),
            ("cache", "kept for 5 s"),
        ]
        assert value["sentence"].endswith(
            ", after rewrite old.shop.svc.cluster.local. A -> web.shop.svc.cluster.local. A"
        )

    def test_the_client_decides(self) -> None:
        value = told("web.shop.svc.cluster.local.", "A", "--client", "10.9.1.1", *FROM_FILES)
        assert value["result"] == "refused"
        assert value["sentence"] == "REFUSED from acl: client 10.9.1.1 is stopped by block in Corefile:6"
        assert told("web.shop.svc.cluster.local.", "A", "--from", "10.9.1.1", *FROM_FILES)["result"] == "refused"

    def test_upstreams_are_asked_for_real(self, folder: Path) -> None:
        value = told("example.com.", "A", *FROM_FILES)
        assert value["result"] == "servfail"
        texts = [note["text"] for note in value["queries"][0]["notes"] if note["plugin"] == "forward"]
        assert "failed" in texts[0]
        assert texts[-1].startswith("no upstream answered: ")
        assert ", because kubernetes serves cluster.local. in-addr.arpa. only, and not this name" in value["sentence"]

    def test_an_upstream_answers(self, tmp_path: Path) -> None:
        port = free_port()
        up = tmp_path / "up"
        up.mkdir()
        text = f'.:{port} {{\nbind 127.0.0.1\ntemplate IN A . {{\nanswer "{{{{ .Name }}}} 60 IN A 192.0.2.1"\n}}\n}}\n'
        Path("Corefile").write_text(f". {{\ncache 10\nforward . 127.0.0.1:{port}\n}}\n")
        with serving(up, text, port):
            value = told("example.com.", "A", "--node-resolv-conf", "none")
        assert value["sentence"] == f"192.0.2.1 from forward: upstream 127.0.0.1:{port} over udp answered NOERROR"

    def test_other_types_and_addresses(self) -> None:
        value = told("_http._tcp.web.shop", "SRV", *FROM_FILES)
        assert value["queries"][-1]["answer"][0].endswith("SRV 0 100 80 web.shop.svc.cluster.local.")
        value = told("10.96.0.7", "PTR", *FROM_FILES)
        assert value["queries"][0]["name"] == "7.0.96.10.in-addr.arpa."
        assert value["sentence"] == (
            "web.shop.svc.cluster.local. from kubernetes: 10.96.0.7 is the cluster address of Service shop/web"
        )

    def test_no_search(self) -> None:
        names = [query["name"] for query in told("web.shop", "A", "--no-search", "--offline", *FROM_FILES)["queries"]]
        assert names == ["web.shop."]

    def test_nobody_is_asked(self) -> None:
        value = told("localhost", *FROM_FILES)
        assert (value["queries"], value["result"]) == ([], "addresses")

    def test_the_example(self) -> None:
        value = told("web.shop.svc.cluster.local.", "A", "--example", "--node-resolv-conf", "none")
        assert "Service shop/web has the cluster address" in value["sentence"]


class TestFromAnApiServer:
    def test_versions_are_those_of_the_api(self, tmp_path: Path) -> None:
        space = {"kind": "Namespace", "metadata": {"name": "shop"}}
        web = {"kind": "Service", "metadata": {"namespace": "shop", "name": "web"},
               "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": [{"port": 80}]}}  # fmt: skip
        with ApiServer([space, web]) as api:
            config = {
                "clusters": [{"name": "c", "cluster": {"server": api.url}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
            (tmp_path / "kubeconfig").write_text(json.dumps(config))
            words = ("--conf", "Corefile", "--kubeconfig", "kubeconfig", "--node-resolv-conf", "none")
            value = told("web.shop.svc.cluster.local.", "A", *words)
        assert value["addresses"] == ["10.96.0.9"]
        (note,) = [note for note in value["queries"][0]["notes"] if note["plugin"] == "kubernetes"]
        assert "Services at resourceVersion " in note["version"]


class TestARunningServer:
    @pytest.fixture
    def admin(self, tmp_path: Path) -> Iterator[str]:
        self.port, endpoint, self.metrics = free_port(), f"127.0.0.1:{free_port()}", free_port()
        text = COREFILE.replace(".:53", f".:{self.port}").replace(":9153", f"127.0.0.1:{self.metrics}")
        text = text.replace("UPSTREAM", str(free_port())).replace(
            "    errors", f"    waypost {{\n    admin {endpoint}\n}}"
        )
        text = text.replace("pods insecure", "manifests cluster.yaml")
        with serving(tmp_path, text, self.port) as process:
            self.process = process
            yield endpoint

    def test_it_is_asked_what_it_thinks(self, admin: str) -> None:
        words = ("--admin", admin, "--node-resolv-conf", "none")
        value = told("web.shop", "A", *words)
        assert value["addresses"] == ["10.96.0.7"]
        assert value["queries"][0]["rcode"] == "NXDOMAIN"
        value = told("web.shop.svc.cluster.local.", "A", *words)
        assert value["sentence"].startswith("10.96.0.7 from cache: hit: kept ")
        assert told("web.shop.svc.cluster.local.", "A", *words, "--client", "10.9.9.9")["result"] == "refused"
        assert told("example.com.", "A", *words, "--offline")["result"] == "unknown"
        assert "coredns_dns_requests_total{" not in get(self.metrics, "/metrics")
        assert not [line for line in self.process.lines if '"A IN' in line]

    def test_what_cannot_be_asked_for(self, admin: str) -> None:
        done = run("explain", "a." * 130, "A", "--no-search", "--admin", admin)
        assert (done.returncode, done.stderr.count("\n")) == (0, 0)
        assert done.stdout.endswith("nxdomain: the resolver asks nobody, for this is no name that can be asked for\n")

    def test_it_is_gone(self) -> None:
        done = run("explain", "web", "--admin", f"127.0.0.1:{free_port()}", "--node-resolv-conf", "none")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("web", "NONSENSE"), 2),
        (("web", "--client", "nobody"), 2),
        (("web", "--admin", "127.0.0.1:1", "--conf", "Corefile"), 2),
        (("web", "--manifests", "a", "--kubeconfig", "b"), 2),
        (("web", "--context", "a"), 2),
        (("web", "MX", "--resolver", "musl"), 2),
        (("web", "--pod", "cluster.yaml", "--resolv-conf", "x"), 2),
        (("web", "--conf", "missing"), 1),
        (("web", "--conf", "cluster.yaml"), 1),
        (("web", "--manifests", "missing"), 1),
        (("web", "--pod", "missing.yaml"), 1),
        (("web", "--from", "missing.yaml"), 1),
        (("web", "--from", "shop/gone", "--manifests", "cluster.yaml"), 1),
        (("web", "--kubeconfig", "missing"), 1),
        (("web", "--resolv-conf", "missing"), 1),
        (("web", "--admin", "127.0.0.1:1"), 1),
    ],
)
def test_mistakes_are_told_in_a_line(words: tuple[str, ...], code: int) -> None:
    done = run("explain", *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.startswith("waypost: ")
        assert done.stderr.count("\n") == 1


def test_without_a_corefile(folder: Path) -> None:
    os.unlink("Corefile")
    done = run("explain", "web", "--node-resolv-conf", "none")
    assert done.returncode == 1
    assert done.stderr == "waypost: no file Corefile here: name one with --conf, or take --example\n"


@pytest.mark.parametrize("name", ["", ".", "a..b", "\udcff.web", "x" * 70, "web\n", "*", "\\000", "-x", "ä.example"])
def test_any_name_is_explained(name: str) -> None:
    done = run("explain", "--offline", *FROM_FILES, "--", name, "A")
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr


def test_help_has_examples_that_parse() -> None:
    done = run("explain", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    parser = explain.make_parser()
    examples = [line.split() for line in done.stdout.splitlines() if line.startswith("  waypost explain ")]
    assert len(examples) >= 5
    for words in examples:
        parser.parse_intermixed_args(words[2:])
