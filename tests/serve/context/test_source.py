"""Documents as prompts use them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from edgeinf.core import tokens
from edgeinf.core.config.schema import Context, Region, Vectors
from edgeinf.core.errors import ConfigError
from edgeinf.mock import MockOrigin
from edgeinf.serve.context.search import Hit
from edgeinf.serve.context.source import Source, cited
from edgeinf.serve.origin.pool import Connections
from edgeinf.serve.origin.region import make_origin
from tests.serve.context.meaning import CRATE, meaning, of_the_documents

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
    assert "end of that day" in (await source.context_for("expiry of a key", Connections())).text
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
    assert "apples" in (await source.context_for("apples", Connections())).text
    assert len(caplog.records) == 1


# --- with vectors ---


async def test_documents_are_another_version_once_they_are_embedded(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use(meaning())
    context = Context(source=of_the_documents(tmp_path), top_k=1, vectors=Vectors(model="e"))
    client = Connections()
    source = Source(context, tmp_path, (make_origin(Region(name="here", url=origin.url)),))
    before = source.version
    assert (await source.context_for(CRATE, client)).text == ""
    await source.tend(client)
    assert source.version != before
    found = await source.context_for(CRATE, client)
    assert "A parcel can be sent back" in found.text
    assert found.settled
    await client.aclose()


async def test_vectors_are_asked_of_the_region_that_is_named_or_the_first_that_can(tmp_path: Path) -> None:
    docs = of_the_documents(tmp_path)
    other = make_origin(Region(name="other", url="http://127.0.0.1:9", serves=("anthropic",)))
    for vectors in (Vectors(model="e"), Vectors(model="e", region="other"), Vectors(model="e", region="none")):
        with pytest.raises(ConfigError, match="no region makes"):
            Source(Context(source=docs, vectors=vectors), None, (other,))
