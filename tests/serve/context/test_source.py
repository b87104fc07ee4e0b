"""Documents as prompts use them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from edgeinf.core import tokens
from edgeinf.core.config.schema import Context
from edgeinf.serve.context.search import Hit
from edgeinf.serve.context.source import Source, cited

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook"


def hit(number: int, size: int) -> Hit:
    """Return a passage of so many words."""
    return Hit(id=number, path=f"{number}.md", heading="H", line=1, text="word " * size, score=1.0)


@pytest.mark.parametrize("budget", [50, 200, 1500])
def test_the_budget_is_never_exceeded(budget: int) -> None:
    text = cited([hit(n, 60) for n in range(10)], budget)
    assert tokens.estimate(text) <= budget


def test_a_passage_too_long_makes_room_for_the_next() -> None:
    text = cited([hit(1, 1000), hit(2, 10)], 200)
    assert "[1] 2.md, H (line 1)" in text
    assert "1.md" not in text


def test_nothing_found_says_nothing() -> None:
    assert cited([], 1000) == ""


async def test_an_index_made_before_is_used_as_it_is(tmp_path: Path) -> None:
    from edgeinf.serve.context.index import Index

    path = tmp_path / "handbook.sqlite"
    made = Index(path)
    made.update(HANDBOOK)
    made.close()
    source = Source(Context(source=path, top_k=1), None)
    assert "end of that day" in await source.context_for("expiry of a key")
    source.look()
    assert source.version == source.index.version()


async def test_documents_that_go_away_leave_the_last_index(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("apples are red")
    source = Source(Context(source=folder, top_k=1), tmp_path)
    (folder / "a.md").unlink()
    folder.rmdir()
    with caplog.at_level(logging.WARNING):
        source.look()
        source.look()
    assert "apples" in await source.context_for("apples")
    assert len(caplog.records) == 1
