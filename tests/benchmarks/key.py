"""How long it takes to read, normalise and key a request body. Run: ``python -m tests.benchmarks.key``.

Prints one line per case with the fastest of many repeats, which a busy machine disturbs least, and exits 1 where a
target is missed. Parsing the JSON is shown apart: a proxy does it anyway.
"""

from __future__ import annotations

import itertools
import json
import sys
import timeit

import msgspec

from edgeinf.core.dialects import by_name
from edgeinf.core.key import Scope, canonical_forms, make_key
from edgeinf.core.normalize.levels import level
from edgeinf.core.wire.canonical import parse_object

_SYSTEM = (
    "You are a support agent for Acme Corp. Today is Monday, May 5, 2025 and the time is 10:32 AM UTC. Answer in a "
    "friendly tone and keep it short; don't make things up, and ask back when an order number is missing. Refunds take "
    "5 to 7 days, returns are free within 30 days of delivery. If a customer is angry, apologise once and offer help. "
    'Never promise a date that is not in the order. When asked for policies, quote them with "Policy:" before them. '
    "Customers write from all over the world, so mention prices with their currency and weights in grams. If a parcel "
    "is lost, open a case and say what happens next, in one sentence. Do not talk about competitors, politics or the "
    "weather. If you are not sure, say so and hand over to a person; the team is there from Monday to Friday. "
)
_TURNS = [
    ("user", "Hi, I ordered shoes last week, and the parcel has arrived."),
    (
        "assistant",
        "Hello! How can I help you with your shoes today? If it is about an order, please tell me its number.",
    ),
    (
        "user",
        (
            "They’re too small, so I'd like to know how I can return them and/or get a refund. The order page says "
            '"In Transit", but the parcel has been here since Friday. I’ve looked at https://acme.example.com/returns '
            "and it doesn't say who pays for shipping. Is it free, or do I have to buy a label myself?"
        ),
    ),
]


_DOCUMENT = (
    "Section 12. The buyer may return any article within thirty days of its delivery, in its original state. The "
    "seller refunds the price and the cheapest way of sending it, within 14 days, to the card that was charged. "
    'Articles made to measure, sealed goods that were opened, and vouchers are excluded; see "Exclusions" in '
    "section 15.\n"
)


def chat(document: int = 0, asker: str = "Ann") -> bytes:
    """Return a chat body, with a document of so many paragraphs in its system prompt; no text is another asker's."""
    messages = [{"role": "system", "content": f"{_SYSTEM}The customer is {asker}.\n\n{_DOCUMENT * document}"}]
    messages += [{"role": role, "content": f"{text} - {asker}"} for role, text in _TURNS]
    body = {"model": "gpt-4o-mini", "temperature": 0.2, "max_tokens": 300, "messages": messages}
    return json.dumps(body, ensure_ascii=False).encode()


class Case(msgspec.Struct):
    """One measurement with its target, in microseconds."""

    name: str
    level: str
    bodies: list[bytes]
    most_us: float


_ASKERS = ("Ann", "Bea", "Cem", "Dov", "Eli", "Fay", "Gus")  # so that what is remembered of a text helps nobody
_SMALL = [chat(0, asker) for asker in _ASKERS]
_LARGE = [chat(160, asker) for asker in _ASKERS]
CASES = [
    Case("1.5 KB", "exact", _SMALL, 25),
    Case("1.5 KB", "safe", _SMALL, 25),
    Case("1.5 KB", "loose", _SMALL, 60),
    Case("1.5 KB", "masked", _SMALL, 60),
    *(Case("50 KB", name, _LARGE, 500) for name in ("exact", "safe", "loose", "masked")),
]


def fastest_us(case: Case) -> tuple[float, float]:
    """Return the microseconds to normalise and key a body, and to parse it."""
    dialect, at, scope = by_name("openai-chat"), level(case.level), Scope("key", "acme")
    parsed = itertools.cycle(map(parse_object, case.bodies)).__next__
    raw = itertools.cycle(case.bodies).__next__
    number = max(1, int(500 / case.most_us))  # windows of half a millisecond: some pass undisturbed on a busy machine

    def key() -> None:
        call = dialect.read("/v1/chat/completions", "", parsed())
        for form in canonical_forms(call, dialect, at):
            make_key(form, scope)

    def fastest(what: object) -> float:
        return min(timeit.repeat(what, number=number, repeat=1000)) / number * 1e6  # type: ignore[arg-type]

    return fastest(key), fastest(lambda: parse_object(raw()))


def main() -> int:
    """Measure every case; return 1 where a target is missed."""
    missed = 0
    for case in CASES:
        took, parsing = fastest_us(case)
        verdict = "ok" if took <= case.most_us else "MISSED"
        missed += took > case.most_us
        what = f"{case.name:>7} ({len(case.bodies[0]):>6} bytes) {case.level:<7}"
        print(f"{what} {took:7.1f} us of {case.most_us:.0f}  {verdict}   (parsing: {parsing:.1f} us)")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
