"""trace in the real process: what a Zipkin and an OpenTelemetry collector get, and that nobody waits for one."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path
from typing import Any

import dns.message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.collector import Collector, collecting
from support.process import ServerProcess, ask, free_port, get, serving
from support.upstream import closed_port

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}
"""


def corefile(port: int, *lines: str) -> str:
    return f".:{port} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def trace(kind: str, address: str, *options: str) -> str:
    inner = "".join(f"        {option}\n" for option in ("zipkin_max_batch_interval 50ms", *options))
    return f"trace {kind} {address} {{\n{inner}    }}"


def zipkin_spans(collector: Collector) -> list[dict[str, Any]]:
    return [span for path, _, body in collector.posts if path == "/api/v2/spans" for span in json.loads(body)]


def test_zipkin(tmp_path: Path) -> None:
    port = free_port()
    with collecting() as collector:
        lines = (
            "bind 127.0.0.1",
            "metadata",
            trace("zipkin", collector.address, "service dnsproxy"),
            'log . "{name} {/trace/traceid}"',
            "whoami",
        )
        with serving(tmp_path, corefile(port, *lines), port) as process:
            ask(port, "a.example.org.", "AAAA")
            process.until(lambda: len(zipkin_spans(collector)) == 3, "three spans")
            assert process.stop() == 0
    spans = {span["name"]: span for span in zipkin_spans(collector)}
    assert spans.keys() == {"servedns", "log", "whoami"}
    root = spans["servedns"]
    assert root["kind"] == "SERVER"
    assert root["localEndpoint"] == {"serviceName": "dnsproxy", "ipv4": "127.0.0.1", "port": port}
    tags = {name: value for name, value in root["tags"].items() if name.startswith("coredns.io/")}
    assert tags == {
        "coredns.io/name": "a.example.org.", "coredns.io/type": "AAAA", "coredns.io/proto": "udp",
        "coredns.io/remote": "127.0.0.1", "coredns.io/rcode": "NOERROR",
    }  # fmt: skip
    assert (spans["log"]["parentId"], spans["whoami"]["parentId"]) == (root["id"], spans["log"]["id"])
    line = next(line for line in process.lines if "a.example.org." in line)
    assert re.search(r"a\.example\.org\. ([0-9a-f]{32})$", line), line
    assert line.endswith(root["traceId"])


def test_opentelemetry(tmp_path: Path) -> None:
    port = free_port()
    with collecting() as collector:
        collector.status = 200
        with serving(tmp_path, corefile(port, trace("otlp", collector.address), "whoami"), port) as process:
            ask(port)
            process.until(lambda: bool(collector.posts), "a batch")
            assert process.stop() == 0
    path, kind, body = collector.posts[0]
    assert (path, kind) == ("/v1/traces", "application/x-protobuf")
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert attributes["service.name"] == "coredns"
    assert {span.name for scope in resource.scope_spans for span in scope.spans} == {"servedns", "whoami"}


def test_what_waits_is_sent_at_the_end(tmp_path: Path) -> None:
    port = free_port()
    with collecting() as collector:
        text = corefile(port, f"trace {collector.address} {{\n zipkin_max_batch_interval 1h\n }}", "whoami")
        with serving(tmp_path, text, port) as process:
            ask(port)
            assert zipkin_spans(collector) == []
            assert process.stop() == 0
        assert len(zipkin_spans(collector)) == 2


def test_repeated_queries_are_all_traced(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "web.yaml").write_text(SERVICE)
    with collecting() as collector:
        cluster = f"kubernetes cluster.local {{\n manifests {tmp_path}/web.yaml\n }}"
        with serving(tmp_path, corefile(port, trace("zipkin", collector.address), cluster), port) as process:
            wire = dns.message.make_query("web.shop.svc.cluster.local.", "A", id=7).to_wire()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.settimeout(2)
                sock.connect(("127.0.0.1", port))
                for _ in range(10):
                    sock.send(wire)
                    assert dns.message.from_wire(sock.recv(512)).answer[0][0].to_text() == "10.96.0.7"
            process.until(lambda: len(zipkin_spans(collector)) >= 20, "twenty spans")
            assert process.stop() == 0
        assert sorted(span["name"] for span in zipkin_spans(collector)) == ["kubernetes"] * 10 + ["servedns"] * 10


def test_a_reload_keeps_the_exporter(tmp_path: Path) -> None:
    port = free_port()
    with (
        collecting() as collector,
        serving(tmp_path, corefile(port, trace("zipkin", collector.address), "whoami"), port) as process,
    ):
        ask(port)
        process.kill(signal.SIGUSR1)
        process.says("Reloading complete")
        ask(port)
        process.until(lambda: len(zipkin_spans(collector)) == 4, "four spans")
        assert process.stop() == 0


def test_without_a_collector_the_server_serves_and_says_so(tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    with closed_port() as nobody:
        lines = (f"prometheus 127.0.0.1:{metrics}", trace("zipkin", f"127.0.0.1:{nobody}"), "whoami")
        with serving(tmp_path, corefile(port, *lines), port) as process:
            for _ in range(20):
                assert ask(port).rcode() == 0
            process.says(f"[WARNING] plugin/trace: spans cannot be sent to http://127.0.0.1:{nobody}/api/v2/spans: ")
            process.until(lambda: failed(metrics) > 0, "a count of failures")
            assert process.stop() == 0
        assert process.errors == []


def failed(metrics: int) -> float:
    """Spans that could not be sent."""
    found = re.search(r'waypost_trace_spans_total\{result="failed"\} (\S+)', get(metrics, "/metrics"))
    return float(found[1]) if found else 0.0


def test_a_collector_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        (tmp_path / "Corefile").write_text(corefile(port, trace("zipkin", address), "whoami"))
        with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
            process.serving(port)
            for _ in range(200):
                ask(port)
            assert process.stop() == 0


def test_a_collector_that_refuses(tmp_path: Path) -> None:
    port = free_port()
    with collecting() as collector:
        collector.status = 500
        with serving(tmp_path, corefile(port, trace("zipkin", collector.address), "whoami"), port) as process:
            ask(port)
            process.says("[WARNING] plugin/trace: Traces cannot be uploaded; status code: 500")
            assert process.stop() == 0
        assert process.errors == []
