"""Requests come again in the order in which they are counted."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from edgeinf.analyze.options import Options
from edgeinf.analyze.replayable import again
from tests.analyze.making import ask, write


def test_in_order_of_time_with_scope_and_labels(tmp_path: Path) -> None:
    rows = [ask(f"q {n}", at=n, tenant=f"t{n}", session="s", route="r") for n in (2, 0, 1)]
    path = write(tmp_path / "log", rows)
    with ExitStack() as stack:
        total, requests = again(Options(files=(str(path),), workers=1), stack, lambda what, done, of: None)
        found = list(requests)
    assert total == 3
    assert [(json.loads(r.body)["messages"][1]["content"], r.scope) for r in found] == [
        ("q 0", "t0"), ("q 1", "t1"), ("q 2", "t2"),
    ]  # fmt: skip
    assert {(r.path, r.session, r.route) for r in found} == {("/v1/chat/completions", "s", "r")}
