"""Budgets outlive the process."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Budget, Events, Limit, Price, Shared
from edgeinf.mock import MockOrigin
from edgeinf.serve.limits.base import Charge
from edgeinf.serve.limits.ledger import Ledger, ledger_for
from edgeinf.serve.limits.local import LocalLimiter
from tests.serve.running import config_for, running

MONTH = 30 * 86400.0


def charge(cost: float) -> Charge:
    """Return a charge against ten dollars."""
    return Charge(limit="m", kind="budget", subject="s", capacity=10.0, period_s=MONTH, cost=cost)


async def test_what_was_spent_before_a_restart_still_counts(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 100, "input_tokens": 100}})
    limits = (Limit(name="month", budget=Budget(usd=0.05, period=MONTH)),)
    sections: dict[str, Any] = {"limits": limits, "prices": {"mock-small": Price(input=100.0, output=100.0)}}
    statuses = []
    for number in range(4):
        async with running(config_for(tmp_path, origin.url, **sections)) as proxy:
            statuses.append((await proxy.ask(f"{number} " + "word " * 40, max_tokens=100)).status_code)
    assert statuses == [200, 200, 429, 429]


@pytest.mark.parametrize("content", [b"", b"not json", b"[1]", b'{"x": 1}', b'{"[\\"a\\"]": [1, 2, 3]}'])
def test_a_damaged_file_is_said_and_does_no_harm(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "budgets.json"
    path.write_bytes(content)
    limiter = LocalLimiter(FakeClock())
    with caplog.at_level(logging.WARNING):
        Ledger(path, limiter).load()
    assert len(caplog.records) == 1
    assert limiter.take_now([charge(10.0)]).refused is None


def test_it_is_written_whole_and_only_for_its_owner(tmp_path: Path) -> None:
    limiter = LocalLimiter(FakeClock())
    limiter.take_now([charge(4.0)])
    ledger = Ledger(tmp_path / "deep" / "budgets.json", limiter)
    ledger.save()
    [file] = (tmp_path / "deep").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    other = LocalLimiter(FakeClock())
    Ledger(file, other).load()
    assert other.take_now([charge(7.0)]).refused == 0


def test_without_a_budget_of_this_process_there_is_no_ledger(tmp_path: Path) -> None:
    limiter = LocalLimiter(FakeClock())
    budget = (Limit(name="m", budget=Budget(usd=1.0)),)
    assert ledger_for(config_for(tmp_path, "http://x"), limiter) is None
    shared = config_for(tmp_path, "http://x", limits=budget, limits_shared=Shared(url="redis://x"))
    assert ledger_for(shared, limiter) is None
    assert ledger_for(config_for(tmp_path, "http://x", limits=budget), object()) is None
    nowhere = config_for(tmp_path, "http://x", limits=budget, events=Events(file=None))
    assert ledger_for(nowhere, limiter) is None
    assert ledger_for(config_for(tmp_path, "http://x", limits=budget), limiter) is not None
