"""Segments and reasons."""

from __future__ import annotations

from pathlib import Path

from tests.analyze.making import ask, run, write


def test_segments_split_the_hits(tmp_path: Path) -> None:
    rows = [ask("a", at=0, tenant="t", route="x"), ask("a", at=1, tenant="t", route="x"), ask("a", at=3700, tenant="w")]
    found = run(write(tmp_path / "log", rows)).segments
    tenants, hours = found["tenant"], found["hour"]
    assert tenants is not None
    assert hours is not None
    assert [(s.value, s.requests, s.hits) for s in tenants] == [("t", 2, 1), ("w", 1, 0)]
    assert [(s.value, s.requests, s.hits) for s in hours] == [(10, 2, 1), (11, 1, 0)]


def test_reasons_say_why_requests_are_not_eligible(tmp_path: Path) -> None:
    rows = [
        ask(at=0),
        ask(at=1, body={"store": True}),
        ask(at=2, body={"web_search_options": {}}),
        ask(at=3, body={"n": 0}),
        ask(at=4, path="/v1/images/generations"),
    ]
    found = run(write(tmp_path / "log", rows))
    assert found.eligible == 1
    assert found.reasons == {"store": 1, "web-search": 1, "refused (invalid_value)": 1, "opaque": 1}
