from __future__ import annotations

import configparser
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import need
from tests.recipes.kit import FOLDER, config_of
from tests.recipes.running import command, recipe

_UNIT = FOLDER / "systemd" / "edgeinf.service"


def _service() -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(_UNIT.read_text(encoding="utf-8"))
    return dict(parser["Service"])


def test_the_unit_is_accepted_by_systemd(tmp_path: Path) -> None:
    program = need("systemd-analyze")
    text = _UNIT.read_text(encoding="utf-8")
    for line in text.splitlines():
        if "/opt/edgeinf/bin/edgeinf" in line:
            text = text.replace("/opt/edgeinf/bin/edgeinf", sys.executable)
    unit = tmp_path / "edgeinf.service"
    unit.write_text(text)
    done = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines() if "edgeinf.service" in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("key", ["ExecStartPre", "ExecStart"])
def test_the_units_commands_are_ours(key: str, tmp_path: Path) -> None:
    words = shlex.split(_service()[key])
    assert words[0] == "/opt/edgeinf/bin/edgeinf"
    help_text = command(words[1], "--help", home=tmp_path, cwd=tmp_path).stdout
    assert all(word in help_text for word in words if word.startswith("--"))
    if words[1] == "validate":
        done = command("validate", str(config_of("systemd")), home=tmp_path, cwd=tmp_path)
        assert done.returncode == 0, done.stdout


def test_it_tells_the_manager_when_it_is_ready(tmp_path: Path) -> None:
    assert _service()["Type"] == "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "CACHE_DIRECTORY": str(tmp_path / "cache")}
        with recipe("systemd", tmp_path, **env):
            said = manager.recv(4096)
    assert b"READY=1" in said.splitlines()


def test_the_config_runs_in_the_units_folders(tmp_path: Path) -> None:
    cache, state = tmp_path / "cache", tmp_path / "state"
    env = {"CACHE_DIRECTORY": str(cache), "STATE_DIRECTORY": str(state), "EDGEINF_EVENTS__FILE": str(state / "e.jsonl")}
    with recipe("systemd", tmp_path, **env) as run:
        assert run.chat("hello").status_code == 200
    assert cache.is_dir()
    assert (state / "e.jsonl").is_file()
