from __future__ import annotations

from pathlib import Path

from tests.recipes.running import recipe


def test_the_short_name_becomes_the_models_own(tmp_path: Path) -> None:
    with recipe("local-ollama", tmp_path) as run:
        answers = [run.chat("hello", model="chat") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert run.asked() == {"ollama": 1}
        [call] = run.origins["ollama"].calls_to("/chat/completions")
        assert call.json["model"] == "llama3.1:8b"
