"""A difference is found where it is, and called what it is."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.diff import differences

SYSTEM = "You are the assistant of Acme. Answer every question of a customer briefly and with care. Be kind."
OTHER = "Translate what follows into the French of a lawyer, and say nothing else at all."
IDS = ("550e8400-e29b-41d4-a716-446655440000", "650e8400-e29b-41d4-a716-446655440001")
PROMPT = "$.messages[0].content"


def _body(system: str = SYSTEM, user: str = "Hi there?", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return {"model": "m", "messages": messages, **fields}


TOOLS = [{"type": "function", "function": {"name": name}} for name in ("a", "b", "c")]

CASES = {
    "clock": (_body(SYSTEM + " Now: 2026-11-01 10:00"), _body(SYSTEM + " Now: 2026-12-02 11:30"),
              [(PROMPT, "timestamp")]),
    "uuid": (_body(f"{SYSTEM} {IDS[0]}"), _body(f"{SYSTEM} {IDS[1]}"),
             [(PROMPT, "uuid")]),
    "clock and id": (_body(f"At 10:00:01. {SYSTEM} Request ID: 8f3a2b1c"),
                     _body(f"At 10:09:07. {SYSTEM} Request ID: 9a3a2b1d"),
                     [(PROMPT, "timestamp"), (PROMPT, "request-id")]),
    "span": (_body(SYSTEM + " The user is Ada."), _body(SYSTEM + " The user is Zoe."), [(PROMPT, "span")]),
    "another prompt": (_body(SYSTEM), _body(OTHER),
                       [(PROMPT, "another text")]),
    "order of tools": (_body(tools=TOOLS), _body(tools=TOOLS[::-1]), [("$.tools", "order")]),
    "another tool": (_body(tools=TOOLS), _body(tools=TOOLS[:2]), [("$.tools", "items")]),
    "case": (_body(user="Hi there?"), _body(user="HI THERE?"), [("$.messages[-1].content", "wording")]),
    "number": (_body(seed=1), _body(seed=2), [("$.seed", "value")]),
    "field": (_body(), _body(x_tag="q"), [("$.x_tag", "absent")]),
    "turns": (_body(), {"model": "m", "messages": []}, [("$.messages", "turns")]),
    "nothing": (_body(), _body(), []),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "expected"), CASES.values(), ids=CASES)
def test_kind_and_place(a: dict[str, Any], b: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert [(d.path, d.kind) for d in differences(a, b)] == expected


def test_both_sides_are_shown_around_the_difference() -> None:
    found = differences(_body(SYSTEM + " Now: 2026-11-01 10:00"), _body(SYSTEM + " Now: 2026-12-02 11:30"))[0]
    assert ("2026-11-01 10:00" in found.a, "2026-12-02 11:30" in found.b) == (True, True)
