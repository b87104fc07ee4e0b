"""Options from a config."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeinf.analyze.configured import from_config
from edgeinf.core.config.schema import Cache, Config, Disk, Memory


def test_the_defaults_are_the_proxy_s_own() -> None:
    found = from_config(Config())
    assert (found["level"], found["scope"], found["max_entries"]) == ("safe", None, None)
    assert (found["policy"].ttl_s, found["policy"].ttl_jitter) == (86400, 0.1)


@pytest.mark.parametrize(("disk", "entries"), [(None, 9), (Disk(), None)], ids=["memory alone", "with a disk"])
def test_a_limit_of_entries_counts_where_memory_is_all_there_is(disk: Disk | None, entries: int | None) -> None:
    config = replace(Config(), cache=Cache(memory=Memory(max_entries=9), disk=disk, level="loose"))
    found = from_config(config)
    assert (found["max_entries"], found["level"]) == (entries, "loose")
