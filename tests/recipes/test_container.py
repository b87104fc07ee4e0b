from __future__ import annotations

import json
import re
from pathlib import Path

from tests.recipes.kit import FOLDER
from tests.recipes.running import command, recipe

_FILE = FOLDER / "container" / "Containerfile"
_INSTRUCTIONS = {"FROM", "RUN", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}


def _instructions() -> list[tuple[str, str]]:
    lines = _FILE.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line.strip() and line[0] != "#"]


def test_the_container_file_parses_and_runs_as_nobody_in_particular() -> None:
    found = _instructions()
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} <= _INSTRUCTIONS
    assert dict(found)["USER"] == "10001"
    copied = dict(found)["COPY"].split()[0]
    assert (_FILE.parent / copied).is_file()


def test_the_entry_point_is_our_command(tmp_path: Path) -> None:
    words = json.loads(dict(_instructions())["ENTRYPOINT"])
    assert words[:2] == ["edgeinf", "serve"]
    help_text = command("serve", "--help", home=tmp_path, cwd=tmp_path).stdout
    assert all(word in help_text for word in words if word.startswith("--"))


def test_the_health_check_asks_a_path_that_answers(tmp_path: Path) -> None:
    import httpx

    check = json.loads(dict(_instructions())["HEALTHCHECK"].removeprefix("CMD "))
    path = re.search(r"http://127\.0\.0\.1:8787(/\w+)", check[-1])
    assert path is not None
    with recipe("container", tmp_path, EDGEINF_DATA=str(tmp_path / "data")) as run:
        assert httpx.get(run.url + path[1], timeout=30).status_code == 200
        assert run.chat("hello").status_code == 401
        assert run.chat("hello", Authorization="Bearer APP_SHA256").status_code == 200
        [call] = run.origins["openai"].calls_to("/chat/completions")
        assert dict(call.headers)["authorization"] == "Bearer placeholder-credential"
