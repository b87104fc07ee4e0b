from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from edgeinf.cli.app import COMMANDS
from tests.recipes.kit import FOLDER, NAMES
from tests.recipes.running import command

_OFFLINE = ("validate", "analyze", "init", "schema")


def lines_of(name: str) -> list[list[str]]:
    """Return the edgeinf commands of a README, split as a shell does."""
    text = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("edgeinf ")]


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_a_readme_and_a_config(name: str) -> None:
    readme = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# ")
    assert (FOLDER / name / "edgeinf.yaml").is_file()
    assert "edgeinf validate" in readme


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_readme_exists(name: str) -> None:
    assert [words[1] for words in lines_of(name) if words[1] not in COMMANDS] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_needs_no_network_runs_as_it_is_written(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(FOLDER / name, folder)
    shutil.copy(FOLDER.parent / "edgeinf.schema.json", tmp_path)
    for words in lines_of(name):
        if words[1] in _OFFLINE and "--online" not in words:
            done = command(*words[1:], home=tmp_path, cwd=folder)
            assert (done.returncode, done.stderr if done.returncode else "") == (0, ""), shlex.join(words)


def test_the_overview_names_every_recipe() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(([a-z0-9-]+)/\)", text) == NAMES
