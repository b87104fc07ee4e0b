"""Words and meaning in one ranking."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.schema import Region
from edgeinf.mock import MockOrigin
from edgeinf.serve.context.hybrid import find, fuse
from edgeinf.serve.context.index import Index
from edgeinf.serve.context.search import Hit, search
from edgeinf.serve.context.vectors import Vectors
from edgeinf.serve.origin.pool import Connections
from edgeinf.serve.origin.region import make_origin
from tests.serve.context.meaning import CRATE, embedded, meaning, of_the_documents


def hits(numbers: list[int]) -> list[Hit]:
    """Return passages in this order."""
    return [Hit(id=n, path="a.md", heading="", line=1, text="", score=0.0) for n in numbers]


RANKINGS = [
    pytest.param([1, 2, 3], [], [1, 2, 3], id="words-alone"),
    pytest.param([], [1, 2, 3], [1, 2, 3], id="meaning-alone"),
    pytest.param([1, 2], [3, 2], [2, 1, 3], id="in-both-beats-first-in-one"),
    pytest.param([1], [2], [1, 2], id="level-words-first"),
    pytest.param([1, 2, 3], [3, 2, 1], [1, 3, 2], id="first-and-third-beat-twice-second"),
]


@pytest.mark.parametrize(("words", "meant", "best"), RANKINGS)
def test_ranks_are_fused(words: list[int], meant: list[int], best: list[int]) -> None:
    fused = fuse((hits(words), hits(meant)), 10)
    assert [hit.id for hit in fused] == best
    assert [hit.id for hit in fuse((hits(words), hits(meant)), 1)] == best[:1]
    assert [hit.score for hit in fused] == sorted((hit.score for hit in fused), reverse=True)


def test_a_score_is_the_sum_of_the_reciprocal_ranks() -> None:
    [best] = fuse((hits([7, 1]), hits([2, 7])), 1)
    assert best.score == pytest.approx(1 / 61 + 1 / 62)


async def test_a_passage_without_a_word_of_the_question_is_found_by_its_meaning(
    tmp_path: Path, origin: MockOrigin
) -> None:
    origin.use(meaning())
    index, client = Index(None), Connections()
    index.update(of_the_documents(tmp_path))
    vectors = Vectors("e", make_origin(Region(name="here", url=origin.url)), None)
    await vectors.embed(client, index)
    vectors.read(index)
    assert search(index, CRATE, 1) == []
    found, by_meaning = await find(index, vectors, client, CRATE, 1)
    assert ([hit.path for hit in found], by_meaning) == (["returns.md"], True)
    asked = len(embedded(origin))
    assert await find(index, vectors, client, "???", 1) == ([], True)
    assert len(embedded(origin)) == asked
    origin.use({"api_key": "another"})
    found, by_meaning = await find(index, vectors, client, "How long do islands wait?", 1)
    assert ([hit.path for hit in found], by_meaning) == (["shipping.md"], False)
    await client.aclose()
