"""What the tests of the config share: one way to look at a text, and the environment that examples assume."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from edgeinf.core.config.load import Inspection, inspect

ENV = {"A_KEY": "placeholder-key-a", "KEY_SHA256": "a" * 64, "OTHER_SHA256": "b" * 64}
TODAY = date(2026, 1, 1)


def look(text: str, tmp_path: Path, **more: object) -> Inspection:
    """Inspect ``text`` as a file in ``tmp_path``, which has ``key.txt`` and ``notes.txt``."""
    (tmp_path / "key.txt").write_text("k")
    (tmp_path / "notes.txt").write_text("two\nlines\n")
    return inspect(text, "edgeinf.yaml", base=tmp_path, **{"env": ENV, "today": TODAY, **more})  # type: ignore[arg-type]


def codes(seen: Inspection) -> list[str]:
    """Return the codes in order."""
    return [d.code for d in seen.diagnostics]


def spots(seen: Inspection) -> list[tuple[str, int, int]]:
    """Return (code, line, column) in order."""
    return [(d.code, d.span.line if d.span else 0, d.span.column if d.span else 0) for d in seen.diagnostics]
