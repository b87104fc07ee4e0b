"""Helicone's export as CSV, read to its records."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from edgeinf.analyze.readers import by_name, sniff
from edgeinf.analyze.readers.base import sample_of
from edgeinf.analyze.record import Record
from tests.analyze.readers.reading import everything, faults

HEADER = (
    "response_id,response_created_at,response_status,request_created_at,request_body,request_properties,"
    "request_user_id,model,prompt_tokens,completion_tokens,latency,cost"
)
BODY = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "system", "content": ""}, {"role": "user", "content": 'Say "hi",\nplease'}],
}
PROPERTIES = {"tenant": "acme", "route": "faq", "Helicone-Session-Id": "s1"}


def twice(value: object) -> str:
    """Write an object as the exporter does: its quotes doubled before the cell's are."""
    return json.dumps(value).replace('"', '""')


def write(path: Path, *rows: dict[str, Any], header: str = HEADER) -> Path:
    with path.open("w", newline="") as file:
        file.write(header + "\n")
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row in rows:
            writer.writerow([row.get(name, "") for name in header.split(",")])
    return path


def row(**fields: Any) -> dict[str, Any]:
    return {
        "response_id": "r0",
        "response_created_at": "2026-11-01T10:00:00.820Z",
        "response_status": 200,
        "request_created_at": "2026-11-01T10:00:00.000Z",
        "request_body": twice(BODY),
        "request_properties": twice(PROPERTIES),
        "request_user_id": "u1",
        "model": "gpt-4o-mini",
        "prompt_tokens": 24,
        "completion_tokens": 6,
        **fields,
    }


def one(path: Path) -> Record:
    (found,) = everything(sniff(sample_of(path.name, str(path))), path)
    assert isinstance(found, Record)
    return found


def test_a_row_gives_the_expected_record(tmp_path: Path) -> None:
    path = write(tmp_path / "output.csv", row(latency=810, cost=7.2e-06))
    assert sniff(sample_of(path.name, str(path))).name == "helicone-csv"
    record = one(path)
    assert record.request == BODY
    assert (record.at, record.tenant, record.route, record.session, record.user) == (
        1793527200.0,
        "acme",
        "faq",
        "s1",
        "u1",
    )
    assert (record.status, record.model, record.id) == (200, "gpt-4o-mini", "r0")
    assert (record.latency_ms, record.usd, record.input_tokens, record.output_tokens) == (810.0, 7.2e-06, 24, 6)


def test_latency_is_told_from_the_times_where_the_cell_is_empty(tmp_path: Path) -> None:
    assert one(write(tmp_path / "log", row())).latency_ms == 820.0


def test_the_older_name_of_the_cost_is_known(tmp_path: Path) -> None:
    older = HEADER.replace(",cost", ",cost_usd")
    assert one(write(tmp_path / "log", row(cost_usd=0.5), header=older)).usd == 0.5


@pytest.mark.parametrize("cell", [json.dumps(BODY), twice(BODY)], ids=["as JSON", "its quotes doubled"])
def test_a_body_is_read_in_either_form(tmp_path: Path, cell: str) -> None:
    assert one(write(tmp_path / "log", row(request_body=cell))).request == BODY


@pytest.mark.parametrize("cell", ["", "{}"], ids=["empty", "an empty object"])
def test_an_export_without_bodies_has_no_requests(tmp_path: Path, cell: str) -> None:
    assert one(write(tmp_path / "log", row(request_body=cell))).request is None


def test_a_long_prompt_is_no_damage(tmp_path: Path) -> None:
    body = {**BODY, "messages": [{"role": "user", "content": "x" * 300_000}]}
    assert one(write(tmp_path / "log", row(request_body=twice(body)))).request == body


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"r0,x,200,no time,,,,,,,,", "no request_created_at"),
        (b'r0,x,200,2026-11-01T10:00:00Z,"{""a",,,,,,,', "cut off"),
    ],
    ids=["no time", "a body cut off"],
)
def test_a_damaged_row_is_counted(tmp_path: Path, line: bytes, fault: str) -> None:
    assert faults(by_name("helicone-csv"), HEADER.encode() + b"\n" + line + b"\n", tmp_path) == [fault]
