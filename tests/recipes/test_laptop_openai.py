from __future__ import annotations

from pathlib import Path

import httpx

from tests.recipes.running import origins_for, pointed_at, recipe, served


def test_the_second_time_a_question_costs_nothing(tmp_path: Path) -> None:
    with recipe("laptop-openai", tmp_path) as run:
        first, second = (run.chat("hello", Authorization="Bearer my-own-key") for _ in range(2))
        assert (first.headers["x-edgeinf-cache"], second.headers["x-edgeinf-cache"]) == ("miss", "hit")
        assert first.json() == second.json()
        assert run.asked() == {"openai": 1}
        [call] = run.origins["openai"].calls_to("/chat/completions")
        assert dict(call.headers)["authorization"] == "Bearer my-own-key"


def test_another_key_never_sees_the_answer(tmp_path: Path) -> None:
    with recipe("laptop-openai", tmp_path) as run:
        caches = [run.chat("hello", Authorization=f"Bearer {key}").headers["x-edgeinf-cache"] for key in "ab"]
        assert caches == ["miss", "miss"]


def test_answers_survive_a_restart(tmp_path: Path) -> None:
    with origins_for("laptop-openai") as origins:
        for _ in range(2):
            with served("laptop-openai", tmp_path, **pointed_at(origins)) as url:
                body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hello"}]}
                assert httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30).status_code == 200
        assert len(origins["openai"].calls_to("/chat/completions")) == 1
