"""One analysis as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.analyze.options import Options
from edgeinf.analyze.run import analyze
from edgeinf.core.errors import UsageError
from tests.analyze.making import ask, run, write


def test_progress_names_each_step(tmp_path: Path) -> None:
    said: list[str] = []
    path = write(tmp_path / "log", [ask(at=0), ask(at=1)])
    analyze(Options(files=(str(path),)), progress=lambda what, done, total: said.append(what))
    assert list(dict.fromkeys(said))[:3] == ["reading", "level safe", "level exact"]  # what leads first


def test_a_log_without_a_request_is_refused_with_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"type": "SPAN", "traceId": "x", "startTime": 1, "input": 2}\n')
    with pytest.raises(UsageError, match="1 an observation of type span"):
        run(path)


def test_a_policy_narrows_what_is_eligible(tmp_path: Path) -> None:
    from edgeinf.core.cacheable import CachePolicy

    path = write(tmp_path / "log", [ask(at=n, body={"temperature": n % 2}) for n in range(4)])
    found = run(path, policy=CachePolicy(max_temperature=0.5))
    assert (found.eligible, found.reasons) == (2, {"temperature": 2})
