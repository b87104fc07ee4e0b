"""Embeddings on disk."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from edgeinf.core.errors import ConfigError
from edgeinf.serve.context.embedder import VectorsFailed
from edgeinf.serve.context.vector_store import VectorStore, path_beside


def of(*values: float) -> bytes:
    """Return a vector."""
    return struct.pack(f"<{len(values)}f", *values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "context" / "docs.vectors"


def test_what_was_kept_is_there_after_a_restart(path: Path) -> None:
    store = VectorStore(path)
    store.add([(b"a", of(1, 0)), (b"b", of(0, 1))])
    store.add_question(b"q", of(1, 1))
    store.close()
    again = VectorStore(path)
    assert again.missing([b"c", b"a", b"c", b"b"]) == [b"c"]
    assert again.question(b"q") == of(1, 1)
    assert again.question(b"r") is None
    assert again.nearest(of(0.1, 5), 5) == [b"b", b"a"]
    assert again.nearest(of(0.1, 5), 1) == [b"b"]


def test_the_version_tells_when_passages_come_and_go_and_no_question_changes_it(path: Path) -> None:
    store, other = VectorStore(path), VectorStore(path)
    assert store.version() == 0
    assert store.nearest(of(1, 0), 5) == []
    other.add([(b"a", of(1, 0)), (b"b", of(0, 1))])
    seen = [store.version()]
    other.add_question(b"q", of(1, 1))
    other.keep_only([b"a", b"b"])
    assert store.version() == seen[0] != 0
    other.keep_only([b"b"])
    assert store.version() != seen[0]
    assert store.nearest(of(1, 0), 5) == [b"b"]


def test_adding_a_passage_twice_keeps_it_once(path: Path) -> None:
    store = VectorStore(path)
    store.add([(b"a", of(1, 0)), (b"a", of(1, 0))])
    store.add([(b"a", of(1, 0))])
    assert store.nearest(of(1, 0), 5) == [b"a"]


def test_vectors_of_another_width_replace_all(path: Path) -> None:
    store = VectorStore(path)
    store.add([(b"a", of(1, 0)), (b"b", of(0, 1))])
    store.add_question(b"q", of(1, 1))
    with pytest.raises(VectorsFailed, match="3 values now, 2 before"):
        store.nearest(of(1, 0, 0), 5)
    store.add([(b"a", of(1, 0, 0))])
    assert store.nearest(of(1, 0, 0), 5) == [b"a"]
    assert store.missing([b"a", b"b"]) == [b"b"]
    assert store.question(b"q") is None


def test_questions_are_bounded_and_the_oldest_go_first() -> None:
    store = VectorStore(None, most_questions=3)
    names = [bytes([n]) for n in range(10)]
    for name in names:
        store.add_question(name, of(1))
        store.add_question(name, of(1))
    kept = [name for name in names if store.question(name)]
    assert names[-1] in kept
    assert kept == names[len(names) - len(kept) :]
    assert len(kept) <= 3


def test_one_at_a_time_adds_passages(path: Path) -> None:
    store, other = VectorStore(path), VectorStore(path)
    with store.alone() as first, other.alone() as second:
        assert (first, second) == (True, False)
    with other.alone() as free:
        assert free
    with VectorStore(None).alone() as free:
        assert free


@pytest.mark.parametrize("name", ["apsw", "sqlite_vec"])
def test_without_the_extra_it_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError) as caught:
        VectorStore(None)
    assert caught.value.hint == "pip install 'edgeinf[vectors]'"


def test_a_file_that_is_something_else_is_said_at_the_start(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, " * 100)
    with pytest.raises(ConfigError, match="cannot use the embeddings"):
        VectorStore(path)
    with pytest.raises(ConfigError, match="cannot use the embeddings"):
        VectorStore(path / "below")


def test_each_model_has_its_own_file_beside_the_index(tmp_path: Path) -> None:
    one, other = (path_beside(tmp_path / "docs.sqlite", model) for model in ("org/a:1", "b"))
    assert one != other
    assert one.parent == other.parent == tmp_path
    assert one.suffix == other.suffix == ".vectors"
