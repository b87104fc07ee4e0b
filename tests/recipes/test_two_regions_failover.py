from __future__ import annotations

from pathlib import Path

from tests.recipes.running import recipe

_MODELS = {
    "virginia": {"models": ["llama-3.1-70b"]},
    "frankfurt": {"models": ["meta/llama-3.1-70b"]},
}


def test_the_first_region_answers_while_it_can(tmp_path: Path) -> None:
    with recipe("two-regions-failover", tmp_path) as run:
        regions = [run.chat(f"question {n}", model="assistant").headers["x-edgeinf-region"] for n in range(4)]
        assert regions == ["virginia"] * 4
        assert run.origins["virginia"].calls_to("/chat/completions")[0].json["model"] == "llama-3.1-70b"


def test_when_it_cannot_the_second_does_under_its_own_name(tmp_path: Path) -> None:
    with recipe("two-regions-failover", tmp_path, scripts={"virginia": {"rules": [{"fault": "503"}]}}) as run:
        answer = run.chat("question", model="assistant")
        assert answer.status_code == 200
        assert answer.headers["x-edgeinf-region"] == "frankfurt"
        [call] = run.origins["frankfurt"].calls_to("/chat/completions")
        assert call.json["model"] == "meta/llama-3.1-70b"
        assert dict(call.headers)["authorization"] == "Bearer placeholder-eu_key"
