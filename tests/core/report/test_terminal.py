import io

from edgeinf.core.report.terminal import write_terminal
from tests.core.report.sample import REPORT


def _written(**options) -> str:
    out = io.StringIO()
    write_terminal(REPORT, out, width=100, **options)
    return out.getvalue()


def test_without_colour_the_report_is_plain_text():
    text = _written(colour=False)
    assert "\x1b" not in text
    assert "all <fine>" in text
    assert "east|<b>" in text


def test_charts_are_drawn_with_characters():
    text = _written(colour=False)
    assert "safe   ▁▇█  10.0 % to 60.0 %" in text
    assert "●" in text
    assert "█" in text
