from __future__ import annotations

from pathlib import Path

from tests.recipes.running import recipe


def test_the_adapter_is_chosen_by_the_name_that_clients_use(tmp_path: Path) -> None:
    with recipe("lora-vllm", tmp_path) as run:
        for model in ("legal", "support"):
            assert run.chat("hello", model=model).status_code == 200
        calls = [call for origin in run.origins.values() for call in origin.calls_to("/chat/completions")]
        assert sorted(call.json["model"] for call in calls) == ["legal-lora", "support-lora"]


def test_one_assistants_answer_never_serves_the_other(tmp_path: Path) -> None:
    with recipe("lora-vllm", tmp_path) as run:
        caches = [run.chat("hello", model=m).headers["x-edgeinf-cache"] for m in ("legal", "support", "legal")]
        assert caches == ["miss", "miss", "hit"]
