"""A made-up production log whose hits, causes and damage are known, for demos, tests and benchmarks.

The counts come from the plan (which intent, which variant, which noise), never from the keys that the analysis uses.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from typing import IO, Any, Literal
from uuid import UUID

import msgspec

__all__ = ["CAUSES", "Cause", "Line", "LogPlan", "Planted", "Template", "generate", "write_log"]

Kind = Literal["clock", "date", "request-id", "uuid", "name", "tools", "field", "seed", "user-clock"]

# What a cause puts apart, and the levels that bring it together again by themselves.
CAUSES: dict[str, frozenset[str]] = {
    "clock": frozenset({"masked"}),
    "date": frozenset({"masked"}),
    "request-id": frozenset({"masked"}),
    "uuid": frozenset(),
    "name": frozenset(),
    "tools": frozenset(),
    "field": frozenset(),
    "seed": frozenset(),
    "user-clock": frozenset(),
}
_LEVELS = ("exact", "safe", "loose", "masked")


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps equal questions of a template apart: its kind, and where in the text it stands."""

    kind: Kind
    site: Literal["start", "middle", "end"] = "end"
    field: str = "x_request_tag"


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One application: its system prompt, its share of the traffic, and the fault that was built into it."""

    name: str
    weight: float = 1.0
    cause: Cause | None = None
    tools: int = 0
    system_chars: int = 400


class LogPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What log to make. Shares are of requests; ``spacing_s`` keeps an answer complete before the next request."""

    requests: int = 2_000
    seed: int = 1
    templates: tuple[Template, ...] = (Template(name="faq"),)
    intents: int = 300
    zipf: float = 1.0
    tenants: int = 3
    users: int = 40
    spacing_s: float = 2.0
    start: float = 1_793_527_200.0
    trailing_space: float = 0.05  # merged from safe on
    casing: float = 0.05  # merged from loose on
    key_order: bool = True
    damage: float = 0.0  # damaged lines per request, beside the good ones
    model: str = "gpt-4o-mini"
    answer_noise: float = 0.0  # answers that differ though the question is the same


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line and, if it is a request, what it is at each level."""

    raw: bytes
    identity: dict[str, tuple[object, ...]] | None = None
    template: Template | None = None
    fixed: tuple[object, ...] | None = None  # at the default level, were its template's cause removed


class Planted(msgspec.Struct, kw_only=True):
    """What a reader must find: hits per level, hits that each template's cause hides, damaged lines."""

    requests: int = 0
    damaged: int = 0
    hits: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(_LEVELS, 0))
    recoverable: dict[str, int] = msgspec.field(default_factory=dict)


def write_log(plan: LogPlan, file: IO[bytes]) -> Planted:
    """Write the log and return what was planted in it."""
    planted = Planted(recoverable={t.name: 0 for t in plan.templates if t.cause is not None})
    seen: dict[str, set[tuple[object, ...]]] = {level: set() for level in _LEVELS}
    fixed: set[tuple[object, ...]] = set()
    for line in generate(plan):
        file.write(line.raw)
        if line.identity is None:
            planted.damaged += 1
            continue
        planted.requests += 1
        hit_by_default = line.identity["safe"] in seen["safe"]
        for level, identity in line.identity.items():
            planted.hits[level] += identity in seen[level]
            seen[level].add(identity)
        if line.template is not None and line.template.cause is not None and line.fixed is not None:
            planted.recoverable[line.template.name] += line.fixed in fixed and not hit_by_default
            fixed.add(line.fixed)
    return planted


def generate(plan: LogPlan) -> Iterator[Line]:
    """Yield the lines of the log, the same for the same plan."""
    rng = random.Random(plan.seed)
    intents = list(accumulate(1 / (rank + 1) ** plan.zipf for rank in range(plan.intents)))
    weights = list(accumulate(t.weight for t in plan.templates))
    for number in range(plan.requests):
        while rng.random() < plan.damage:
            yield Line(raw=_damaged(rng, plan))
        template = plan.templates[_draw(rng, weights)]
        yield _line(rng, plan, template, _draw(rng, intents), number)


def _draw(rng: random.Random, cumulative: list[float]) -> int:
    return min(bisect.bisect_left(cumulative, rng.random() * cumulative[-1]), len(cumulative) - 1)


def _line(rng: random.Random, plan: LogPlan, template: Template, intent: int, number: int) -> Line:
    at = plan.start + number * plan.spacing_s + rng.random() * plan.spacing_s * 0.2
    tenant = rng.randrange(plan.tenants)
    user = rng.randrange(plan.users)
    spaces = rng.randrange(1, 4) if rng.random() < plan.trailing_space else 0
    cased = rng.random() < plan.casing
    question = _question(intent)
    said = (question.upper() if cased else question) + " " * spaces
    noise, body = _body(rng, plan, template, said, at)
    answer = f"The answer to case {intent} is {intent * 7 % 97}."
    if rng.random() < plan.answer_noise:
        answer = f"The answer to case {intent} is {rng.randrange(100, 200)}."
    tokens = (template.system_chars + len(question)) // 4 + 40 * template.tools
    row = {
        "ts": at,
        "tenant": f"tenant-{tenant}",
        "user": f"user-{user}",
        "session": f"session-{user}-{number // 500}",
        "route": template.name,
        "model": plan.model,
        "request": body,
        "response": answer,
        "latency_ms": round(plan.spacing_s * 1000 * (0.1 + 0.5 * rng.random()), 1),
        "input_tokens": tokens,
        "output_tokens": 12,
        "cost_usd": round(tokens * 1.5e-7 + 12 * 6e-7, 9),
        "status": 200,
        "id": f"r-{plan.seed}-{number}",
    }
    asked = (tenant, template.name, intent)
    kept = {
        level: () if template.cause is None or level in CAUSES[template.cause.kind] else (noise,) for level in _LEVELS
    }
    return Line(
        raw=msgspec.json.encode(row) + b"\n",
        identity={
            "exact": (*asked, cased, spaces, *kept["exact"]),
            "safe": (*asked, cased, *kept["safe"]),
            "loose": (*asked, *kept["loose"]),
            "masked": (*asked, *kept["masked"]),
        },
        template=template,
        fixed=(*asked, cased),
    )


def _body(rng: random.Random, plan: LogPlan, template: Template, said: str, at: float) -> tuple[object, dict[str, Any]]:
    """Return the noise that the template's cause drew, and the request."""
    cause = template.cause
    noise: object = None
    system, tools = _system(template), [_tool(template, k) for k in range(template.tools)]
    body: dict[str, Any] = {"model": plan.model, "temperature": 0, "max_tokens": 256}
    if cause is not None:
        noise, span = _noise(rng, cause, at, len(tools))
        if cause.kind == "tools":
            assert isinstance(noise, tuple)
            tools = [tools[k] for k in noise]
        elif cause.kind == "field":
            body[cause.field] = span
        elif cause.kind == "seed":
            body["seed"] = noise
        elif cause.kind == "user-clock":
            said = f"[{span}] {said}"
        else:
            system = _placed(system, span, cause.site)
    body["messages"] = [{"role": "system", "content": system}, {"role": "user", "content": said}]
    if tools:
        body["tools"] = tools
    return noise, _shuffled(rng, body) if plan.key_order else body


def _noise(rng: random.Random, cause: Cause, at: float, tools: int) -> tuple[object, str]:
    """Return what tells one occurrence from another, and its text."""
    when = datetime.fromtimestamp(at, UTC)
    if cause.kind in ("clock", "user-clock"):
        text = when.strftime("%Y-%m-%d %H:%M:%S") if cause.kind == "user-clock" else when.strftime("%Y-%m-%dT%H:%M:%SZ")
        return text, text if cause.kind == "user-clock" else f"The current time is {text}."
    if cause.kind == "date":
        text = when.strftime("%Y-%m-%d")
        return text, f"Today is {text}."
    if cause.kind == "request-id":
        text = f"req_{rng.getrandbits(96):024x}"
        return text, f"Request ID: {text}"
    if cause.kind in ("uuid", "field"):
        text = str(UUID(int=rng.getrandbits(128), version=4))
        return text, f"Conversation {text}." if cause.kind == "uuid" else text
    if cause.kind == "name":
        text = rng.choice(_NAMES) + " " + rng.choice(_NAMES)
        return text, f"You are talking to {text}."
    if cause.kind == "tools":
        order = list(range(tools))
        rng.shuffle(order)
        return tuple(order), ""
    number = rng.getrandbits(31)
    return number, str(number)


def _placed(text: str, span: str, site: str) -> str:
    if site == "start":
        return f"{span}\n{text}"
    if site == "end":
        return f"{text}\n{span}"
    middle = text.index(". ", len(text) // 2) + 2
    return f"{text[:middle]}{span} {text[middle:]}"


def _system(template: Template) -> str:
    text = f"You are the assistant of {template.name}. "
    rng = random.Random(template.name)
    while len(text) < template.system_chars:
        text += f"{rng.choice(_VERBS)} the {rng.choice(_NOUNS)} of the {rng.choice(_NOUNS)} with care. "
    return text.strip() + " Answer briefly. Be kind."


def _tool(template: Template, number: int) -> dict[str, Any]:
    name = f"{template.name.replace('-', '_')}_tool_{chr(97 + number)}"
    schema = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    return {"type": "function", "function": {"name": name, "description": f"Use {name}", "parameters": schema}}


def _question(intent: int) -> str:
    verb, rest = _VERBS[intent % len(_VERBS)], intent // len(_VERBS)
    noun, rest = _NOUNS[rest % len(_NOUNS)], rest // len(_NOUNS)
    owner = " ".join(_NOUNS[int(digit)] for digit in str(rest))
    return f"{verb.capitalize()} the {noun} of my {owner}, please?"


def _shuffled(rng: random.Random, value: Any) -> Any:
    """Return the value with object keys in another order: noise that no level may take for a difference."""
    if isinstance(value, dict):
        if "properties" in value:
            return value  # the order inside a schema's properties matters to constrained decoding
        keys = list(value)
        rng.shuffle(keys)
        return {key: _shuffled(rng, value[key]) for key in keys}
    return [_shuffled(rng, item) for item in value] if isinstance(value, list) else value


def _damaged(rng: random.Random, plan: LogPlan) -> bytes:
    whole = b'{"ts": %d, "request": {"model": "m", "messages": []}, "status": 200}' % int(plan.start)
    return rng.choice([whole[: rng.randrange(5, 40)], b"\x00\x01garbage", b'{"ts": "\xff\xfe"}', b"[1, 2]"]) + b"\n"


_VERBS = ("check", "change", "cancel", "find", "explain", "track", "repeat", "compare", "describe", "review", "renew",
          "forward", "confirm", "open", "close", "archive", "print", "share", "rename", "restore")  # fmt: skip
_NOUNS = ("invoice", "parcel", "order", "refund", "address", "ticket", "warranty", "contract", "password", "delivery",
          "voucher", "account", "newsletter", "profile", "catalogue", "payment", "booking", "manual", "receipt",
          "coupon")  # fmt: skip
_NAMES = ("Ada", "Bela", "Chen", "Dana", "Emil", "Fay", "Gita", "Hugo", "Iris", "Jon", "Kira", "Luis", "Mona", "Nils",
          "Olga", "Pia", "Quin", "Rosa", "Sven", "Tara", "Uma", "Vito", "Wanda", "Xeno", "Yara", "Zoe")  # fmt: skip
