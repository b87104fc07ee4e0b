from __future__ import annotations

from pathlib import Path

from tests.recipes.running import recipe


def test_a_session_that_runs_away_is_stopped_and_the_others_go_on(tmp_path: Path) -> None:
    with recipe("agents-session-limits", tmp_path, EDGEINF_LIMITS__0__REQUESTS="3/h") as run:
        answers = [run.chat(f"step {n}", X_Edgeinf_Session="run-1") for n in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) > 0
        assert "session-pace" in answers[-1].text
        assert run.chat("step 0 of another", X_Edgeinf_Session="run-2").status_code == 200


def test_an_agent_that_repeats_itself_is_answered_from_the_cache(tmp_path: Path) -> None:
    with recipe("agents-session-limits", tmp_path) as run:
        answers = [run.chat("the same step", X_Edgeinf_Session="run-1") for _ in range(6)]
        assert [answer.headers["x-edgeinf-cache"] for answer in answers] == ["miss"] + ["hit"] * 5
        assert run.asked() == {"openai": 1}


def test_a_history_beyond_reason_is_refused(tmp_path: Path) -> None:
    with recipe("agents-session-limits", tmp_path, EDGEINF_GUARD__MAX_INPUT_TOKENS="50") as run:
        assert run.chat("word " * 200).status_code in (400, 413)
        assert run.asked() == {"openai": 0}
