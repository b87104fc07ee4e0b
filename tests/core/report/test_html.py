import re

from edgeinf.core.report.html import to_html
from tests.core.report.sample import REPORT


def test_the_page_needs_nothing_from_outside_and_runs_nothing():
    page = to_html(REPORT)
    assert not re.search(r"(?:src|href)=|url\(|@import|<script", page)
    assert "default-src 'none'" in page


def test_the_page_knows_light_and_dark():
    assert "prefers-color-scheme:dark" in to_html(REPORT)


def test_text_from_the_data_is_escaped():
    page = to_html(REPORT)
    assert "all &lt;fine&gt;" in page
    assert "<b>" not in page


def test_each_chart_has_its_table_behind_it():
    page = to_html(REPORT)
    assert page.count("<svg") == page.count("<details>") == 3
