"""How hit rates were got wrong elsewhere: the report must not make the fault, or must show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analyze.making import ask, run, write

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("a", "b", "c")]


def _responses(**fields: Any) -> dict[str, Any]:
    return {"path": "/v1/responses", "request": {"model": "m", "input": "Hi", "store": False, **fields}}


# (what went wrong, two requests, do they share an answer at each level: exact, safe, loose, masked)
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, int, int, int]]] = {
    "max_tokens counts": (ask(body={"max_tokens": 5}), ask(body={"max_tokens": 500}), (0, 0, 0, 0)),
    "vendor parameters count": (ask(body={"num_ctx": 2048}), ask(body={"num_ctx": 8192}), (0, 0, 0, 0)),
    "instructions count": (_responses(instructions="Rhyme."), _responses(instructions="Shout."), (0, 0, 0, 0)),
    "teams are apart": (ask(team="a", key_id="1"), ask(team="b", key_id="2"), (0, 0, 0, 0)),
    "another question is another": (ask("Hello world"), ask("What is 1+1?"), (0, 0, 0, 0)),
    "on is not off": (ask("Turn on the light"), ask("Turn off the light"), (0, 0, 0, 0)),
    "paths keep their case": (ask("Get /Path?q=A"), ask("Get /path?q=a"), (0, 0, 0, 0)),
    "order of keys does not count": (
        {"request": {"model": "m", "messages": [], "seed": 1}}, {"request": {"seed": 1, "messages": [], "model": "m"}},
        (1, 1, 1, 1),
    ),
    "order of tools counts": (ask(body={"tools": TOOLS}), ask(body={"tools": TOOLS[::-1]}), (0, 0, 0, 0)),
    "another user's answer": (ask(key_id="1", user="a"), ask(key_id="2", user="a"), (0, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other", "shared"), PAIRS.values(), ids=PAIRS)
def test_two_requests_share_what_they_may(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], shared: tuple[int, ...]
) -> None:
    found = run(write(tmp_path / "log", [{**one, "ts": 1.0}, {**other, "ts": 2.0}]))
    assert found.eligible == 2
    assert tuple(level.hits for level in found.levels.values() if level is not None) == shared


def test_shuffled_tools_are_named_as_the_cause(tmp_path: Path) -> None:
    orders = [TOOLS, TOOLS[::-1], TOOLS[1:] + TOOLS[:1], TOOLS[2:] + TOOLS[:2]]
    rows = [ask(at=n, body={"tools": tools}) for n, tools in enumerate(orders)]
    misses = run(write(tmp_path / "log", rows)).misses
    assert misses is not None
    assert [(m.causes[0].what, m.causes[0].where, m.requests, m.gain) for m in misses.causes] == [
        ("the order of tools", "$.tools", 3, 0.75)
    ]


def test_an_omitted_temperature_is_sampled_and_shown_apart(tmp_path: Path) -> None:
    rows = [ask("a", at=0), ask("a", at=1), ask("b", at=2, body={"temperature": 0})]
    assert run(write(tmp_path / "log", rows)).sampled == {"deterministic": (1, 0), "sampled": (2, 1)}


def test_rates_of_blocks_tokens_and_requests_are_three_numbers(tmp_path: Path) -> None:
    # One and a half blocks shared of two: blocks 1/4 of all references, tokens of whole blocks only.
    rows = [
        {"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [0, 1]},
        {"timestamp": 1000, "input_length": 768, "output_length": 1, "hash_ids": [0, 2]},
    ]
    found = run(write(tmp_path / "log", rows)).prefix
    assert found is not None
    assert (found.block_rate, found.token_rate) == (0.25, pytest.approx(512 / 1792))
    assert (found.request_mean_rate, found.whole_request_rate) == (0.25, 0.0)


def test_hits_come_from_the_word_of_a_cache_in_an_access_log(tmp_path: Path) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    rows = [
        {"msec": 10.0 + n, "request_time": 0.5, "request_method": "POST", "uri": "/v1/chat/completions", "status": 200,
         "upstream_cache_status": "HIT" if n else "MISS", "request_body": body}
        for n in range(3)
    ]  # fmt: skip
    found = run(write(tmp_path / "log", rows))
    assert any("2 requests were served by a cache already" in w for w in found.warnings)
