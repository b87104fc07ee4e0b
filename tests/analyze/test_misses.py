"""Causes that were planted are found: where, of what kind, and how much they hide."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeinf.analyze.misses import Misses
from edgeinf.analyze.synthetic import Cause, LogPlan, Template, write_log
from tests.analyze.making import ask, run, write

# What a planted cause is called in the report, and the JSON path it is planted at.
FOUND = {
    "clock": ("timestamp", "$.messages[0].content"),
    "request-id": ("request-id", "$.messages[0].content"),
    "uuid": ("uuid", "$.messages[0].content"),
    "name": ("span", "$.messages[0].content"),
    "tools": ("order", "$.tools"),
    "field": ("uuid", "$.x_request_tag"),
    "seed": ("value", "$.seed"),
    "user-clock": ("timestamp", "$.messages[-1].content"),
}
KINDS = st.lists(st.sampled_from(sorted(FOUND)), min_size=2, max_size=4, unique=True)
SITES = st.sampled_from(["start", "middle", "end"])


def _misses(path: Path) -> Misses:
    found = run(path).misses
    assert found is not None
    return found


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(kinds=KINDS, sites=st.lists(SITES, min_size=4, max_size=4), seed=st.integers(0, 1000))
def test_planted_causes_are_found_in_the_planted_order(kinds: list[str], sites: list[str], seed: int) -> None:
    templates = [
        Template(
            name=f"app-{kind}",
            weight=2.0 ** (len(kinds) - number),
            cause=Cause(kind=kind, site=site),  # type: ignore[arg-type]
            tools=4 if kind == "tools" else 0,
        )
        for number, (kind, site) in enumerate(zip(kinds, sites, strict=False))
    ]
    plan = LogPlan(requests=2_500, seed=seed, templates=tuple(templates), intents=60, casing=0.0, damage=0.01)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("wb") as file:
            planted = write_log(plan, file)
        misses = _misses(path)
    # One gain per path and kind: the two that a clock and a request id plant share a path but not a kind.
    gains = {(m.causes[0].kind, m.causes[0].where): m.gain for m in misses.causes if len(m.causes) == 1}
    wanted = {FOUND[kind]: planted.recoverable[f"app-{kind}"] / plan.requests for kind in kinds}
    assert {key: pytest.approx(gain, abs=0.005) for key, gain in wanted.items()} == {k: gains.get(k) for k in wanted}
    order = sorted(wanted, key=lambda key: -wanted[key])
    apart = all(wanted[a] - wanted[b] > 0.01 for a, b in pairwise(order))
    if apart:
        assert [key for key in gains if key in wanted] == order


def test_another_question_is_no_cause(tmp_path: Path) -> None:
    rows = [ask(f"What is {n} plus {n + 1}?", at=n) for n in range(50)]
    misses = _misses(write(tmp_path / "log", rows))
    assert (misses.causes, misses.another_question) == ([], 49)


def test_what_expired_is_told_from_what_differs(tmp_path: Path) -> None:
    rows = [ask(at=0), ask(at=90_000), ask(at=90_001)]
    misses = _misses(write(tmp_path / "log", rows))
    assert (misses.expired, misses.causes) == (1, [])


def test_secrets_in_examples_are_masked(tmp_path: Path) -> None:
    keys = ("sk-abcdefghijklmnop1234", "sk-zyxwvutsrqponmlk9876")
    rows = [ask(system=f"Use the key {key} for all calls.", at=n) for n, key in enumerate(keys)]
    miss = _misses(write(tmp_path / "log", rows)).causes[0]
    assert all(key not in miss.a + miss.b for key in keys)
