"""The installation's secret: one for all processes, kept, and nobody else's to read."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Cache, Config, Disk, Events
from edgeinf.serve.secret import event_secret


def config(folder: Path | None, disk: Path | None = None, secret: str | None = None) -> Config:
    return replace(
        Config(),
        events=Events(
            file=None if folder is None else folder / "events.jsonl",
            key_secret=None if secret is None else Secret(secret),
        ),
        cache=Cache(disk=None if disk is None else Disk(path=disk)),
    )


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    first = event_secret(config(tmp_path / "state"))
    assert len(first) == 32
    assert event_secret(config(tmp_path / "state")) == first
    assert event_secret(config(tmp_path / "other")) != first
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["key_secret"]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    event_secret(config(tmp_path / "state"))
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / "key_secret").stat().st_mode) == 0o600


def test_without_events_it_is_kept_beside_the_cache_and_else_not_at_all(tmp_path: Path) -> None:
    beside = config(None, disk=tmp_path / "cache")
    assert event_secret(beside) == event_secret(beside)
    nowhere = config(None)
    assert event_secret(nowhere) != event_secret(nowhere)


def test_a_configured_one_is_the_same_on_every_node(tmp_path: Path) -> None:
    one = event_secret(config(tmp_path / "a", secret="of the fleet"))
    assert one == event_secret(config(tmp_path / "b", secret="of the fleet"))
    assert one != event_secret(config(tmp_path / "b", secret="of another"))
    assert b"of the fleet" not in one
    assert not (tmp_path / "a").exists()


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: event_secret(config(tmp_path / "state")), range(64)))
    assert len(found) == 1


def test_what_a_process_left_that_died_does_not_matter(tmp_path: Path) -> None:
    """In a container every process has the number that the last one had."""
    tmp_path.joinpath(f"key_secret.{os.getpid()}").write_bytes(b"half")
    assert event_secret(config(tmp_path)) == event_secret(config(tmp_path))


def test_one_that_is_there_is_used_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = event_secret(config(tmp_path))

    def read_only(path: object, flags: int, mode: int = 0o777, **more: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", read_only)
    monkeypatch.setattr("os.link", read_only)
    assert event_secret(config(tmp_path)) == kept


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_one_that_is_damaged_is_not_used(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key_secret").write_bytes(content)
    found = event_secret(config(tmp_path))
    assert len(found) == 32
    assert (tmp_path / "key_secret").read_bytes() == content  # somebody may want to look at it


def test_where_no_folder_can_be_made_the_server_starts_all_the_same_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    assert len(event_secret(config(tmp_path / "file" / "state"))) == 32
    assert "key_secret cannot be kept: not a directory" in caplog.text
