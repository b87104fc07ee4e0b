"""Send traces and metrics to an OpenTelemetry collector over OTLP; all on a thread, nothing on the request path."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from edgeinf import __version__
from edgeinf.core.errors import UsageError
from edgeinf.core.events import REFRESH
from edgeinf.serve.observe.conventions import METRICS, OPERATIONS, PROVIDERS, Name
from edgeinf.serve.observe.tracing import Finished, Span

__all__ = ["Exporter"]

_log = logging.getLogger("edgeinf.otel")

_QUEUE = 20_000
_BATCH = 512
_EVERY_S = 1.0
_METRICS_EVERY_MS = 10_000
_TIMEOUT_S = 5

_Attributes = dict[str, str | int | float]


class Exporter:
    """A sink that exports. ``dropped`` counts what could not wait, ``failed`` says why the last batch did not leave."""

    def __init__(self, base: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise UsageError(
                "events.otlp needs the OpenTelemetry library", hint="pip install 'edgeinf[otel]'"
            ) from None
        # It reports every failed request with a traceback; a collector that is away is said once, by us.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        base = base.rstrip("/")
        self.dropped = 0
        self.failed: str | None = None
        self._base = base
        self._queue: deque[Span | Finished] = deque()
        self._wake = threading.Event()
        self._closed = False
        self._resource = Resource.create({"service.name": "edgeinf", "service.version": __version__})
        self._spans = OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=_TIMEOUT_S)
        reader = PeriodicExportingMetricReader(
            OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=_TIMEOUT_S),
            export_interval_millis=_METRICS_EVERY_MS,
        )
        self._meters = MeterProvider(metric_readers=[reader], resource=self._resource, shutdown_on_exit=False)
        meter = self._meters.get_meter("edgeinf", __version__)
        self._histograms = {
            name: meter.create_histogram(name, unit, help, explicit_bucket_boundaries_advisory=list(bounds))
            for name, (unit, help, bounds) in METRICS.items()
        }
        self._thread = threading.Thread(target=self._run, name="edgeinf-otel", daemon=True)
        self._thread.start()

    def put(self, item: Span | Finished) -> None:
        """Queue what is finished."""
        if self._closed or len(self._queue) >= _QUEUE:
            self.dropped += 1
        else:
            self._queue.append(item)

    def close(self) -> None:
        """Send what waits, within seconds, and stop. Blocks."""
        self._closed = True
        self._wake.set()
        self._thread.join(timeout=3 * _TIMEOUT_S)
        self._meters.shutdown(timeout_millis=_TIMEOUT_S * 1000)
        self._spans.shutdown()  # type: ignore[no-untyped-call]  # it ships without

    # --- on the thread ---

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(_EVERY_S)
            self._send_all()

    def _send_all(self) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        while self._queue:
            items = [self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))]
            for item in items:
                if isinstance(item, Finished):
                    self._measure(item)
            try:
                result = self._spans.export([self._span_of(item) for item in items])
                failed = None if result is SpanExportResult.SUCCESS else f"{self._base} does not take spans"
            except Exception as error:  # whatever the library does, requests go on
                failed = f"{type(error).__name__}: {error}"
            if failed is not None:
                self.dropped += len(items)
                if self.failed is None:
                    _log.warning("traces cannot be sent: %s", failed)
            self.failed = failed

    def _span_of(self, item: Span | Finished) -> Any:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
        from opentelemetry.trace.status import Status, StatusCode

        def context(span_id: str, *, remote: bool = False) -> SpanContext:
            flags = TraceFlags(TraceFlags.SAMPLED)
            return SpanContext(int(item.trace.id, 16), int(span_id, 16), is_remote=remote, trace_flags=flags)

        if isinstance(item, Finished):
            event, parent = item.event, item.trace.parent
            return ReadableSpan(
                name=f"{_operation(item)} {event.model}" if event.model else f"{item.method} {item.path}",
                context=context(item.trace.span),
                parent=None if parent is None else context(parent, remote=True),
                resource=self._resource,
                attributes=_request_attributes(item),
                kind=SpanKind.SERVER,
                status=Status(StatusCode.ERROR, event.error) if event.status >= 500 else Status(),
                start_time=round(event.at * 1e9),
                end_time=round(event.at * 1e9 + (event.total_ms or 0.0) * 1e6),
                instrumentation_scope=InstrumentationScope("edgeinf", __version__),
            )
        return ReadableSpan(
            name=item.name,
            context=context(item.id),
            parent=context(item.trace.span),
            resource=self._resource,
            attributes=_attempt_attributes(item) if item.region else {},
            kind=SpanKind.CLIENT if item.region else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, item.error) if item.error else Status(),
            start_time=item.start_ns,
            end_time=item.end_ns,
            instrumentation_scope=InstrumentationScope("edgeinf", __version__),
        )

    def _measure(self, item: Finished) -> None:
        event = item.event
        about: _Attributes = {
            Name.OPERATION: _operation(item),
            Name.PROVIDER: PROVIDERS.get(event.dialect, "openai"),
            Name.REQUEST_MODEL: event.model or "",
            Name.CACHE: event.cache,
        }
        if event.error is not None:
            about[Name.ERROR_TYPE] = event.error
        record = {name: histogram.record for name, histogram in self._histograms.items()}
        if event.reason != REFRESH:
            record["gen_ai.server.request.duration"]((event.total_ms or 0.0) / 1000, about)
        for kind, count in (("input", event.input_tokens), ("output", event.output_tokens)):
            if count is not None:
                record["gen_ai.client.token.usage"](count, {**about, Name.TOKEN_TYPE: kind})
        if event.ttft_ms is not None and event.reason != REFRESH:
            record["gen_ai.server.time_to_first_token"](event.ttft_ms / 1000, about)
            later = (event.output_tokens or 0) - 1
            if event.stream and later > 0 and event.total_ms is not None:
                per_token_s = max(0.0, event.total_ms - event.ttft_ms) / 1000 / later
                record["gen_ai.server.time_per_output_token"](per_token_s, about)


def _operation(item: Finished) -> str:
    return OPERATIONS.get(item.event.dialect, "opaque")


def _request_attributes(item: Finished) -> _Attributes:
    event = item.event
    known = {
        Name.OPERATION: _operation(item),
        Name.PROVIDER: PROVIDERS.get(event.dialect, "openai"),
        Name.REQUEST_MODEL: event.model,
        Name.INPUT_TOKENS: event.input_tokens,
        Name.OUTPUT_TOKENS: event.output_tokens,
        Name.METHOD: item.method,
        Name.ROUTE: item.path,
        Name.STATUS: event.status,
        Name.ERROR_TYPE: event.error,
        Name.CACHE: event.cache,
        Name.TIER: event.tier,
        Name.LEVEL: event.level,
        Name.REASON: event.reason,
        Name.REGION: event.region,
        Name.REQUEST_ID: event.id,
        Name.TENANT: event.tenant,
        Name.USD: event.usd,
        Name.USD_SAVED: event.usd_saved,
    }
    return {name: value for name, value in known.items() if value is not None}


def _attempt_attributes(span: Span) -> _Attributes:
    place = urlsplit(span.address)
    found: _Attributes = {
        Name.REGION: span.region,
        Name.ATTEMPT: span.number,
        Name.SERVER_ADDRESS: place.hostname or "",
        Name.SERVER_PORT: place.port or (443 if place.scheme == "https" else 80),
    }
    if span.error is not None:
        found[Name.ERROR_TYPE] = span.error
    return found
