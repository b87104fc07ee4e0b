from edgeinf.core.report.tree import table_of
from tests.core.report.sample import CURVE, REPORT


def test_every_point_of_a_chart_is_a_row_of_its_table():
    table = table_of(CURVE)
    assert [c.title for c in table.columns] == ["series", "entries", "hit rate"]
    assert table.rows[0] == ("safe", 10, 0.1)
    assert len(table.rows) == 5


def test_a_chart_with_intervals_shows_both_ends():
    table = table_of(REPORT.parts[1].parts[2])
    assert table.rows[0] == ("warm", "east", 20, 10, 40)
