"""One process or several, one chunk or many: the same columns."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from edgeinf.analyze import scan
from edgeinf.analyze.log import gather
from edgeinf.analyze.source import Chunk, chunks, open_sources
from edgeinf.analyze.synthetic import LogPlan, write_log
from edgeinf.core.normalize.levels import LEVELS


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr(scan, "_PARALLEL_BYTES", 0)
    monkeypatch.setattr("edgeinf.analyze.source.chunks.__defaults__", (50_000,))
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        planted = write_log(LogPlan(requests=500, damage=0.02), file)
    read: list[int] = []
    with ExitStack() as stack:
        sources = open_sources([str(path)], stack)
        plan = scan.ScanPlan(sources=sources, format="edgeinf-generic", levels=tuple(LEVELS))
        with scan.Crew(plan, workers) as crew:
            log = gather(plan, scan.batches(crew, read.append))
    assert (log.rows, log.damaged) == (500, planted.damaged)
    assert len({int(k) for k in log.keys["safe"]}) <= 500
    assert log.at is not None
    assert bool((log.at[1:] >= log.at[:-1]).all())
    assert read[-1] == sources.size


def _rows(scanner: scan.Scanner, chunk: Chunk) -> int:
    return scanner.chunk(chunk).rows


def test_other_processes_work_while_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_PARALLEL_BYTES", 0)
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        write_log(LogPlan(requests=60), file)
    with ExitStack() as stack:
        sources = open_sources([str(path)], stack)
        plan = scan.ScanPlan(sources=sources, format="edgeinf-generic", levels=tuple(LEVELS))
        with scan.Crew(plan, 2) as crew:
            some, others = crew.each(_rows, chunks(sources, 9_000)), crew.each(_rows, chunks(sources))
            assert (sum(others), sum(some)) == (60, 60)


def _at_work(scanner: scan.Scanner, task: int) -> int:
    return os.getpid()


def test_a_crew_begins_anew_without_those_that_were_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_PARALLEL_BYTES", 0)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"{}\n")
    with ExitStack() as stack:
        plan = scan.ScanPlan(sources=open_sources([str(path)], stack), format="edgeinf-generic")
        with scan.Crew(plan, 2) as crew:
            before = set(crew.each(_at_work, range(8)))
            crew.renew()
            after = set(crew.each(_at_work, range(8)))
            assert os.getpid() not in before | after
            assert before.isdisjoint(after)


@pytest.mark.parametrize(("size", "needed"), [(0, True), (10**9, False)], ids=["large", "small"])
def test_the_server_of_workers_starts_for_large_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, needed: bool
) -> None:
    started: list[bool] = []
    monkeypatch.setattr("multiprocessing.forkserver.ensure_running", lambda: started.append(True))
    monkeypatch.setattr(scan, "_PARALLEL_BYTES", size)
    (tmp_path / "log").write_bytes(b"{}\n")
    scan.prepare([str(tmp_path / "log"), "-", str(tmp_path / "*.jsonl")])
    assert started == [True] * needed
