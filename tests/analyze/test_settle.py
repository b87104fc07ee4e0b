"""Fingerprints and true keys count the same."""

from __future__ import annotations

import io
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeinf.analyze import scan
from edgeinf.analyze.levels import run_level
from edgeinf.analyze.log import Log, gather
from edgeinf.analyze.options import Options
from edgeinf.analyze.scopes import scoped
from edgeinf.analyze.settle import settle
from edgeinf.analyze.source import open_sources
from edgeinf.analyze.synthetic import CAUSES, Cause, LogPlan, Template, write_log
from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.normalize.levels import LEVELS
from tests.analyze.making import ask, write
from tests.core.normalize.texts import nasty_texts

NAMES = tuple(LEVELS)
# Few texts, each in spellings that some level takes for one: so that fingerprints are shared, rightly and wrongly.
SAME = ["Hi there", "hi  there.", "HI THERE", "'Hi' there", "hithere", "Ｈi there", "hi\n there", "`Hi` there?"]
CLOCKS = ["It is 2026-11-01T10:00:00Z.", "It is 2026-11-02 11:00.", "it  is 10:30", "Request ID: 8f3a9", "Be kind."]


def _row(kind: int, system: str, question: str, at: float, tenant: str) -> dict[str, Any]:
    if kind == 1:
        content: Any = [{"type": "text", "text": question}]
        return {**ask(at=at, body={"messages": [{"role": "user", "content": content}]}), "tenant": tenant}
    if kind == 2:
        said = [{"role": "user", "content": question}]
        body = {"model": "claude-3", "max_tokens": 9, "system": system, "messages": said}
        return {"ts": 1793527200.0 + at, "tenant": tenant, "path": "/v1/messages", "request": body}
    if kind == 3:
        body = {"model": "embed", "input": [question, system, question]}
        return {"ts": 1793527200.0 + at, "tenant": tenant, "path": "/v1/embeddings", "request": body}
    return ask(question, at=at, system=system, tenant=tenant)


ROWS = st.lists(
    st.builds(
        _row,
        st.sampled_from([0, 0, 0, 1, 2, 3]),
        st.sampled_from(CLOCKS) | nasty_texts,
        st.sampled_from(SAME) | nasty_texts,
        st.integers(0, 200).map(float),
        st.sampled_from(["a", "b"]),
    ),
    min_size=2,
    max_size=14,
)


def _read(path: Path, options: Options, *, coarse: bool, workers: int = 1) -> tuple[Log, int]:
    with ExitStack() as stack:
        sources = open_sources((str(path),), stack)
        plan = scan.ScanPlan(
            sources=sources, format="edgeinf-generic", levels=options.levels, masks=options.masks, coarse=coarse
        )
        with scan.Crew(plan, workers) as crew:
            log = gather(plan, scan.batches(crew))
            return log, settle(log, options, crew) if coarse else 0


def _first_alike(ids: Any) -> list[int]:
    """Return for each part the first that has the same key."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    return list(first[inverse])


def _same(path: Path, options: Options) -> int:
    true, _ = _read(path, options, coarse=False)
    found, again = _read(path, options, coarse=True)
    # Repeats are counted at the leading level as if everybody shared.
    for name, scope in [*((name, options.scope) for name in options.levels), (options.level, "shared")]:
        a = run_level(true, name, scoped(true, scope), options)
        b = run_level(found, name, scoped(found, scope), options)
        assert np.array_equal(a.hit, b.hit), (name, scope)
        assert np.array_equal(a.coalesced, b.coalesced), (name, scope)
        assert a.unique == b.unique, (name, scope)
        assert _first_alike(a.ids) == _first_alike(b.ids), (name, scope)
    return again


@pytest.mark.parametrize("level", ["safe", "masked"])
@pytest.mark.parametrize("masks", [None, ("user:timestamps", "uuids")], ids=["default", "own"])
@settings(deadline=None, max_examples=60)
@example(rows=[_row(0, "Be kind.", text, at, "a") for at, text in enumerate(SAME)], ttl_s=50.0)
@example(rows=[_row(0, text, "Hi", at, "a") for at, text in enumerate(CLOCKS)], ttl_s=3.0)
@given(rows=ROWS, ttl_s=st.sampled_from([3.0, 40.0, 100.0, 1e6, float("inf")]))
def test_any_log_has_the_same_hits(
    level: str, masks: tuple[str, ...] | None, rows: list[dict[str, Any]], ttl_s: float
) -> None:
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "log", rows)
        _same(path, Options(files=(), level=level, masks=masks, policy=CachePolicy(ttl_s=ttl_s, ttl_jitter=0.5)))


@pytest.mark.parametrize("ttl_s", [20.0, 300.0, 1e9])
def test_a_planted_log_has_the_same_hits_and_few_requests_are_read_again(tmp_path: Path, ttl_s: float) -> None:
    templates = tuple(
        Template(name=f"app-{kind}", cause=Cause(kind=kind), tools=2 if kind == "tools" else 0)  # type: ignore[arg-type]
        for kind in CAUSES
    )
    file = io.BytesIO()
    write_log(LogPlan(requests=1_500, templates=(Template(name="faq", weight=3), *templates), damage=0.01), file)
    (tmp_path / "log").write_bytes(file.getvalue())
    again = _same(tmp_path / "log", Options(files=(), policy=CachePolicy(ttl_s=ttl_s)))
    assert 0 < again < 1_500 * 0.6


def test_what_is_alike_in_its_fingerprint_alone_is_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [ask("Hi there"), ask("hithere", at=1), ask("hi  there.", at=2)])
    log, again = _read(path, Options(files=()), coarse=True)
    keys = log.keys["loose"].tolist()
    assert again == 3
    assert keys[0] == keys[2] != keys[1]


def test_several_processes_find_the_same_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_PARALLEL_BYTES", 0)
    path = write(tmp_path / "log", [ask(text, at=at) for at, text in enumerate(SAME * 3)])
    true, _ = _read(path, Options(files=()), coarse=False)
    found, again = _read(path, Options(files=()), coarse=True, workers=2)
    assert again > 2
    for name in NAMES:
        assert _first_alike(found.keys[name]) == _first_alike(true.keys[name])
