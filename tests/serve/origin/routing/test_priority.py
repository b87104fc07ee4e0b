from __future__ import annotations

import random

from edgeinf.serve.origin.routing.base import Stats
from edgeinf.serve.origin.routing.priority import choose


def test_the_lowest_number_then_the_configs_order():
    stats = {"a": Stats(priority=1), "b": Stats(), "c": Stats()}
    assert choose("abc", stats, random.Random(0)) == "b"
    assert choose("ac", stats, random.Random(0)) == "c"
    assert choose("a", stats, random.Random(0)) == "a"
