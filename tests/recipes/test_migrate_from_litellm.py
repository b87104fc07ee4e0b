from __future__ import annotations

from pathlib import Path

from tests.recipes.kit import FOLDER, config_of
from tests.recipes.running import command, recipe

_THEIRS = FOLDER / "migrate-from-litellm" / "litellm.yaml"


def test_the_config_is_what_init_writes(tmp_path: Path) -> None:
    done = command("init", "new.yaml", "--from", "litellm", str(_THEIRS), home=tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new.yaml").read_text() == config_of("migrate-from-litellm").read_text(encoding="utf-8")


def test_the_group_fails_over_as_theirs_did(tmp_path: Path) -> None:
    away = {"EDGEINF_CACHE__SHARED__URL": "redis://127.0.0.1:1/0"}
    scripts = {"ollama": {"rules": [{"fault": "503"}]}}
    with recipe("migrate-from-litellm", tmp_path, scripts=scripts, **away) as run:
        assert run.chat("hello", model="chat").status_code == 200
        assert run.chat("hello", model="local").status_code == 200
        assert run.asked()["ollama"] >= 1
