"""Passages embedded as they change, questions once."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Region
from edgeinf.mock import MockOrigin
from edgeinf.serve.context.embedder import VectorsFailed
from edgeinf.serve.context.index import Index
from edgeinf.serve.context.vectors import Vectors
from edgeinf.serve.origin.pool import Connections
from edgeinf.serve.origin.region import make_origin
from tests.serve.context.meaning import CRATE, embedded, meaning, of_the_documents, texts


@pytest.fixture
async def client() -> AsyncIterator[Connections]:
    made = Connections()
    yield made
    await made.aclose()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def index() -> Index:
    return Index(None)


def vectors_at(origin: MockOrigin, path: Path | None, clock: FakeClock | None = None) -> Vectors:
    """Return vectors of a model at an origin."""
    return Vectors("e", make_origin(Region(name="here", url=origin.url)), path, now=(clock or FakeClock()).monotonic)


def write(path: Path, text: str) -> None:
    """Write a file so that it is another for whoever looks at its time."""
    path.write_text(text)
    later = path.stat().st_mtime_ns + 10_000_000
    os.utime(path, ns=(later, later))


async def test_passages_are_asked_for_in_batches_and_never_again(
    tmp_path: Path, origin: MockOrigin, client: Connections, index: Index
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "many.md").write_text("\n\n".join(f"# Title {n}\n\nSentence number {n}." for n in range(70)))
    index.update(docs)
    vectors = vectors_at(origin, tmp_path / "v")
    assert await vectors.embed(client, index) == 70
    assert [len(batch) for batch in texts(origin)] == [16, 16, 16, 16, 6]
    assert await vectors.embed(client, index) == 0
    again = vectors_at(origin, tmp_path / "v")
    again.read(index)
    assert await again.embed(client, index) == 0
    assert len(texts(origin)) == 5
    [passage] = [text for text in embedded(origin) if text.endswith("number 42.")]
    hits = await again.nearest(client, index, passage, 3)
    assert hits is not None
    assert hits[0].text == "Sentence number 42."


async def test_only_what_changed_is_asked_for_and_what_is_gone_is_not_found(
    tmp_path: Path, origin: MockOrigin, client: Connections, index: Index
) -> None:
    docs = of_the_documents(tmp_path)
    index.update(docs)
    vectors = vectors_at(origin, tmp_path / "v")
    await vectors.embed(client, index)
    write(docs / "returns.md", "# Returns\n\nA parcel can be sent back within 60 days.\n")
    (docs / "same.md").write_text((docs / "shipping.md").read_text())
    index.update(docs)
    assert await vectors.embed(client, index) == 2
    assert [len(batch) for batch in texts(origin)] == [2, 2]
    vectors.read(index)
    old = next(text for text in embedded(origin) if "30 days" in text)
    hits = await vectors.nearest(client, index, old, 10)
    assert hits is not None
    assert sorted(hit.path for hit in hits) == ["returns.md", "same.md", "shipping.md"]
    assert not any("30 days" in hit.text for hit in hits)


async def test_a_row_that_is_another_passage_by_now_is_not_found(
    tmp_path: Path, origin: MockOrigin, client: Connections, index: Index
) -> None:
    docs = of_the_documents(tmp_path)
    index.update(docs)
    vectors = vectors_at(origin, None)
    await vectors.embed(client, index)
    vectors.read(index)
    index.db.execute("UPDATE passages SET body = 'of something else' WHERE path = 'returns.md'")
    hits = await vectors.nearest(client, index, "anything", 10)
    assert hits is not None
    assert [hit.path for hit in hits] == ["shipping.md"]


async def test_a_question_is_asked_once_however_many_wait(
    tmp_path: Path, origin: MockOrigin, client: Connections, index: Index
) -> None:
    origin.use({**meaning(), "headers_delay": "200ms"})
    index.update(of_the_documents(tmp_path))
    vectors = vectors_at(origin, tmp_path / "v")
    assert await vectors.nearest(client, index, CRATE, 1) == []
    assert embedded(origin) == []
    await vectors.tend(client, index)
    vectors.read(index)
    before = len(texts(origin))
    asking = [asyncio.create_task(vectors.nearest(client, index, CRATE, 1)) for _ in range(20)]
    await asyncio.sleep(0.05)
    asking[0].cancel()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert all([hit.path for hit in hits] == ["returns.md"] for hits in answers[1:])  # type: ignore[union-attr]
    restarted = vectors_at(origin, tmp_path / "v")
    restarted.read(index)
    assert await restarted.nearest(client, index, CRATE, 1) == answers[1]
    assert len(texts(origin)) == before + 1


async def test_a_region_that_fails_is_left_alone_for_a_while_and_said_once(
    tmp_path: Path,
    origin: MockOrigin,
    client: Connections,
    index: Index,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "edgeinf.context")
    origin.use({"api_key": "another"})
    index.update(of_the_documents(tmp_path))
    vectors = vectors_at(origin, tmp_path / "v", clock)
    assert await vectors.tend(client, index)
    assert not await vectors.tend(client, index)
    clock.advance(11)
    await vectors.tend(client, index)
    assert len(texts(origin)) == 2
    origin.use({})
    clock.advance(21)
    assert await vectors.tend(client, index)
    assert not await vectors.tend(client, index)
    origin.use({"api_key": "another"})
    assert await vectors.nearest(client, index, "one", 1) is None
    assert await vectors.nearest(client, index, "two", 1) is None
    assert embedded(origin)[-1] == "one"
    assert len(texts(origin)) == 4
    origin.use({})
    clock.advance(11)
    vectors.read(index)
    assert await vectors.nearest(client, index, "two", 1)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "documents are not embedded, and found by words alone",
        "documents are embedded again",
        "questions are not embedded, and documents found by words alone",
        "questions are embedded again",
    ]


async def test_a_batch_that_fails_leaves_the_ones_before(
    tmp_path: Path, origin: MockOrigin, client: Connections, index: Index
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "many.md").write_text("\n\n".join(f"# Title {n}\n\nSentence number {n}." for n in range(40)))
    index.update(docs)
    origin.use({"rules": [{"when": {"nth": 2}, "fault": "500"}]})
    vectors = vectors_at(origin, tmp_path / "v")
    with pytest.raises(VectorsFailed):
        await vectors.embed(client, index)
    assert await vectors.embed(client, index) == 24


async def test_another_process_that_embeds_is_waited_for(
    tmp_path: Path, origin: MockOrigin, client: Connections, index: Index
) -> None:
    index.update(of_the_documents(tmp_path))
    one, other = vectors_at(origin, tmp_path / "v"), vectors_at(origin, tmp_path / "v")
    with one.store.alone():
        assert await other.embed(client, index) is None
        assert await other.tend(client, index)
    assert texts(origin) == []
    assert await other.tend(client, index)
    assert len(texts(origin)) == 1
