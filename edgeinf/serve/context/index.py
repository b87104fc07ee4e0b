"""An index of documents in SQLite: full text with FTS5, brought up to date file by file.

One transaction per update, so a reader sees the old state or the new one; several processes may share the file.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from edgeinf.core.errors import ConfigError, UsageError
from edgeinf.serve.context.passages import documents, split

__all__ = ["Index", "Updated", "default_path", "to_embed"]

# Raise when the tables or the splitting change; an index of another format is built anew.
_FORMAT = "3"
_BUSY_S = 10.0

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, mtime INTEGER, size INTEGER, digest BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(
  title, body, path UNINDEXED, heading UNINDEXED, line UNINDEXED,
  tokenize = "porter unicode61 remove_diacritics 2"
);
"""


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    """What an update did."""

    files: int
    passages: int
    changed: int


def default_path(folder: Path, cache: Path) -> Path:
    """Return where the index of a folder is kept."""
    name = hashlib.blake2b(str(folder.resolve()).encode(), digest_size=8).hexdigest()
    return cache / "context" / f"{folder.resolve().name or 'root'}-{name}.sqlite"


def to_embed(title: str, body: str) -> str:
    """Return the text that stands for a passage's meaning."""
    return f"{title}\n{body}"


class Index:
    """The index of one folder. Methods may be called from any thread, one at a time."""

    def __init__(self, path: Path | None) -> None:
        """Open an index file, making it where there is none; None keeps it in memory. Raise ConfigError."""
        self.lock = threading.RLock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.db = sqlite3.connect(
                ":memory:" if path is None else path, timeout=_BUSY_S, check_same_thread=False, isolation_level=None
            )
            # A reload leaves the index to the requests that still use it; it closes with the last of them.
            weakref.finalize(self, self.db.close)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"cannot use the index {path}: {error}", hint="remove it, and it is built anew") from None

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            self.db.close()

    def version(self) -> int:
        """Return a number that is another for every other content."""
        with self.lock:
            row = self.db.execute("SELECT value FROM meta WHERE name = 'content'").fetchone()
        return int(row[0], 16) if row is not None else 0

    def counts(self) -> Updated:
        """Return how much is in the index."""
        with self.lock:
            files = self.db.execute("SELECT count(*) FROM files").fetchone()[0]
            passages = self.db.execute("SELECT count(*) FROM passages").fetchone()[0]
        return Updated(files=files, passages=passages, changed=0)

    def contents(self) -> list[tuple[int, str]]:
        """Return the row and the text to embed of every passage."""
        with self.lock:
            rows = self.db.execute("SELECT rowid, title, body FROM passages ORDER BY rowid").fetchall()
        return [(row, to_embed(title, body)) for row, title, body in rows]

    def update(self, folder: Path) -> Updated:
        """Bring the index up to date with a folder. Raise UsageError where that cannot be read."""
        if not folder.exists():
            raise UsageError(f"there is no folder {folder}", hint="name a folder of text files, or one file")
        with self.lock:
            known = {
                path: (mtime, size) for path, mtime, size in self.db.execute("SELECT path, mtime, size FROM files")
            }
            present = {}
            for path in documents(folder):
                status = path.stat()
                name = path.name if path == folder else path.relative_to(folder).as_posix()
                present[name] = (path, status.st_mtime_ns, status.st_size)
            stale = [name for name, (_, *seen) in present.items() if known.get(name) != tuple(seen)]
            gone = [name for name in known if name not in present]
            changed = self._write(present, stale, gone) if stale or gone else 0
            return msgspec.structs.replace(self.counts(), changed=changed)

    def _write(self, present: dict[str, tuple[Path, int, int]], stale: Sequence[str], gone: Sequence[str]) -> int:
        changed = len(gone)
        db = self.db
        with closing(db.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                for name in gone:
                    cursor.execute("DELETE FROM passages WHERE path = ?", (name,))
                    cursor.execute("DELETE FROM files WHERE path = ?", (name,))
                for name in stale:
                    changed += self._write_file(cursor, name, *present[name])
                rows = cursor.execute("SELECT path, digest FROM files ORDER BY path").fetchall()
                content = hashlib.blake2b(repr(rows).encode(), digest_size=8).hexdigest()
                cursor.execute("INSERT OR REPLACE INTO meta VALUES ('content', ?)", (content,))
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
        return changed

    def _write_file(self, cursor: sqlite3.Cursor, name: str, path: Path, mtime: int, size: int) -> int:
        """Write one file's passages; return whether its content is another than before."""
        raw = path.read_bytes()
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        before = cursor.execute("SELECT digest FROM files WHERE path = ?", (name,)).fetchone()
        cursor.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (name, mtime, size, digest))
        if before is not None and before[0] == digest:
            return 0
        cursor.execute("DELETE FROM passages WHERE path = ?", (name,))
        place = name.rpartition(".")[0].replace("/", " ").replace("-", " ").replace("_", " ")
        for passage in split(raw.decode("utf-8", "replace"), path.suffix):
            cursor.execute(
                "INSERT INTO passages VALUES (?, ?, ?, ?, ?)",
                (f"{place} {passage.heading}", passage.text, name, passage.heading, passage.line),
            )
        return 1

    def _prepare(self) -> None:
        self.db.executescript(_TABLES)
        row = self.db.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        if row is not None and row[0] != _FORMAT:
            self.db.executescript("DROP TABLE passages; DROP TABLE files; DELETE FROM meta;")
            self.db.executescript(_TABLES)
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (_FORMAT,))
