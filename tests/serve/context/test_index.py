"""The index follows its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgeinf.core.errors import ConfigError, UsageError
from edgeinf.serve.context.index import Index, default_path
from edgeinf.serve.context.search import search


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two documents."""
    made = tmp_path / "docs"
    made.mkdir()
    (made / "a.md").write_text("# A\n\napples are red")
    (made / "b.md").write_text("# B\n\nbananas are yellow")
    return made


def write(path: Path, text: str) -> None:
    """Write a file so that it is another for whoever looks at its time."""
    path.write_text(text)
    later = path.stat().st_mtime_ns + 10_000_000
    os.utime(path, ns=(later, later))


def test_an_update_writes_what_changed_and_the_version_follows_the_content(folder: Path) -> None:
    index = Index(None)
    assert index.update(folder).changed == 2
    first = index.version()
    assert index.update(folder).changed == 0
    write(folder / "a.md", "# A\n\napples are green")
    assert index.update(folder).changed == 1
    assert index.version() != first
    assert search(index, "green", 3)[0].path == "a.md"
    write(folder / "a.md", "# A\n\napples are red")
    index.update(folder)
    assert index.version() == first


def test_a_touched_file_is_no_change(folder: Path) -> None:
    index = Index(None)
    index.update(folder)
    before = index.version()
    write(folder / "a.md", (folder / "a.md").read_text())
    assert index.update(folder).changed == 0
    assert index.version() == before


def test_a_removed_file_is_forgotten(folder: Path) -> None:
    index = Index(None)
    index.update(folder)
    (folder / "b.md").unlink()
    assert index.update(folder).files == 1
    assert search(index, "bananas", 3) == []


def test_an_index_on_disk_is_used_again_and_by_two_at_once(folder: Path, tmp_path: Path) -> None:
    path = default_path(folder, tmp_path)
    first, second = Index(path), Index(path)
    assert first.update(folder).changed == 2
    assert second.update(folder).changed == 0
    assert second.version() == first.version()
    first.close()
    assert search(second, "apples", 1)[0].text == "apples are red"


def test_one_file_is_a_folder_of_one(folder: Path) -> None:
    index = Index(None)
    index.update(folder / "a.md")
    assert [hit.path for hit in search(index, "apples bananas", 3)] == ["a.md"]


def test_what_is_no_index_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"not a database, surely" * 100)
    with pytest.raises(ConfigError, match="cannot use the index"):
        Index(path)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        Index(None).update(tmp_path / "none")


def test_text_that_is_not_utf8_is_read_as_well_as_can_be(folder: Path) -> None:
    (folder / "c.txt").write_bytes(b"caf\xe9 and cherries")
    index = Index(None)
    index.update(folder)
    assert search(index, "cherries", 1)[0].path == "c.txt"
