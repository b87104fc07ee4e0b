from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config import load, unbuilt
from edgeinf.core.errors import ConfigError
from tests.core.config.kit import look

TEXT = """\
cache: {level: masked, mask: [uuids, timestamps]}
regions: [{name: a, url: http://h.example, load: {metrics: http://h.example/m}}]
dashboard: {enabled: false}
"""


@pytest.mark.parametrize(
    ("entry", "spot"),
    [
        ("cache.mask", (1, 24)),
        ("cache.mask=uuids", (1, 24)),
        ("cache.mask=request-ids", None),
        ("cache.level=masked", (1, 9)),
        ("cache.level=loose", None),
        ("regions.*.load", (2, 44)),
        ("routing.hedge", None),
        ("dashboard.enabled=false", (3, 13)),
        ("dashboard.enabled=true", None),
    ],
)
def test_a_name_in_the_table_is_refused_where_it_is_written(
    entry: str, spot: tuple[int, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "UNBUILT", {entry: "use something else"})
    seen = look(TEXT, tmp_path)
    found = [d for d in seen.diagnostics if d.code == "E109"]
    assert [(d.span.line, d.span.column) for d in found if d.span] == ([spot] if spot else [])
    assert all(d.help == "use something else" for d in found)


def test_serve_refuses_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "UNBUILT", {"routing.hedge": "leave it out"})
    (tmp_path / "edgeinf.yaml").write_text("routing: {hedge: {after: 1s}}")
    with pytest.raises(ConfigError, match=r"routing\.hedge is not built yet"):
        load.load(None, env={}, cwd=tmp_path)


def test_every_line_of_the_table_says_what_to_do() -> None:
    assert all(entry and words for entry, words in unbuilt.UNBUILT.items())
