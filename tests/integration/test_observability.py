"""A real Prometheus scrapes a Waypost under load and in trouble: every panel has data, every rule can be evaluated."""

from __future__ import annotations

import http.server
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import dns.message
import pytest
import yaml

from support.apiobjects import api_namespace, api_service, api_slice
from support.apiserver import ApiServer
from support.process import ServerProcess, free_port, get
from support.prometheus import Prometheus
from support.scaleapi import ScaleApi, api_node
from support.tree import ROOT
from waypost.observability.alert import Alert
from waypost.observability.dashboard import ROWS, dashboard
from waypost.observability.panel import Query
from waypost.observability.rules import alerts, rule_groups

pytestmark = pytest.mark.timeout(120)

TLS = ROOT / "tests/data/kube-tls"
COREFILE = """\
.:{port} {{
    errors
    health 127.0.0.1:{health}
    reload 2s
    prometheus 127.0.0.1:{metrics}
    shed
    kubernetes cluster.local {{
        endpoint {api}
        snapshot {folder}/snapshot
    }}
    loop {{
        degrade
    }}
    cache 30 {{
        success 1024
        denial 1024
        prefetch 1 1m 90%
    }}
    forward dead.test 127.0.0.1:{closed}
    forward silent.test 127.0.0.1:{silent} {{
        max_concurrent 1
    }}
    forward . 127.0.0.1:{upstream}
}}
tls://.:{tls} {{
    tls {certs}/server.pem {certs}/server.key
    whoami
}}
.:{upstream} {{
    template IN ANY bad.test {{
        rcode SERVFAIL
    }}
    template IN ANY . {{
        answer "{{{{ .Name }}}} 30 IN A 192.0.2.1"
    }}
}}
.:{silent} {{
    erratic {{
        drop 1
    }}
}}
"""
SCALE = "/apis/apps/v1/namespaces/kube-system/deployments/coredns/scale"
CONFIG = "/api/v1/namespaces/kube-system/configmaps/dns-autoscaler"
KUBE_STATE = """\
kube_deployment_spec_replicas{namespace="kube-system", deployment="coredns"} 2
kube_deployment_status_replicas_ready{namespace="kube-system", deployment="coredns"} 1
"""
METRIC = re.compile(r"\b(?:coredns|waypost|process)_[a-z0-9_]+")
PATIENCE = 40.0


class World(NamedTuple):
    """What runs: ports of the metrics, and a function that makes one more turn of queries and trouble."""

    metrics: int
    autoscaler: int
    node_cache: int
    kube_state: int
    turn: Callable[[], None]


class KubeState(http.server.BaseHTTPRequestHandler):
    """kube-state-metrics, as far as it is asked."""

    def do_GET(self) -> None:
        """The same for every path."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(KUBE_STATE.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


def endpoints() -> dict:
    """A slice that says that it changed just now."""
    made = api_slice("shop/web-1", "10.244.1.7")
    moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    made["metadata"]["annotations"] = {"endpoints.kubernetes.io/last-change-trigger-time": moment}
    return made


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("observed")
    with ExitStack() as stack:
        cluster = [api_namespace("shop"), api_service("shop/web", "10.96.0.7"), endpoints()]
        api = stack.enter_context(ApiServer(cluster, bookmark_every=0.2))
        names = ("port", "health", "metrics", "closed", "silent", "upstream", "tls")
        ports = {name: free_port() for name in names}
        corefile = COREFILE.format(api=api.url, folder=folder, certs=TLS, **ports)
        (folder / "Corefile").write_text(corefile)
        server = stack.enter_context(ServerProcess(["-conf", "Corefile"], cwd=folder)).serving(ports["port"])
        scaler = run_autoscaler(stack, folder)
        cache = run_node_cache(stack, folder)
        state = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), KubeState))
        threading.Thread(target=state.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(state.shutdown)
        client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        client.setblocking(False)
        turn = Turn(api, client, ports["port"], ports["tls"])
        (folder / "Corefile").write_text(corefile.replace("cache 30", "cache 29"))
        server.says("Reloading complete")
        yield World(ports["metrics"], scaler, cache, state.server_address[1], turn)


def run_autoscaler(stack: ExitStack, folder: Path) -> int:
    """One that scales a target up and leads; gives the port of its metrics."""
    api = stack.enter_context(ScaleApi(*(api_node(f"node-{number}") for number in range(9))))
    api.add_target(SCALE, 1)
    api.set(CONFIG, {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"linear": '{"nodesPerReplica": 4}'}})
    kubeconfig = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}],
        "clusters": [{"name": "test", "cluster": {"server": api.url}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
    port = free_port()
    words = ["autoscale", "--namespace=kube-system", "--configmap=dns-autoscaler", "--target=deployment/coredns"]
    words += ["--kubeconfig=kubeconfig", "--poll-period-seconds=1", f"--listen-address=127.0.0.1:{port}"]
    process = stack.enter_context(ServerProcess(words, cwd=folder))
    process.until(lambda: api.replicas(SCALE) == 3, "replicas")
    return port


def run_node_cache(stack: ExitStack, folder: Path) -> int:
    """One without interface and rules; gives the port of its metrics."""
    port, metrics = free_port(), free_port()
    (folder / "Corefile.base").write_text(f".:{port} {{\n    bind __PILLAR__LOCAL__DNS__\n    whoami\n}}\n")
    words = ["node-cache", "-localip", "127.0.0.1", "-dns.port", str(port), "-conf", "Corefile.node"]
    words += ["-basecorefile", "Corefile.base", "-setupinterface=false", "-setupiptables=false"]
    words += ["-metrics-listen-address", f"127.0.0.1:{metrics}"]
    stack.enter_context(ServerProcess(words, cwd=folder)).says("The server answers")
    return metrics


class Turn:
    """Queries of every kind, changes of the cluster, and strangers at the TLS port. Replies are not awaited."""

    def __init__(self, api: ApiServer, client: socket.socket, port: int, tls: int) -> None:
        self._api = api
        self._client = client
        self._address = ("127.0.0.1", port)
        self._tls = tls
        self._number = 0

    def __call__(self) -> None:
        self._number += 1
        for name in ("web.shop.svc.cluster.local", "no.shop.svc.cluster.local", "popular.test", "bad.test"):
            self._ask(name)
        for place in range(200):
            self._ask(f"name-{self._number * 200 + place}.test")
        for place in range(4):
            self._ask(f"name-{self._number}-{place}.silent.test")
        self._ask(f"name-{self._number}.dead.test")
        self._api.put("endpointslices", endpoints())
        self._api.fault(forbidden="namespaces" if self._number % 2 else "")
        self._api.cut()
        with socket.create_connection(("127.0.0.1", self._tls), timeout=2) as stranger:
            stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")

    def _ask(self, name: str) -> None:
        self._client.sendto(dns.message.make_query(name, "A").to_wire(), self._address)


@pytest.fixture(scope="module")
def prometheus(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    rules = folder / "rules.yaml"
    rules.write_text(yaml.safe_dump(rule_groups()), encoding="utf-8")
    jobs = {"dns": [world.metrics], "autoscaler": [world.autoscaler], "node-cache": [world.node_cache]}
    jobs["kube-state-metrics"] = [world.kube_state]
    with Prometheus(folder, jobs, rules) as running:
        yield running


def queries() -> list[Query]:
    return [query for row in ROWS for panel in row.panels for query in panel.queries]


def now(expr: str) -> str:
    """An expression for instants of this test, which has no yesterday: Grafana's variables and long times replaced."""
    for variable, value in (("$__rate_interval", "20s"), ("$job", ".+"), ("$instance", ".+")):
        expr = expr.replace(variable, value)
    return re.sub(r"offset \w+", "offset 1s", re.sub(r"\[\w+\]", "[20s]", expr))


def without_data(world: World, prometheus: Prometheus, exprs: list[str]) -> list[str]:
    """Those that have no number as result, however long queries flow."""
    deadline = time.monotonic() + PATIENCE
    missing = exprs
    while missing and time.monotonic() < deadline:
        world.turn()
        time.sleep(0.4)
        missing = [expr for expr in missing if not prometheus.numbers(now(expr))]
    return missing


def test_every_metric_is_there(world: World) -> None:
    """Without Prometheus, by the pages that it would read."""
    used = {name for query in queries() for name in METRIC.findall(query.expr)}
    used |= {name for alert in alerts() for name in METRIC.findall(alert.expr)}
    deadline = time.monotonic() + PATIENCE
    missing = used
    while missing and time.monotonic() < deadline:
        world.turn()
        time.sleep(0.2)
        shown = "".join(get(port, "/metrics") for port in (world.metrics, world.autoscaler, world.node_cache))
        missing = used - set(re.findall(r"^(\w+)[ {]", shown, re.MULTILINE))
    assert missing == set()


def test_every_panel_has_data(world: World, prometheus: Prometheus) -> None:
    assert without_data(world, prometheus, [query.expr for query in queries()]) == []


def test_every_alert_has_what_it_compares(world: World, prometheus: Prometheus) -> None:
    watched: list[Alert] = [alert for alert in alerts() if not alert.value.startswith("absent(")]
    assert len(watched) == len(alerts()) - 1
    assert without_data(world, prometheus, [alert.value for alert in watched]) == []
    for alert in alerts():
        prometheus.numbers(alert.expr)


def test_prometheus_evaluates_every_rule(world: World, prometheus: Prometheus) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        if all(rule["health"] == "ok" for rule in rules) or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    assert sorted(rule["name"] for rule in rules) == sorted(alert.name for alert in alerts())


def test_variables_of_the_dashboard_have_values(world: World, prometheus: Prometheus) -> None:
    assert without_data(world, prometheus, ["coredns_build_info"]) == []
    for variable in dashboard()["templating"]["list"][1:]:
        match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
        assert match is not None
        values = prometheus.get(f"label/{match[2]}/values", **{"match[]": now(match[1])})
        assert values == {"job": ["dns"], "instance": [f"127.0.0.1:{world.metrics}"]}[variable["name"]]
