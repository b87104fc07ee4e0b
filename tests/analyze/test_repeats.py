"""Who repeats whom, counted on a log small enough to see."""

from __future__ import annotations

from pathlib import Path

from tests.analyze.making import ask, run, write

ROWS = [
    ask("a", at=0, tenant="t", user="u", session="s"),
    ask("a", at=1, tenant="t", user="u", session="s"),  # same session, right after
    ask("a", at=2, tenant="t", user="u", session="r"),  # same user, right after
    ask("b", at=3, tenant="t", user="v", session="q"),
    ask("a", at=4, tenant="t", user="v", session="q"),  # same tenant
    ask("b", at=5, tenant="w", user="v", session="q"),  # another tenant, though the names are the same
]


def test_each_repeat_counts_under_its_nearest_relation(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", ROWS)).repeats
    assert found is not None
    assert (found.repeats, found.same_session, found.same_user) == (4, 0.25, 0.25)
    assert (found.same_tenant, found.across_tenants, found.consecutive) == (0.25, 0.25, 0.5)
    assert found.top10_share == 1.0


def test_what_the_log_does_not_name_is_none(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", [ask(at=0), ask(at=1)])).repeats
    assert found is not None
    assert (found.same_session, found.same_user, found.same_tenant, found.across_tenants) == (None,) * 4


def test_top_questions_come_with_what_they_save(tmp_path: Path) -> None:
    rows = [ask("often?", at=n, input_tokens=10, output_tokens=5, cost_usd=0.1) for n in range(3)]
    top = run(write(tmp_path / "log", [*rows, ask("once", at=9)])).top
    assert [(t.requests, t.hits, t.tokens, round(t.usd or 0, 6), text) for t, text in top] == [
        (3, 2, 30, 0.2, "often?")
    ]
