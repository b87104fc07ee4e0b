"""Embeddings kept beside an index: those of passages in a table of vectors, those of questions as they were asked.

A file of its own, on apsw: the ``sqlite3`` of many Pythons can load no extension, and two SQLite libraries in one
process must never open the same file. Several processes may share it.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeinf.core.errors import ConfigError
from edgeinf.serve.context.embedder import VectorsFailed

if TYPE_CHECKING:
    import apsw

__all__ = ["VectorStore", "path_beside"]

_BUSY_MS = 10_000
_MOST_QUESTIONS = 10_000

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS passages (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS questions (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, vector BLOB);
"""


def path_beside(index: Path, model: str) -> Path:
    """Return where the embeddings by a model of an index are kept."""
    name = hashlib.blake2b(model.encode(), digest_size=6).hexdigest()
    return index.with_name(f"{index.stem}-{name}.vectors")


class VectorStore:
    """The embeddings by one model of one index. Methods may be called from any thread; they raise VectorsFailed."""

    def __init__(self, path: Path | None, *, most_questions: int = _MOST_QUESTIONS) -> None:
        """Open the file, making it where there is none; None keeps it in memory. Raise ConfigError."""
        try:
            import apsw
            import sqlite_vec
        except ImportError:
            raise ConfigError("vectors need sqlite-vec and apsw", hint="pip install 'edgeinf[vectors]'") from None
        self._path = path
        self._most_questions = most_questions
        self._error = apsw.Error
        self._lock = threading.RLock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = apsw.Connection(":memory:" if path is None else str(path))
            self._db.set_busy_timeout(_BUSY_MS)
            self._db.enable_load_extension(True)
            self._db.load_extension(sqlite_vec.loadable_path())
            self._db.enable_load_extension(False)
            self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            with self._writing() as db:
                db.execute(_TABLES)
        except (OSError, apsw.Error, VectorsFailed) as error:
            raise ConfigError(f"cannot use the embeddings {path}: {error}", hint="remove them to make anew") from None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    def version(self) -> int:
        """Return a number that is another after any passage came or went."""
        with self._reading() as db:
            return _meta(db, "changes")

    def missing(self, digests: Iterable[bytes]) -> list[bytes]:
        """Return those passages, each once, that have no vector, in their order."""
        with self._reading() as db:
            known = {row[0] for row in db.execute("SELECT digest FROM passages")}
        return [digest for digest in dict.fromkeys(digests) if digest not in known]

    def keep_only(self, digests: Iterable[bytes]) -> None:
        """Forget the passages that are not among ``digests``."""
        keep = set(digests)
        with self._writing() as db:
            rows = db.execute("SELECT id, digest FROM passages").fetchall()
            gone = [(number,) for number, digest in rows if digest not in keep]
            if gone:
                db.executemany("DELETE FROM vectors WHERE rowid = ?", gone)
                db.executemany("DELETE FROM passages WHERE id = ?", gone)
                _changed(db)

    def add(self, passages: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep (digest, vector) of passages; vectors of another width than before replace all there are."""
        with self._writing() as db:
            width = len(passages[0][1]) // 4
            if _meta(db, "width") != width:
                db.execute("DROP TABLE IF EXISTS vectors; DELETE FROM passages; DELETE FROM questions")
                db.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{width}] distance_metric=cosine)")
                db.execute("INSERT OR REPLACE INTO meta VALUES ('width', ?)", (width,))
            for digest, vector in passages:
                if not db.execute("SELECT 1 FROM passages WHERE digest = ?", (digest,)).fetchall():
                    db.execute("INSERT INTO passages (digest) VALUES (?)", (digest,))
                    db.execute("INSERT INTO vectors (rowid, embedding) VALUES (last_insert_rowid(), ?)", (vector,))
            _changed(db)

    def nearest(self, vector: bytes, count: int) -> list[bytes]:
        """Return the digests of up to ``count`` passages, the nearest first."""
        with self._reading() as db:
            width = _meta(db, "width")
            if width == 0:
                return []
            if len(vector) != 4 * width:
                raise VectorsFailed(
                    f"the model gives {len(vector) // 4} values now, {width} before: remove {self._path}"
                )
            found = db.execute(
                "SELECT p.digest FROM (SELECT rowid, distance FROM vectors WHERE embedding MATCH ? AND k = ?) AS v "
                "JOIN passages AS p ON p.id = v.rowid ORDER BY v.distance, p.digest",
                (vector, count),
            )
            return [row[0] for row in found]

    def question(self, digest: bytes) -> bytes | None:
        """Return the vector of a question that was asked before."""
        with self._reading() as db:
            rows: list[Any] = db.execute("SELECT vector FROM questions WHERE digest = ?", (digest,)).fetchall()
        return rows[0][0] if rows else None

    def add_question(self, digest: bytes, vector: bytes) -> None:
        """Keep the vector of a question; the oldest go first."""
        with self._writing() as db:
            db.execute("INSERT OR IGNORE INTO questions (digest, vector) VALUES (?, ?)", (digest, vector))
            db.execute("DELETE FROM questions WHERE id <= (SELECT max(id) FROM questions) - ?", (self._most_questions,))

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Say whether no other process or generation is adding passages, and keep others from it for the block."""
        if self._path is None:
            yield True
            return
        import fcntl

        with self._path.with_suffix(".lock").open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    @contextlib.contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._lock:
            try:
                yield self._db
            except self._error as error:
                raise VectorsFailed(f"the embeddings {self._path} cannot be used: {error}") from None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")


def _meta(db: apsw.Connection, name: str) -> int:
    rows: list[Any] = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchall()
    return int(rows[0][0]) if rows else 0


def _changed(db: apsw.Connection) -> None:
    db.execute("INSERT INTO meta VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1")
