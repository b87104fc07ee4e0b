from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.direct import build
from tests.core.config.kit import look

BASE = Path("/nonexistent")
REGION = {"name": "upstream", "url": "http://127.0.0.1:9/v1", "passthrough": True, "serves": ["openai", "anthropic"]}


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"listen.port": 0},
        {"listen.host": "localhost", "listen.port": 9999},
        {"regions": [REGION]},
        {"regions": [REGION], "cache.ttl": "5m", "cache.level": "exact"},
        {"events.file": "events.jsonl", "dashboard.enabled": False},
    ],
    ids=str,
)
def test_the_short_way_and_the_long_way_agree(flags: dict[str, Any], tmp_path: Path) -> None:
    assert build(flags, base=tmp_path, insecure=False) == look("", tmp_path, flags=flags).config


@pytest.mark.parametrize(
    "flags",
    [
        {"listen.prot": 0},
        {"listen.port": "x"},
        {"listen.port": 70000},
        {"listen.host": "0.0.0.0"},
        {"regions": [{"name": "a"}]},
        {"regions": [{**REGION, "nmae": "a"}]},
        {"regions": [REGION, REGION]},
        {"cache.scope": "shared"},
        {"cache.level": "sfae"},
        {"auth.keys": []},
    ],
    ids=str,
)
def test_what_is_not_plain_sailing_is_left_to_the_long_way(flags: dict[str, Any]) -> None:
    assert build(flags, base=BASE, insecure=False) is None
