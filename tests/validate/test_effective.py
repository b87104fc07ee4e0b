from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.load import inspect
from edgeinf.validate.effective import effective
from tests.core.config.kit import TODAY, look
from tests.core.config.test_schema import EXAMPLE


def test_every_value_says_where_it_is_from(tmp_path: Path) -> None:
    env = {"EDGEINF_LISTEN__PORT": "9000", "HOST": "localhost"}
    text = effective(
        look("listen: {host: '${HOST}'}\ncache: {ttl: 90s}\n", tmp_path, env=env, flags={"listen.drain": "5s"})
    )
    lines = [line.strip() for line in text.splitlines()]
    assert "host: localhost  # ${HOST}:1" in lines
    assert "port: 9000  # EDGEINF_LISTEN__PORT" in lines
    assert "drain: 5s  # the flag for listen.drain" in lines
    assert "ttl: 90s  # edgeinf.yaml:2" in lines
    assert "level: safe  # default" in lines


@pytest.mark.parametrize("text", ["", EXAMPLE], ids=["defaults", "everything"])
def test_it_reads_back_as_the_same_config(text: str, tmp_path: Path) -> None:
    seen = look(text, tmp_path)
    printed = effective(seen)
    again = inspect(printed, "again.yaml", base=tmp_path, env={}, today=TODAY)
    assert [d.message for d in again.errors] == []
    assert effective(again).count("***") == printed.count("***")
    assert again.config is not None
    assert seen.config is not None
    assert again.config.limits == seen.config.limits
    assert again.config.routing == seen.config.routing
    assert again.config.cache == seen.config.cache
    assert again.config.models == seen.config.models


def test_credentials_are_masked(tmp_path: Path) -> None:
    text = "regions: [{name: a, url: https://x.example, api_key: '${A_KEY}', headers: {Authorization: abc123}}]\n"
    printed = effective(look(text, tmp_path))
    assert "placeholder-key-a" not in printed
    assert "abc123" not in printed


def test_with_errors_nothing_holds(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="errors"):
        effective(look("listen: {prot: 1}", tmp_path))
