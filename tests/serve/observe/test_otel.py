"""Traces and metrics arrive at a real collector endpoint of the test's own, and the spans are right."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache, Config, Events
from edgeinf.core.events import decode
from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.conventions import METRICS
from edgeinf.serve.observe.otel import Exporter
from edgeinf.serve.observe.tracing import Span, Trace
from tests.serve.proxying import ask_chat, proxying, region
from tests.serve.running import config_for, running

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
STALE = "stale while a fresh answer is fetched"


class Collector:
    """An OTLP endpoint over HTTP with protobuf, as the specification has it."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.take(self.path, body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.services |= {a.value.string_value for a in resource.resource.attributes if a.key == "service.name"}
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for found in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {metric.name: metric for scope in found.scope_metrics for metric in scope.metrics}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def traced(folder: Path, collector: Collector, *urls: str) -> Config:
    config = config_for(folder, *urls)
    return replace(config, events=Events(file=folder / "events.jsonl", otlp=collector.url))


def attributes(span: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


async def test_a_miss_is_a_request_a_lookup_and_an_attempt_in_the_callers_trace(
    origin: MockOrigin, tmp_path: Path, collector: Collector
) -> None:
    async with running(traced(tmp_path, collector, origin.url)) as proxy:
        await proxy.ask("a", stream=True, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    spans = {span.name: span for span in collector.spans}
    assert set(spans) == {"chat mock-small", "cache lookup", "attempt"}
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    request, lookup, attempt = spans["chat mock-small"], spans["cache lookup"], spans["attempt"]
    assert request.parent_span_id.hex() == PARENT
    assert lookup.parent_span_id == attempt.parent_span_id == request.span_id
    # Two clocks are involved, and the request's own is read as a fraction of seconds.
    slack_ns = 200_000_000
    assert attempt.start_time_unix_nano <= attempt.end_time_unix_nano
    assert request.start_time_unix_nano - 1000 <= attempt.start_time_unix_nano
    assert attempt.end_time_unix_nano <= request.end_time_unix_nano + slack_ns
    about = attributes(request)
    assert about["gen_ai.operation.name"] == "chat"
    assert about["gen_ai.request.model"] == "mock-small"
    assert about["gen_ai.usage.output_tokens"] == 16
    assert about["http.response.status_code"] == 200
    assert about["edgeinf.cache.outcome"] == "miss"
    assert attributes(attempt)["edgeinf.region"] == "region"
    assert attributes(attempt)["server.port"] == int(origin.url.rpartition(":")[2])
    assert collector.services == {"edgeinf"}
    # The origin got the attempt as its parent.
    sent = dict(origin.calls[0].headers)
    got = {k.decode() if isinstance(k, bytes) else k: v for k, v in sent.items()}["traceparent"]
    text = got.decode() if isinstance(got, bytes) else got
    assert text == f"00-{TRACE}-{attempt.span_id.hex()}-01"
    assert decode((tmp_path / "events.jsonl").read_bytes()).trace_id == TRACE


async def test_each_try_is_a_span_and_failures_are_marked(
    origin: MockOrigin, tmp_path: Path, collector: Collector
) -> None:
    origin.use({"rules": [{"when": {"nth": "1"}, "fault": "503"}]})
    async with running(traced(tmp_path, collector, origin.url, origin.url)) as proxy:
        assert (await proxy.ask("a")).status_code == 200
    tries = sorted((s for s in collector.spans if s.name == "attempt"), key=lambda s: s.start_time_unix_nano)
    assert [attributes(span)["edgeinf.attempt"] for span in tries] == [1, 2]
    assert [attributes(span).get("error.type") for span in tries] == ["503", None]
    assert [span.status.code for span in tries] == [2, 0]


async def test_without_a_caller_a_trace_begins_here(origin: MockOrigin, tmp_path: Path, collector: Collector) -> None:
    async with running(traced(tmp_path, collector, origin.url)) as proxy:
        for _ in range(2):
            await proxy.ask("a", headers={"traceparent": "nonsense"})
    requests = [span for span in collector.spans if span.name == "chat mock-small"]
    assert len({span.trace_id for span in requests}) == 2
    assert {span.parent_span_id for span in requests} == {b""}
    assert [attributes(span)["edgeinf.cache.outcome"] for span in requests] == ["miss", "hit"]


async def test_what_the_caller_does_not_sample_is_not_sent_and_passed_on_as_such(
    origin: MockOrigin, tmp_path: Path, collector: Collector
) -> None:
    async with running(traced(tmp_path, collector, origin.url)) as proxy:
        await proxy.ask("a", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
    assert collector.spans == []
    sent = {str(k): str(v) for k, v in dict(origin.calls[0].headers).items()}
    assert any(TRACE in value and value.rstrip("'").endswith("-00") for value in sent.values())


async def test_metrics_have_the_names_of_the_conventions(
    origin: MockOrigin, tmp_path: Path, collector: Collector
) -> None:
    async with running(traced(tmp_path, collector, origin.url)) as proxy:
        await proxy.ask("a", stream=True)
    assert set(collector.metrics) == set(METRICS)
    tokens = collector.metrics["gen_ai.client.token.usage"].histogram.data_points
    assert {attributes(p)["gen_ai.token.type"]: p.sum for p in tokens}["output"] == 16


async def test_a_refresh_is_a_span_and_its_tokens_count_but_nobody_waited_for_it(
    origin: MockOrigin, collector: Collector
) -> None:
    clock = FakeClock()
    cache = Cache(disk=None, ttl=100.0, ttl_jitter=0.0, stale_while_revalidate=50.0)
    events = Events(file=None, otlp=collector.url)
    async with proxying(region(origin, "r"), cache=cache, clock=clock, events=events) as proxy:
        await ask_chat(proxy)
        clock.advance(101)
        await ask_chat(proxy)
        async with asyncio.timeout(10):
            while proxy.runtime.flights:  # noqa: ASYNC110 - flights say nothing when they leave
                await asyncio.sleep(0.002)
    requests = [attributes(span) for span in collector.spans if span.name == "chat m"]
    assert sorted(each["edgeinf.cache.outcome"] for each in requests) == ["miss", "miss", "stale"]
    assert sorted(each.get("edgeinf.cache.reason", "") for each in requests)[1:] == ["refresh", STALE]
    durations = collector.metrics["gen_ai.server.request.duration"].histogram.data_points
    assert {attributes(p)["edgeinf.cache.outcome"]: p.count for p in durations} == {"miss": 1, "stale": 1}
    tokens = collector.metrics["gen_ai.client.token.usage"].histogram.data_points
    counts = {(attributes(p)["edgeinf.cache.outcome"], attributes(p)["gen_ai.token.type"]): p.count for p in tokens}
    assert counts["miss", "output"] == 2


async def test_without_a_collector_requests_go_on(origin: MockOrigin, tmp_path: Path) -> None:
    config = config_for(tmp_path, origin.url)
    config = replace(config, events=Events(file=None, otlp="http://127.0.0.1:9"))
    async with running(config) as proxy:
        for number in range(5):
            assert (await proxy.ask(f"q{number}")).status_code == 200
        exporter = proxy.runtime.exporter
        assert exporter is not None
    assert exporter.dropped >= 5


async def test_what_cannot_wait_is_counted(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeinf.serve.observe.otel._QUEUE", 2)
    exporter = Exporter(collector.url)
    for _ in range(5):
        exporter.put(Span(Trace(TRACE, PARENT, None, True), PARENT, "x", 1, 2))
    await asyncio.to_thread(exporter.close)
    assert exporter.dropped == 3
    assert len(collector.spans) == 2
