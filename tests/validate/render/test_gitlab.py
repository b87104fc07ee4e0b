from __future__ import annotations

import json
from pathlib import Path

from edgeinf.validate.render.gitlab import render
from edgeinf.validate.report import Report
from tests.validate.kit import examined
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("gitlab.json", render(report(tmp_path)))


def test_a_fingerprint_stays_while_lines_move_and_no_two_are_the_same(tmp_path: Path) -> None:
    text = "listen: {prot: 1}\ncache: {ttl: 1}\n"
    first, moved = (json.loads(render(Report(files=(examined(t, tmp_path),)))) for t in (text, "# more\n\n" + text))
    assert [issue["fingerprint"] for issue in first] == [issue["fingerprint"] for issue in moved]
    assert len({issue["fingerprint"] for issue in first}) == len(first)
