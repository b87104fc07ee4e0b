"""Parquet files become lines of JSON, or say why they cannot."""

from __future__ import annotations

import io
import json
import sys
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from edgeinf.analyze.parquet import to_json_lines
from edgeinf.analyze.readers import sniff
from edgeinf.analyze.readers.base import sample_of
from edgeinf.analyze.record import answer_text
from edgeinf.analyze.source import open_sources
from edgeinf.core.errors import UsageError
from tests.analyze.making import run
from tests.analyze.readers.reading import everything

# As Langfuse's blob export of enriched observations: times as instants, maps for usage and cost, texts of JSON.
OBSERVATIONS = """
COPY (SELECT * FROM (VALUES
  ('o0', 'tr0', 'GENERATION', TIMESTAMPTZ '2026-11-01 10:00:00+00', TIMESTAMPTZ '2026-11-01 10:00:00.82+00', 'faq',
   MAP {'tenant': 'acme'}, '[{"role": "user", "content": "Where is it?"}]'::BLOB,
   '{"role": "assistant", "content": "Here."}', 'gpt-4o-mini', '{"temperature": 0}',
   MAP {'input': 20::UBIGINT, 'output': 6::UBIGINT, 'input_cached_tokens': 4::UBIGINT},
   0.0000072::DECIMAL(18, 12), 0.82::DOUBLE, NULL::DOUBLE, 'u1', 's1', ['blue', 'green']),
  ('o1', 'tr1', 'SPAN', TIMESTAMPTZ '2026-11-01 10:00:07+00', NULL, 'step',
   MAP {}, '', '', '', '', MAP {}, NULL, NULL, NULL, '', '', [])
) AS t(id, trace_id, type, start_time, end_time, name, metadata, input, output, provided_model_name, model_parameters,
       usage_details, total_cost, latency, time_to_first_token, user_id, session_id, tags))
TO '{path}' (FORMAT parquet)
"""


@pytest.fixture
def observations(tmp_path: Path) -> Path:
    path = tmp_path / "2026-11-01[1].parquet"
    duckdb.connect().execute(OBSERVATIONS.replace("{path}", str(path)))
    return path


def test_an_export_of_langfuse_is_read_to_its_records(observations: Path) -> None:
    with ExitStack() as stack:
        sources = open_sources([str(observations)], stack)
        path = Path(sources.paths[0])
        reader = sniff(sample_of(sources.names[0], str(path)))
        record, span = everything(reader, path)
    assert reader.name == "langfuse"
    assert (record.at, record.latency_ms, record.tenant, record.user, record.session) == (  # type: ignore[union-attr]
        1793527200.0, 820.0, "acme", "u1", "s1",
    )  # fmt: skip
    assert (record.input_tokens, record.cached_tokens, record.output_tokens) == (24, 4, 6)  # type: ignore[union-attr]
    assert record.usd == pytest.approx(7.2e-6)  # type: ignore[union-attr]
    assert record.request == {  # type: ignore[union-attr]
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "Where is it?"}],
        "temperature": 0,
    }
    assert answer_text(record.answer) == "Here."  # type: ignore[union-attr]
    assert str(span) == "an observation of type span"


def test_the_whole_command_takes_it(observations: Path) -> None:
    found = run(observations)
    assert (found.format, found.log.rows, dict(found.log.skipped)) == (
        "langfuse",
        1,
        {"an observation of type span": 1},
    )


def test_it_is_read_from_standard_input(observations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(observations.read_bytes())))
    with ExitStack() as stack:
        sources = open_sources(["-"], stack)
        lines = Path(sources.paths[0]).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["o0", "o1"]
    assert not Path(sources.paths[0]).exists()


def test_a_damaged_file_says_so(observations: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(observations.read_bytes()[:-100])
    with (
        ExitStack() as stack,
        pytest.raises(UsageError, match=r"cannot read .*cut.parquet: damaged parquet data \(.*\)$"),
    ):
        open_sources([str(cut)], stack)


def test_without_the_library_it_names_the_extra(observations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with ExitStack() as stack, pytest.raises(UsageError, match="Parquet needs the duckdb library") as raised:
        open_sources([str(observations)], stack)
    assert raised.value.hint == "pip install 'edgeinf[parquet]'"


def test_nothing_is_left_beside_what_was_asked_for(observations: Path, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    to_json_lines(str(observations), str(tmp_path / "lines"))
    assert set(tmp_path.iterdir()) - before == {tmp_path / "lines"}
