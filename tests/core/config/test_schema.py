from __future__ import annotations

import dataclasses
import typing
from pathlib import Path

import pytest

from edgeinf.core.cacheable import BYPASS_REASONS
from edgeinf.core.config.schema import DEFAULT_REGIONS, SECTIONS, Allowance, Config, Listen
from tests.core.config.kit import look

EXAMPLE = """\
version: 1
listen:
  host: 127.0.0.1
  port: 8787
  max_body: 50MiB
  max_upload: 512MiB
  header_timeout: 10s
  drain: 20s
  allowed_origins: []
  allowed_hosts: []
  trusted_proxies: []
  tls: {cert: key.txt, key: key.txt}
regions:
  - name: virginia
    url: https://us.example.com/v1
    api_key: ${A_KEY}
    location: us-east-1
    serves: [openai]
    headers: {X-Team: search}
    timeouts: {connect: 3s, ttft: 120s, idle: 120s, total: 10m}
    max_concurrency: 200
    http2: true
    load: {metrics: "http://10.0.0.5:8000/metrics", kind: vllm}
    completeness: strict
  - {name: saopaulo, url: "https://sa.example.com/v1", api_key: "${A_KEY}", location: {lat: -23.5, lon: -46.6}}
models:
  - name: support-bot
    upstream: {virginia: llama-3.1-8b, saopaulo: meta/llama-3.1-8b}
    adapter: {name: support-lora, path: /models/support-lora}
    regions: [virginia, saopaulo]
    fallback: [support-bot-small]
  - {name: support-bot-small, upstream: llama-3.2-1b, regions: [virginia]}
routing:
  strategy: latency
  client_location_header: X-Client-Region
  failover: {attempts: 3, retry_on: [connect, timeout, "429", 5xx, bad-answer], retry_budget: 20%}
  health: {window: 60s, min_requests: 20, max_error_ratio: 10%, cooldown: 5s, active: {every: 10s, path: /models}}
  hedge: {after: p95, budget: 5%}
  prewarm: 4
cache:
  level: safe
  scope: key
  ttl: 24h
  ttl_jitter: 10%
  stale_if_error: 1h
  stale_while_revalidate: 0s
  max_temperature: null
  mask: [timestamps, request-ids]
  allow: []
  forward_headers: []
  on_disconnect: abort
  memory: {max_size: 256MiB, max_entries: null}
  disk: {path: ~/.cache/edgeinf, max_size: 2GiB}
  shared: {url: "redis://127.0.0.1:6379/0", timeout: 50ms}
  replay: instant
auth:
  admin: {sha256: "${OTHER_SHA256}"}
  keys:
    - {id: acme-web, team: acme, sha256: "${KEY_SHA256}", models: [support-bot], expires: "2027-12-31", account: false}
limits:
  - {name: per-key, per: key, requests: 60/min, tokens: 100k/min, concurrency: 8}
  - {name: agents, per: session, requests: 600/min}
  - {name: acme-budget, match: {team: acme}, per: team, budget: {usd: 50, period: 30d}}
limits_shared: {url: "redis://127.0.0.1:6379/1"}
guard:
  max_input_tokens: 32000
  deny: [{pattern: '(?i)ignore (all|previous) instructions', action: block}]
  clients: {deny_cidr: [], deny_user_agent: []}
  redact: [email, phone, credit-card, secrets]
prompt:
  - when: {model: support-bot}
    prepend: [{role: system, content_file: key.txt}]
    context: {source: key.txt, top_k: 4, max_tokens: 1500, as: system}
answer:
  strip: [reasoning]
events: {file: events.jsonl, rotate: 100MiB, keep: 10, bodies: false, key_secret: "${NONE:-}", otlp: "http://127.0.0.1:4318"}
dashboard: {enabled: true}
prices: {support-bot: {input: 0.15, output: 0.60}}
"""


def test_every_name_of_the_example_is_known_and_has_its_runtime_value(tmp_path: Path) -> None:
    seen = look(EXAMPLE, tmp_path)
    assert [d.message for d in seen.errors if d.code != "E109"] == []
    assert seen.config is not None
    config = seen.config
    assert config.listen.max_body == 50 * 2**20
    assert config.regions[0].timeouts.total == 600.0
    assert config.regions[0].api_key is not None
    assert config.regions[0].api_key.get_secret_value() == "placeholder-key-a"
    assert config.limits[0].tokens == (100_000.0, 60.0)
    assert config.limits[0].per == "key"
    assert config.routing.failover.retry_budget == pytest.approx(0.2)
    assert config.cache.memory is not None
    assert config.cache.memory.max_size == 256 * 2**20
    assert config.prompt[0].context is not None
    assert config.prompt[0].context.as_ == "system"
    assert config.events.key_secret is None
    assert config.events.file == tmp_path / "events.jsonl"
    price = config.prices["support-bot"]
    assert price is not None
    assert price.output == 0.60


def test_the_default_fronts_openai_and_anthropic_with_the_clients_own_credential() -> None:
    config = Config()
    assert config.regions == DEFAULT_REGIONS
    assert all(region.passthrough and region.api_key is None for region in config.regions)
    assert config.auth is None
    assert config.listen == Listen()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda cls: cls.__name__)
def test_sections_are_frozen_and_say_what_they_are(section: type) -> None:
    assert section.__doc__
    assert not section.__doc__.startswith(section.__name__ + "(")
    assert section.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert all(field.kw_only for field in dataclasses.fields(section))


def test_the_published_example_is_accepted(shared_data: Path, tmp_path: Path) -> None:
    text = (shared_data.parent / "design" / "edgeinf.example.yaml").read_text()
    seen = look(text, tmp_path, env=None)
    assert {d.code for d in seen.errors} <= {"E351", "E109"}


def test_what_may_be_allowed_is_what_a_dialect_may_give_as_a_reason() -> None:
    decided_elsewhere = {"opaque", "temperature", "no-user"}
    assert set(typing.get_args(Allowance)) == set(BYPASS_REASONS) - decided_elsewhere
