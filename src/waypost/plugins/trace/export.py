"""Spans on their way to a collector, by OpenTelemetry's libraries: in a thread of theirs, bounded, never waited for."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Tracer

from waypost import __version__
from waypost.log import Log
from waypost.metrics.registry import Counter, Registry
from waypost.plugins.trace.config import OTLP, Config

_TIMEOUT: Final = 5
_LAST_SECONDS: Final = 3.0


class Node(NamedTuple):
    """The address that the traced block listens on."""

    host: str
    port: int


class Export:
    """Where the spans of some blocks go to. It belongs to the event loop's thread."""

    __slots__ = ("_config", "_failed", "_log", "_node", "_provider", "_sent")

    def __init__(self, config: Config, node: Node | None, log: Log, metrics: Registry) -> None:
        self._config = config
        self._node = node
        self._log = log
        self._provider: TracerProvider | None = None
        spans = metrics.counter(
            "waypost_trace_spans_total", "Counter of spans that left for a collector, by what came of it.", ("result",)
        )
        self._sent, self._failed = (spans.labels(result) for result in ("sent", "failed"))

    def start(self) -> Tracer:
        """Begin, unless it has begun."""
        if self._provider is None:
            buffer = self._config.buffer
            warn = _Warnings(asyncio.get_running_loop(), self._log).warn
            _hear_libraries(warn)
            exporter = Counted(
                make_exporter(self._config, self._node), self._config.endpoint, self._sent, self._failed, warn
            )
            processor = BatchSpanProcessor(
                exporter,
                max_queue_size=buffer.backlog,
                schedule_delay_millis=buffer.interval * 1000,
                max_export_batch_size=min(buffer.batch, buffer.backlog),
            )
            resource = Resource.create({SERVICE_NAME: self._config.service})
            self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
            self._provider.add_span_processor(processor)
        return self._provider.get_tracer("waypost", __version__)

    async def close(self) -> None:
        """Send what waits, if the collector takes it soon."""
        if self._provider is None:
            return
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        provider, self._provider = self._provider, None

        def shut_down() -> None:
            provider.shutdown()
            with suppress(RuntimeError):  # the loop did not wait
                loop.call_soon_threadsafe(done.set)

        # A thread that may be left behind: a collector that hangs must not hold up the end of the process.
        threading.Thread(target=shut_down, daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _LAST_SECONDS)


def make_exporter(config: Config, node: Node | None) -> SpanExporter:
    """The library's exporter for the kind of collector."""
    if config.kind == OTLP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=config.endpoint, timeout=_TIMEOUT)
    from opentelemetry.exporter.zipkin.json import ZipkinExporter

    v4 = v6 = port = None
    if node is not None:
        v4, v6 = (None, node.host) if ":" in node.host else (node.host, None)
        port = node.port
    return ZipkinExporter(
        endpoint=config.endpoint, local_node_ipv4=v4, local_node_ipv6=v6, local_node_port=port, timeout=_TIMEOUT
    )


class Counted(SpanExporter):
    """Another exporter, with what came of each batch counted, and failures told. It works in the library's thread."""

    def __init__(
        self, exporter: SpanExporter, endpoint: str, sent: Counter, failed: Counter, warn: Callable[[str], None]
    ) -> None:
        self._exporter = exporter
        self._endpoint = endpoint
        self._sent = sent
        self._failed = failed
        self._warn = warn

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        try:
            result = self._exporter.export(spans)
        except Exception as exc:
            self._warn(f"spans cannot be sent to {self._endpoint}: {exc}")
            result = SpanExportResult.FAILURE
        (self._sent if result is SpanExportResult.SUCCESS else self._failed).inc(len(spans))
        return result

    def shutdown(self) -> None:
        """Let go of connections."""
        self._exporter.shutdown()


class _Warnings:
    """Takes warnings from any thread to the log."""

    __slots__ = ("_log", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, log: Log) -> None:
        self._loop = loop
        self._log = log

    def warn(self, text: str) -> None:
        """Write it, unless the same was written just before."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._log.once_a_burst, self._log.warning, text)


class _Records(logging.Handler):
    """What the libraries have to say, as warnings of ours."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._warn = warn

    def emit(self, record: logging.LogRecord) -> None:
        """One record, without a traceback."""
        self._warn(record.getMessage())


def _hear_libraries(warn: Callable[[str], None]) -> None:
    """They write to `logging`, which would end on standard error."""
    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers = [_Records(warn)]
