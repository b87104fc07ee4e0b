from __future__ import annotations

from pathlib import Path

from tests.recipes.running import recipe

# The config has the hashes of these keys: the kit's variables hold the SHA-256 of their own names.
_SEARCH = {"Authorization": "Bearer SEARCH_SHA256"}
_INTERN = {"Authorization": "Bearer INTERN_SHA256"}


def test_only_keys_that_the_config_knows_may_ask(tmp_path: Path) -> None:
    with recipe("team-keys-budgets", tmp_path) as run:
        assert run.chat("hello", model="small").status_code == 401
        assert run.chat("hello", model="small", Authorization="Bearer nobody").status_code == 401
        assert run.chat("hello", model="small", **_SEARCH).status_code == 200
        assert run.chat("hello", model="big", **_INTERN).status_code == 403
        [call] = run.origins["openai"].calls_to("/chat/completions")
        assert dict(call.headers)["authorization"] == "Bearer placeholder-openai_api_key"
        assert call.json["model"] == "gpt-4o-mini"


def test_teams_share_no_answers(tmp_path: Path) -> None:
    with recipe("team-keys-budgets", tmp_path) as run:
        caches = [
            run.chat("hi", model="small", **key).headers["x-edgeinf-cache"] for key in (_SEARCH, _INTERN, _SEARCH)
        ]
        assert caches == ["miss", "miss", "hit"]


def test_a_team_that_has_spent_its_budget_waits_and_the_other_goes_on(tmp_path: Path) -> None:
    with recipe("team-keys-budgets", tmp_path, EDGEINF_LIMITS__2__BUDGET__USD="0.0000001") as run:
        answers = [run.chat(f"question {n}", model="small", **_INTERN) for n in range(3)]
        assert answers[-1].status_code == 429
        assert "labs-budget" in answers[-1].text
        assert run.chat("question", model="small", **_SEARCH).status_code == 200
