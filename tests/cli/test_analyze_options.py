"""Flags become options."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from edgeinf.analyze.options import Options
from edgeinf.cli.analyze_options import made


def _made(monkeypatch: pytest.MonkeyPatch, folder: Path, **given: Any) -> Options:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    nothing: dict[str, Any] = dict.fromkeys(
        ("config", "mapping", "ttl", "capacity", "scope", "probe", "requests_per_month", "prefix_rules")
    )
    return made(["x"], **{**nothing, "format_": "auto", "level": "all", "gateways": [], **given})


def test_nothing_given_is_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _made(monkeypatch, tmp_path) == Options(files=("x",))


def test_lists_are_read_and_sorted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = _made(monkeypatch, tmp_path, ttl="inf,1h,5m", capacity="1000,10", gateways=["litellm,portkey", "litellm"])
    assert found.ttls_s == (300, 3600, math.inf)
    assert (found.capacities, found.gateways) == ((10, 1000), ("litellm", "portkey"))


def test_one_time_to_live_and_one_capacity_hold_for_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = _made(monkeypatch, tmp_path, ttl="1h,60m", capacity="10")
    assert (found.ttls_s, found.policy.ttl_s) == ((3600,), 3600)
    assert (found.capacities, found.max_entries) == ((10,), 10)


def test_flags_go_before_the_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "edgeinf.yaml").write_text("version: 1\ncache: {level: loose, ttl: 1h, mask: [uuids]}\n")
    assert (_made(monkeypatch, tmp_path).level, _made(monkeypatch, tmp_path, level="exact").level) == ("loose", "exact")
    found = _made(monkeypatch, tmp_path, scope="shared")
    assert (found.policy.ttl_s, found.scope, found.masks) == (3600, "shared", ("uuids",))
