"""The `trace` directive."""

from __future__ import annotations

import sys

import pytest

from support.chain import FakeProcess, make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.trace.config import Buffer, Config, parse
from waypost.plugins.trace.setup import setup


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("trace", Config("zipkin", "http://localhost:9411/api/v2/spans")),
        ("trace nosuch", Config("zipkin", "http://nosuch/api/v2/spans")),
        ("trace otlp", Config("zipkin", "http://otlp/api/v2/spans")),
        ("trace ZipKin 192.0.2.1:9411", Config("zipkin", "http://192.0.2.1:9411/api/v2/spans")),
        ("trace https://c.example/x", Config("zipkin", "https://c.example/x")),
        ("trace otlp c:4318", Config("otlp", "http://c:4318/v1/traces")),
        ("trace otlp http://c:4318/v1/traces", Config("otlp", "http://c:4318/v1/traces")),
        ("trace {\n every 100\n service dnsproxy\n}", Config(every=100, service="dnsproxy")),
        ("trace {\n every 0\n client_server false\n}", Config(every=0)),
        ("trace {\n client_server\n datadog_analytics_rate 0.5\n}",
         Config(without_effect=("client_server", "datadog_analytics_rate"))),
        ("trace {\n zipkin_max_backlog_size 50\n zipkin_max_batch_size 5\n zipkin_max_batch_interval 250ms\n}",
         Config(buffer=Buffer(50, 5, 0.25))),
        ("trace {\n zipkin_max_backlog_size 0\n zipkin_max_batch_size 0\n zipkin_max_batch_interval 0\n}",
         Config(buffer=Buffer(1000, 100, 1.0))),
        ("trace a {\n every 5\n}\ntrace b", Config(endpoint="http://b/api/v2/spans", every=5)),
    ],
)  # fmt: skip
def test_options(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("trace foo bar", "tracing endpoint type 'foo' is not supported"),
        ("trace a b c", "Wrong argument count or unexpected line ending after 'c'"),
        ("trace {\n foo\n}", "unknown property 'foo'"),
        ("trace {\n every\n}", "Wrong argument count or unexpected line ending after 'every'"),
        ("trace {\n every 1 2\n}", "Wrong argument count or unexpected line ending after '2'"),
        ("trace {\n every x\n}", 'strconv.ParseUint: parsing "x": invalid syntax'),
        ("trace {\n every -1\n}", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        ("trace {\n client_server maybe\n}", 'strconv.ParseBool: parsing "maybe": invalid syntax'),
        ("trace {\n datadog_analytics_rate x\n}", 'strconv.ParseFloat: parsing "x": invalid syntax'),
        ("trace {\n datadog_analytics_rate 2\n}",
         "datadog analytics rate must be between 0 and 1, '2.000000' is not supported"),
        ("trace {\n zipkin_max_batch_size x\n}", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("trace {\n zipkin_max_batch_size -1\n}",
         "zipkin_max_batch_size: expected a number that is not negative, got -1"),
        ("trace {\n zipkin_max_batch_interval 1\n}", 'time: missing unit in duration "1"'),
        ("trace {\n zipkin_max_batch_interval -1s\n}",
         "zipkin_max_batch_interval: expected a duration that is not negative, got -1s"),
        ("trace datadog localhost:8126",
         "tracing to datadog is not included; Datadog's agent takes OpenTelemetry, too: trace otlp HOST:4318"),
    ],
)  # fmt: skip
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


@pytest.mark.parametrize(
    ("text", "missing", "package"),
    [
        ("trace", "opentelemetry.sdk.trace", "opentelemetry-sdk"),
        ("trace", "opentelemetry.exporter.zipkin.json", "opentelemetry-exporter-zipkin-json"),
        ("trace otlp x", "opentelemetry.exporter.otlp.proto.http.trace_exporter",
         "opentelemetry-exporter-otlp-proto-http"),
    ],
)  # fmt: skip
def test_a_missing_package_is_named(text: str, missing: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(CorefileError) as caught:
        setup(make_directive(text), make_site())
    assert caught.value.text == f"it needs the package {package}, which is not installed: pip install 'waypost[trace]'"


def test_options_without_effect_are_pointed_out() -> None:
    process = FakeProcess()
    setup(make_directive("trace {\n client_server\n datadog_analytics_rate 1\n}"), make_site(process=process))
    assert process.lines == [f"[WARNING] {name} has no effect" for name in ("client_server", "datadog_analytics_rate")]
