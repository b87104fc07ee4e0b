import io

from edgeinf.core.report.markdown import to_markdown
from edgeinf.core.report.terminal import write_terminal
from edgeinf.core.report.tree import Axis, Chart, Column, Point, Section, Series, Table, Text
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


def test_what_a_log_says_does_not_steer_the_terminal():
    evil = "a\x1b[2J\x9b2J\rb"
    points = (Point(x=evil, y=1.0), Point(x="c", y=2.0))
    chart = Chart(title="c", kind="bars", y=Axis(title="y"), series=(Series(name=evil, points=points),))
    table = Table(columns=(Column(title="x"),), rows=((evil,),))
    stream = io.StringIO()
    write_terminal(Section(title=evil, parts=(Text(text=evil), table, chart)), stream, colour=False)
    assert "a\ufffd[2J\ufffd2Jb" in stream.getvalue()
    assert not {"\x1b", "\x9b", "\r"} & set(stream.getvalue())
    assert not {"\x1b", "\x9b", "\r"} & set(to_markdown(Section(title=evil, parts=(Text(text=evil), table, chart))))
