"""What each tool's key puts together and what it keeps apart, as its note says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.analyze.gateways import by_name, gateways
from edgeinf.core.errors import UsageError
from tests.analyze.making import ask, run, write

FIRST = ask(at=0, tenant="a", body={"temperature": 0, "stream": False})
REORDERED = {**FIRST, "request": dict(reversed(FIRST["request"].items())), "ts": 1793527201}
PAIRS: dict[str, dict[str, Any]] = {
    "the same": {**FIRST, "ts": 1793527201},
    "another caller": {**FIRST, "tenant": "b", "ts": 1793527201},
    "order of keys": REORDERED,
    "a vendor parameter": {**FIRST, "request": {**FIRST["request"], "num_ctx": 8192}, "ts": 1793527201},
    "stream": {**FIRST, "request": {**FIRST["request"], "stream": True}, "ts": 1793527201},
    "another system prompt": ask(at=1, tenant="a", system="Other.", body={"temperature": 0, "stream": False}),
}
HITS = {
    "cloudflare": {"the same"},
    "helicone": {"the same"},
    "openrouter": {"the same"},
    "portkey": {"the same", "another caller"},
    "litellm": {"the same", "another caller", "a vendor parameter"},
    "tensorzero": {"the same", "another caller", "order of keys"},
    "higress": set(PAIRS),
}


@pytest.mark.parametrize("name", HITS)
@pytest.mark.parametrize("pair", PAIRS)
def test_who_shares_an_answer(tmp_path: Path, name: str, pair: str) -> None:
    found = run(write(tmp_path / "log", [FIRST, PAIRS[pair]]), gateways=(name,)).gateways[0]
    assert (found.hits == 1) == (pair in HITS[name])


def test_every_gateway_is_dated_and_tried_here() -> None:
    assert set(HITS) == set(gateways())
    assert all(g.dated and g.note for g in gateways().values())


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refusal:
        by_name("litelm")
    assert refusal.value.hint == "did you mean 'litellm'?"
