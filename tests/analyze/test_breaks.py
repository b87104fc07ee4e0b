"""Where prompts part, over a whole log: the planted places are found, with what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.analyze.breaks import Breaks, breaks
from edgeinf.analyze.stack import previous
from edgeinf.analyze.synthetic import Cause, LogPlan, Template, write_log
from tests.analyze.making import ask, log_of, write

RULES = " ".join(f"Rule {chr(97 + n % 26)}{chr(97 + n // 26)} holds for every order." for n in range(120))


def found_in(path: Path, **options: object) -> Breaks:
    log = log_of(path, **options)
    assert log.block is not None
    found = breaks(log, previous(log.block))
    assert found is not None
    return found


def test_a_clock_at_the_start_is_named_with_its_place_and_cost(tmp_path: Path) -> None:
    head = "You are the shop's assistant. It is now "
    rows = [
        ask(f"Question number {n}, please?", at=60.0 * n, system=f"{head}2026-11-29T10:{n:02d}:07Z {RULES}")
        for n in range(40)
    ]
    found = found_in(write(tmp_path / "log", rows))
    place = found.places[0]
    assert (place.path, place.role, place.kind) == ("$.messages[0].content", "system", "timestamp")
    assert (place.start, place.end) == (len(head), len(head) + 20)
    assert place.what == "a clock or date in the system prompt"
    assert (place.prompts, place.share) == (39, 39 / 40)
    assert place.tokens == pytest.approx(39 * len(RULES) / 4, rel=0.05)
    assert "move it to the end" in place.advice
    assert place.template is not None
    assert place.template.startswith("You are the shop's assistant")


def test_prompts_that_part_at_the_question_are_no_finding(tmp_path: Path) -> None:
    rows = [ask(f"Question number {n}, please?", at=n, system=RULES) for n in range(20)]
    found = found_in(write(tmp_path / "log", rows))
    assert (found.places, found.broken, found.compared) == ([], 0, 20)


def test_tokens_are_those_that_the_log_counts(tmp_path: Path) -> None:
    rows = [ask("Hi", at=n, system=f"Seed {n}. {RULES}", input_tokens=500) for n in range(10)]
    place = found_in(write(tmp_path / "log", rows)).places[0]
    assert place.tokens == pytest.approx(9 * 500, rel=0.03)


def planted(path: Path, *templates: Template, requests: int = 1500) -> Path:
    with path.open("wb") as file:
        write_log(LogPlan(requests=requests, templates=templates, tenants=1), file)
    return path


@pytest.mark.parametrize("site", ["start", "middle", "end"])
@pytest.mark.parametrize("kind", ["clock", "uuid", "request-id", "name"])
def test_the_planted_span_is_found_unless_nothing_is_behind_it(tmp_path: Path, kind: str, site: str) -> None:
    cause = Cause(kind=kind, site=site)  # type: ignore[arg-type]
    template = Template(name="faq", system_chars=4000, cause=cause)
    found = found_in(planted(tmp_path / "log", template, requests=300))
    if site == "end":
        assert found.places == []
        return
    first = found.places[0]
    assert (first.route, first.path, first.role) == ("faq", "$.messages[0].content", "system")
    assert first.start is not None
    assert (first.start < 60) is (site == "start")
    assert first.share > 0.8  # a name that was sent before shares all of its prompt


def test_the_costliest_template_comes_first(tmp_path: Path) -> None:
    log = planted(
        tmp_path / "log",
        Template(name="small", weight=1, system_chars=2500, cause=Cause(kind="clock", site="start")),
        Template(name="tools", weight=2, system_chars=2500, tools=6, cause=Cause(kind="tools")),
        Template(name="large", weight=2, system_chars=9000, cause=Cause(kind="uuid", site="start")),
    )
    found = found_in(log)
    assert [(p.route, p.kind) for p in found.places] == [("large", "uuid"), ("tools", "order"), ("small", "timestamp")]
    assert [p.path for p in found.places] == ["$.messages[0].content", "$.tools", "$.messages[0].content"]
    assert "sort" in found.places[1].advice


def test_templates_without_a_route_are_told_apart_by_how_they_begin(tmp_path: Path) -> None:
    heads = ("You write short poems. ", "You check legal contracts. ")
    rules = (RULES, RULES.replace("order", "contract").replace("Rule", "Clause"))
    rows = [
        ask(f"Question {n}?", at=n, system=f"{heads[n % 2]}{rules[n % 2][:2000]} Id {n:09d}x. {rules[n % 2]}")
        for n in range(60)
    ]
    found = found_in(write(tmp_path / "log", rows))
    assert {(p.template or "")[:20] for p in found.places} == {head[:20] for head in heads}


def test_a_large_log_is_sampled_and_the_sample_stands_for_all(tmp_path: Path) -> None:
    log = planted(
        tmp_path / "log",
        Template(name="clean", system_chars=3000),
        Template(name="clock", system_chars=3000, cause=Cause(kind="clock", site="start")),
        requests=6000,
    )
    found = found_in(log)
    assert found.sampled
    assert found.compared < 1000
    assert found.prompts == 6000
    assert [p.route for p in found.places] == ["clock"]
    assert found.places[0].prompts == pytest.approx(3000, rel=0.12)
    assert found.places[0].tokens == pytest.approx(3000 * 3000 / 4, rel=0.15)


def test_what_must_move_too_is_named(tmp_path: Path) -> None:
    rows = [
        ask(f"Q {n}?", at=60 * n, system=f"Time 10:{n:02d}. Request ID: req_{n * 7919:012x}\n{RULES}")
        for n in range(20)
    ]
    place = found_in(write(tmp_path / "log", rows)).places[0]
    assert (place.kind, [also.kind for also in place.also]) == ("timestamp", ["request-id"])


def history(session: int, turns: int) -> list[dict[str, str]]:
    said = [
        f"{'question' if n % 2 == 0 else 'answer'} {n} of session {session}: {RULES[n : n + 700]}" for n in range(turns)
    ]
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(said)]


@pytest.mark.parametrize("named", [True, False], ids=["sessions named", "sessions not named"])
def test_a_window_over_the_history_is_found_between_interleaved_sessions(tmp_path: Path, named: bool) -> None:
    rows = []
    for turn in range(1, 30, 2):
        for session in range(6):
            kept = history(session, turn)[-7:]
            body = {"messages": [{"role": "system", "content": RULES}, *kept]}
            rows.append(ask(at=len(rows), body=body, **({"session": f"s{session}"} if named else {})))
    found = found_in(write(tmp_path / "log", rows))
    place = found.places[0]
    assert (place.path, place.kind) == ("$.messages[1]", "dropped")
    assert place.share == pytest.approx(11 / 15)
    assert "seldom" in place.advice


def test_traces_without_text_have_none(tmp_path: Path) -> None:
    line = b'{"timestamp": %d, "input_length": 2048, "output_length": 1, "hash_ids": [0, 1, 2, %d]}\n'
    path = tmp_path / "trace"
    path.write_bytes(b"".join(line % (n, 9 + n) for n in range(5)))
    log = log_of(path)
    assert log.block is not None
    assert breaks(log, previous(log.block)) is None


def test_examples_hold_no_secrets(tmp_path: Path) -> None:
    rows = [ask("Hi", at=n, system=f"Key: sk-proj-{n:024d} here. {RULES}") for n in range(6)]
    place = found_in(write(tmp_path / "log", rows)).places[0]
    assert "00000" not in place.a + place.b
