from edgeinf.core.report.markdown import to_markdown
from tests.core.report.sample import REPORT


def test_headings_tables_and_notes_follow_the_tree():
    text = to_markdown(REPORT)
    assert text.startswith("# probe & more\n\n✅ all &lt;fine>\n\n## figures\n")
    assert "| name | ttft (ms) | loss (%) |\n| --- | ---: | ---: |\n" in text
    assert "| safe | 10 | 10.0 |" in text


def test_a_bar_or_a_tag_in_a_cell_cannot_break_the_table():
    assert "| east\\|&lt;b> | 12.3 | 1.5 |" in to_markdown(REPORT)
