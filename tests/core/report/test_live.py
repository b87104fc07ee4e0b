import io

from edgeinf.core.report.live import LiveReport
from edgeinf.core.report.tree import Text


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_the_state_is_a_line_now_and_then():
    out = io.StringIO()
    with LiveReport(out, colour=False, every_s=3600) as live:
        live.show(lambda: Text(text="table"), lambda: "one")
        live.show(lambda: Text(text="table"), lambda: "two")
    assert out.getvalue() == "one\n"


def test_on_a_terminal_the_state_is_drawn():
    out = _Terminal()
    with LiveReport(out, colour=False) as live:
        live.show(lambda: Text(text="the table"), lambda: "line")
    assert "the table" in out.getvalue()
    assert "line" not in out.getvalue()
