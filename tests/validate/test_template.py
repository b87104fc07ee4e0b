from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.validate.detect import PROVIDERS, Local
from edgeinf.validate.published import URL
from edgeinf.validate.template import template
from tests.core.config.kit import look
from tests.validate.kit import codes, examined

HOSTED = [(provider, provider.variables[0]) for provider in PROVIDERS]
LOCAL = [Local(name="ollama", port=11434, models=("llama3.1:8b", "a", "b", "c", "d")), Local(name="vllm", port=8000)]


@pytest.mark.parametrize(
    ("hosted", "local"), [([], []), (HOSTED, LOCAL), ([], LOCAL), (HOSTED[:1], [])], ids=["none", "all", "local", "one"]
)
def test_what_is_written_is_valid_and_without_a_doubt(hosted: list, local: list, tmp_path: Path) -> None:  # type: ignore[type-arg]
    text = template(hosted, local)
    assert text.startswith(f"# yaml-language-server: $schema={URL}\n")
    assert codes(examined(text, tmp_path, env=None)) == []


def test_a_credential_is_only_the_name_of_its_variable(tmp_path: Path) -> None:
    seen = look(template(HOSTED[:1], []), tmp_path, env={"OPENAI_API_KEY": "secret-of-mine"})
    assert seen.config is not None
    assert seen.config.regions[0].api_key is not None
    assert "secret" not in template(HOSTED[:1], [])


@pytest.mark.parametrize("section", ["regions", "models", "routing", "auth", "limits", "guard", "events"])
def test_every_commented_section_is_valid_when_its_comment_is_removed(section: str, tmp_path: Path) -> None:
    lines = template([], []).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"# {section}:"))
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith("#   ")), len(lines))
    kept = [line for line in lines if not line.startswith("#")]
    text = "\n".join([*kept, *(line[2:] for line in lines[start:end])])
    if section == "models":
        text = text.replace("virginia", "openai")
    assert look(text, tmp_path, env=None).errors == ()
