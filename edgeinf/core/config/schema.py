"""Every name of the config file, as frozen values with their defaults.

Plain dataclasses, so that a start without a config needs no validation library; ``check`` has pydantic
validate a file against them, strictly: nothing is coerced and no unknown key is ignored.
A trailing ``_`` keeps a Python keyword apart and is absent in files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

from edgeinf.core.config import types as t
from edgeinf.core.config.scalar import ByShape

__all__ = ["SECTIONS", "Config"]

C = TypeVar("C")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def section(cls: type[C]) -> type[C]:
    """Make a class a mapping of the config: frozen, keyword-only, strict, with no key beyond its fields."""
    rules: dict[str, Any] = {
        "extra": "forbid",
        "strict": True,
        "hide_input_in_errors": True,
        "alias_generator": lambda name: name.rstrip("_"),
    }
    made: type[C] = dataclass(frozen=True, kw_only=True, slots=True)(cls)
    setattr(made, "__pydantic_config__", rules)  # noqa: B010  # pydantic reads it; mypy knows no such attribute
    SECTIONS.append(made)
    return made


SECTIONS: list[type] = []
"""Every class below, in order."""


def _state_file() -> Path:
    return Path("~/.local/state/edgeinf/events.jsonl").expanduser()


def _cache_dir() -> Path:
    return Path("~/.cache/edgeinf").expanduser()


# --- listen -----------------------------------------------------------------------------------------------


@section
class Tls:
    """The certificate this server shows to its clients."""

    cert: t.FilePath
    key: t.FilePath


@section
class Listen:
    """Where clients reach this server."""

    host: t.Name = "127.0.0.1"
    port: t.Port = 8787
    max_body: t.Size = 50 * 2**20
    max_upload: t.Size = 512 * 2**20
    header_timeout: t.Duration = 10.0
    drain: t.Duration = 20.0
    allowed_origins: tuple[t.Origin, ...] = ()
    allowed_hosts: tuple[t.Name, ...] = ()
    trusted_proxies: tuple[t.Cidr, ...] = ()
    tls: Tls | None = None


# --- regions and models -----------------------------------------------------------------------------------


@section
class Place:
    """A point on the earth, in degrees."""

    lat: t.Latitude
    lon: t.Longitude


@section
class Timeouts:
    """How long an origin may take; ``ttft`` and ``idle`` hold on streams, ``total`` on all."""

    connect: t.Duration = 3.0
    ttft: t.Duration = 120.0
    idle: t.Duration = 120.0
    total: t.Duration = 600.0


@section
class Load:
    """Where a server of models publishes its queue and the fill of its KV cache."""

    metrics: t.Url
    kind: Literal["vllm", "sglang", "tgi", "llama.cpp"] = "vllm"


Family = Literal["openai", "anthropic", "rerank"]


@section
class Region:
    """One inference origin.

    ``http2`` is offered in the TLS handshake; an origin without it is asked over HTTP/1.1. Calls share one connection.
    At 80 ms of round trip, 16 calls at once that find one warm connection are answered after 114 ms instead of 286 ms
    (``routing.prewarm`` at 16 without http2: 82 ms). Calls one after the other gain nothing, and
    each costs 0.2 to 0.3 ms more CPU. Prompts of a burst beyond 14 KB in all wait for one round trip more.
    """

    name: t.Name
    url: t.Url
    api_key: t.SecretText | None = None
    api_key_file: t.FilePath | None = None
    passthrough: bool = False
    location: Annotated[t.Name | Place, ByShape()] | None = None
    serves: tuple[Family, ...] = ("openai",)
    headers: dict[t.HeaderName, t.HeaderValue] = field(default_factory=dict)
    timeouts: Timeouts = Timeouts()
    max_concurrency: t.Count | None = None
    http2: bool = False
    load: Load | None = None
    completeness: Literal["strict", "no-done", "no-finish-reason"] = "strict"
    weight: t.Weight = 1.0
    priority: t.Natural = 0


DEFAULT_REGIONS = (
    Region(name="openai", url="https://api.openai.com/v1", passthrough=True, serves=("openai",)),
    Region(name="anthropic", url="https://api.anthropic.com/v1", passthrough=True, serves=("anthropic",)),
)


@section
class Adapter:
    """A LoRA adapter: its name in requests and, where the server can load it, its path there."""

    name: t.Name
    path: t.Name | None = None


@section
class Model:
    """A name that clients use, and what each region serves under it."""

    name: t.Name
    upstream: Annotated[t.Name | dict[t.Name, t.Name], ByShape()] | None = None
    adapter: Annotated[t.Name | Adapter, ByShape()] | None = None
    regions: tuple[t.Name, ...] | None = None
    fallback: tuple[t.Name, ...] = ()


# --- routing ----------------------------------------------------------------------------------------------


@section
class Failover:
    """When and how often another region is tried."""

    attempts: t.Count = 3
    retry_on: tuple[t.RetryCause, ...] = ("connect", "timeout", "429", "5xx", "bad-answer")
    retry_budget: t.Percentage = 0.2


@section
class ActiveHealth:
    """Asking a region how it is while nobody else does."""

    every: t.Duration = 10.0
    path: t.Name = "/models"


@section
class Health:
    """When a region counts as down, and for how long."""

    window: t.Duration = 60.0
    min_requests: t.Count = 20
    max_error_ratio: t.Percentage = 0.1
    cooldown: t.Duration = 5.0
    active: ActiveHealth | None = None


@section
class Hedge:
    """A second try in another region while the first is slow."""

    after: t.HedgeDelay = "p95"
    budget: t.Percentage = 0.05


@section
class Routing:
    """How the region of a call is chosen."""

    strategy: Literal["latency", "nearest", "priority", "weighted", "least-loaded"] = "latency"
    client_location_header: t.HeaderName | None = None
    location: Annotated[t.Name | Place, ByShape()] | None = None
    failover: Failover = Failover()
    health: Health = Health()
    hedge: Hedge | None = None
    prewarm: t.Natural = 0


# --- cache ------------------------------------------------------------------------------------------------


@section
class Memory:
    """The tier in this process."""

    max_size: t.Size = 256 * 2**20
    max_entries: t.Count | None = None


@section
class Disk:
    """The tier that survives a restart."""

    path: t.FilePath = field(default_factory=_cache_dir)
    max_size: t.Size = 2 * 2**30


@section
class Shared:
    """The tier that many nodes share."""

    url: t.RedisUrl
    timeout: t.Duration = 0.05


Mask = Literal["timestamps", "request-ids", "uuids", "user:timestamps", "user:request-ids", "user:uuids"]
Allowance = Literal[
    "url-inputs",
    "web-search",
    "web-fetch",
    "search-parameters",
    "plugins",
    "file-search",
    "code-execution",
    "computer-use",
    "image-generation",
    "tool-search",
    "advisor",
    "mcp",
    "shell",
    "hosted-tool",
    "store",
    "previous-response",
    "conversation",
    "background",
    "container",
    "stored-prompt",
]


@section
class Cache:
    """When two questions are the same, and how long and where their answer is kept."""

    level: Literal["exact", "safe", "loose", "masked"] = "safe"
    scope: Literal["key", "user", "team", "shared"] = "key"
    ttl: t.Duration = 86400.0
    ttl_jitter: t.Percentage = 0.1
    stale_if_error: t.Duration = 3600.0
    stale_while_revalidate: t.Duration = 0.0
    max_temperature: t.Positive | None = None
    mask: tuple[Mask, ...] = ("timestamps", "request-ids")
    allow: tuple[Allowance, ...] = ()
    forward_headers: tuple[t.HeaderName, ...] = ()
    on_disconnect: Literal["abort", "finish"] = "abort"
    memory: Memory | None = Memory()
    disk: Disk | None = field(default_factory=Disk)
    shared: Shared | None = None
    replay: Literal["instant", "paced"] = "instant"


# --- who may, and how much --------------------------------------------------------------------------------


@section
class Admin:
    """The key that opens the dashboard and the purge endpoint from afar."""

    sha256: t.Sha256


@section
class VirtualKey:
    """A credential of this server; only its hash is known here."""

    id: t.Name
    sha256: t.Sha256
    team: t.Name | None = None
    user: t.Name | None = None
    models: tuple[t.Name, ...] | None = None
    expires: t.Date | None = None
    account: bool = False


@section
class Auth:
    """Who may use this server."""

    admin: Admin | None = None
    keys: tuple[VirtualKey, ...] = ()


@section
class Match:
    """Which calls a limit is about; what is absent matches all."""

    key: t.Name | None = None
    team: t.Name | None = None
    model: t.Name | None = None


@section
class Budget:
    """Money per period."""

    usd: t.Positive
    period: t.Duration = 30 * 86400.0


@section
class Limit:
    """One limit; every one that matches holds."""

    name: t.Name
    per: t.LimitKey = "key"
    match: Match | None = None
    requests: t.Rate | None = None
    tokens: t.Rate | None = None
    concurrency: t.Count | None = None
    budget: Budget | None = None
    count_hits: Literal["requests", "all", "none"] = "requests"


# --- what may pass, and what becomes of it ----------------------------------------------------------------


@section
class DenyRule:
    """A pattern that a prompt must not contain."""

    pattern: t.Pattern
    action: Literal["block", "flag"] = "block"


@section
class Clients:
    """Clients that are turned away."""

    deny_cidr: tuple[t.Cidr, ...] = ()
    deny_user_agent: tuple[t.Pattern, ...] = ()


@section
class Guard:
    """What is checked before a call goes on.

    ``deny`` and ``redact`` hold for the texts of prompts, and on paths that are relayed as they are for those of JSON
    bodies and of forms' fields; files in forms are not looked into. Where a body cannot be read, its event says so.
    ``max_input_tokens`` is for calls whose tokens can be counted.
    """

    max_input_tokens: t.Count | None = None
    deny: tuple[DenyRule, ...] = ()
    clients: Clients = Clients()
    redact: tuple[Literal["email", "phone", "credit-card", "secrets"], ...] = ()


@section
class When:
    """The calls that a prompt rule is about; what is absent matches all."""

    model: t.Name | None = None
    key: t.Name | None = None
    team: t.Name | None = None
    route: t.Name | None = None
    headers: dict[t.HeaderName, t.HeaderValue] = field(default_factory=dict)


@section
class Message:
    """A message that is put into the prompt, written here or in a file."""

    role: Literal["system", "developer", "user"] = "system"
    content: str | None = None
    content_file: t.FilePath | None = None


@section
class Vectors:
    """A model for embeddings, so that documents are found by meaning beside words.

    ``region`` has it under that name; without one, the first region that serves openai has.
    """

    model: t.Name
    region: t.Name | None = None


@section
class Context:
    """Documents that are searched for each question."""

    source: t.FilePath
    top_k: t.Count = 4
    max_tokens: t.Count = 1500
    as_: Literal["system", "user"] = "system"
    vectors: Vectors | None = None


@section
class PromptRule:
    """What is added to the prompts of some calls."""

    when: When = When()
    prepend: tuple[Message, ...] = ()
    append: tuple[Message, ...] = ()
    context: Context | None = None


@section
class AnswerRules:
    """What becomes of answers, the same for stream and whole, from the origin and from the cache.

    ``repair_json`` is for whole answers only: a stream has left before it could be repaired. Answers on paths that are
    relayed as they are stay untouched.
    """

    strip: tuple[Literal["reasoning"], ...] = ()
    header: str | None = None
    footer: str | None = None
    redact: tuple[Literal["email", "phone", "credit-card", "secrets"], ...] = ()
    deny: tuple[DenyRule, ...] = ()
    repair_json: bool = False


# --- what is observed -------------------------------------------------------------------------------------


@section
class Events:
    """The record of each request."""

    file: t.FilePath | None = field(default_factory=_state_file)
    rotate: t.Size = 100 * 2**20
    keep: t.Natural = 10
    bodies: bool = False
    key_secret: t.SecretText | None = None
    otlp: t.Url | None = None


@section
class Dashboard:
    """The page under ``/_edgeinf/``."""

    enabled: bool = True


@section
class Price:
    """USD per million tokens; null if unknown."""

    input: t.Positive | None = None
    output: t.Positive | None = None
    cached_input: t.Positive | None = None


@section
class Config:
    """The whole file. No regions means OpenAI and Anthropic with the client's own credential."""

    version: Literal[1] = 1
    listen: Listen = Listen()
    regions: tuple[Region, ...] = DEFAULT_REGIONS
    models: tuple[Model, ...] = ()
    routing: Routing = Routing()
    cache: Cache = field(default_factory=Cache)
    auth: Auth | None = None
    limits: tuple[Limit, ...] = ()
    limits_shared: Shared | None = None
    guard: Guard = Guard()
    prompt: tuple[PromptRule, ...] = ()
    answer: AnswerRules = AnswerRules()
    events: Events = field(default_factory=Events)
    dashboard: Dashboard = Dashboard()
    prices: dict[t.Name, Price | None] = field(default_factory=dict)
