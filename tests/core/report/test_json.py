import json

from edgeinf.core.report.json import to_json
from tests.core.report.sample import REPORT


def test_rows_are_objects_with_raw_values():
    table = to_json(REPORT)["parts"][1]["parts"][0]
    assert table["rows"][0] == {"name": "east|<b>", "ttft": 12.345, "loss": 0.015}


def test_every_part_is_plain_json():
    assert json.loads(json.dumps(to_json(REPORT)))["title"] == "probe & more"
