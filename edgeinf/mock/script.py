"""What an origin answers, when, and what goes wrong: frozen values. ``load.py`` reads them from a file or a dict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Fault", "Match", "Rule", "Script", "Shape", "Timing", "ToolCall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call in the answer; its arguments come in ``parts`` fragments."""

    name: str = "lookup"
    arguments: str = '{"city": "São Paulo", "days": 3}'
    parts: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the answer holds, before a dialect renders it.

    Text is made from the request: its digest in hexadecimal, then words drawn with it. ``text`` or ``pieces``
    (exact deltas) replace that; ``echo`` answers with the last user text.
    """

    tokens: int = 16
    text: str | None = None
    pieces: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()  # sent as they are: events of a stream, or joined as a whole body
    echo: bool = False
    unicode: bool = False  # words of two to four bytes per character among the others
    sampled: bool = False  # another answer on every call
    tokens_per_piece: int = 1
    first_piece: int = 0  # tokens in the first piece; 0: as the others
    reasoning: int = 0  # tokens of reasoning streamed before the answer
    reasoning_field: str = "reasoning_content"
    hidden_reasoning: int = 0  # tokens that take time and are counted, but not streamed
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    annotations: tuple[Mapping[str, Any], ...] = ()
    finish: str | None = None  # finish or stop reason, in the dialect's own word
    finish_only: tuple[int, ...] | None = None  # choices that finish; None: all
    choices: bool = True  # False: an empty list of choices
    end_marker: bool = True
    role_chunk: bool = True
    pings: int = 1  # Anthropic: a ping after every so many deltas, beside the first; 0: none at all
    obfuscation: bool | None = None  # None: only if the request asks
    usage: str = "asked"  # asked | none | last-choice | every
    input_tokens: int | None = None  # None: a quarter of the request's bytes
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # vendor fields beside the dialect's own
    delta: Mapping[str, Any] = field(default_factory=dict)  # chat: vendor fields in the message, and in one delta
    blocks: tuple[Mapping[str, Any], ...] = ()  # Anthropic: content blocks that come whole, before the others
    dimensions: int = 8  # width of an embedding if the request names none
    bytes: int = 1024  # size of an opaque or audio body
    polls: int = 1  # background responses: polls until completed
    server: str = "vllm"  # /metrics in the names of: vllm, sglang, tgi, llamacpp
    queue: float = 0.0  # /metrics: share of the KV cache in use
    waiting: int = 0  # /metrics: requests that wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Delays, counted from the last byte of the request. ``jitter`` varies each by up to that share."""

    headers_s: float = 0.0
    ttft_s: float = 0.0
    tpot_s: float = 0.0
    jitter: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of the table in ``faults/table.py`` with its arguments."""

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Which calls a rule is for; everything given must hold. Texts are globs.

    ``nth`` (1-based ranges) and ``every`` count the calls that fulfil the other conditions; ``rate`` is drawn
    last, from the script's seeded generator. ``after_s`` and ``until_s`` count from when the script was set.
    """

    region: str | None = None
    method: str | None = None
    path: str | None = None
    model: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    contains: str | None = None
    stream: bool | None = None
    after_s: float = 0.0
    until_s: float | None = None
    nth: tuple[tuple[int, int | None], ...] = ()
    every: int | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What changes for the calls that match. All rules that match apply, in order."""

    when: Match = Match()
    faults: tuple[Fault, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict)
    timing: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The whole behaviour of one origin."""

    name: str = "mock"
    seed: int = 0
    fixed_ids: bool = False  # ids and times from the request alone: equal requests, equal bytes
    models: tuple[str, ...] = ("mock-small", "mock-large")
    strict_models: bool = False  # 404 for a model that is neither listed nor a loaded adapter
    answer: Shape = Shape()
    timing: Timing = Timing()
    headers: Mapping[str, str] = field(default_factory=dict)  # added to every answer
    rules: tuple[Rule, ...] = ()
    api_key: str | None = None  # if set, any other credential is answered 401
    packets: str = "joined"  # joined | event: every event in its own packet
