"""A shared log holds no prompt, no name, and analyses to the same numbers."""

from __future__ import annotations

from pathlib import Path

from edgeinf.analyze.options import Options
from edgeinf.analyze.redacted import redacted
from edgeinf.analyze.run import Analysis, analyze
from edgeinf.analyze.synthetic import Cause, LogPlan, Template, write_log
from tests.analyze.making import ask, run, write

PLAN = LogPlan(
    requests=600, templates=(Template(name="faq"), Template(name="app", cause=Cause(kind="clock"))), damage=0.01
)


def _shared(tmp_path: Path, scope: str | None = None) -> tuple[Analysis, Path]:
    log, out = tmp_path / "log.jsonl", tmp_path / "shared.jsonl"
    with log.open("wb") as file:
        write_log(PLAN, file)

    def then(found: Analysis) -> None:
        out.write_bytes(b"".join(redacted(found.log, scope)))

    return analyze(Options(files=(str(log),), scope=scope, workers=1), then=then), out


def test_the_same_numbers_come_out(tmp_path: Path) -> None:
    first, path = _shared(tmp_path)
    second = run(path)
    assert second.format == "edgeinf-events"
    for level, one in first.levels.items():
        other = second.levels[level]
        assert one is not None
        assert other is not None
        assert (other.hits, other.unique, other.worth) == (one.hits, one.unique, one.worth)
    assert (second.repeats, second.eligible) == (first.repeats, first.eligible)
    assert second.curves == first.curves


def test_a_log_without_times_is_shared_without_times(tmp_path: Path) -> None:
    rows = [{k: v for k, v in ask(f"Q {n % 5}", latency_ms=500).items() if k != "ts"} for n in range(20)]
    out = tmp_path / "shared.jsonl"

    def then(found: Analysis) -> None:
        out.write_bytes(b"".join(redacted(found.log, None)))

    log = write(tmp_path / "log.jsonl", rows)
    first, second = analyze(Options(files=(str(log),), workers=1), then=then), run(out)
    assert first.log.at is second.log.at is None
    assert first.default is not None
    assert second.default is not None
    assert second.default.hits == first.default.hits == 15


def test_no_word_of_a_prompt_or_a_name_is_left(tmp_path: Path) -> None:
    text = _shared(tmp_path)[1].read_text()
    assert not [word for word in ("tenant-", "user-", "invoice", "assistant", "please", "case ") if word in text]


def test_keys_cannot_be_compared_between_two_files(tmp_path: Path) -> None:
    first = _shared(tmp_path)[1].read_text()
    assert _shared(tmp_path)[1].read_text() != first
