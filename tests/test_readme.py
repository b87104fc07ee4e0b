"""The README holds: its commands run, its links lead somewhere, its tables say what the code says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from edgeinf.cli.app import COMMANDS
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.mock import ThreadedOrigin

_ROOT = Path(__file__).resolve().parents[1]
_TEXT = (_ROOT / "README.md").read_text()


def section(title: str) -> str:
    """Return what stands under a heading."""
    return _TEXT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def shell_lines(text: str) -> list[str]:
    """Return the lines of all shell blocks."""
    return [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]


FIRST_FIVE_MINUTES = shell_lines(section("The first five minutes"))


@pytest.fixture
def shell(tmp_path: Path, origin_thread: ThreadedOrigin) -> Mapping[str, str]:
    """The environment of somebody at a shell who has just installed it, in ``tmp_path``."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "edgeinf").write_text(f'#!/bin/sh\nexec {sys.executable} -m edgeinf "$@"\n')
    (programs / "edgeinf").chmod(0o755)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("EDGEINF_", "OPENAI_", "ANTHROPIC_"))
    }
    return {
        **kept,
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(_ROOT),
        "EDGEINF_LISTEN__PORT": "0",  # the usual one may be in use where the tests run
        "OPENAI_API_KEY": "sk-of-somebody-0123456789",
    }


def serving(line: str, shell: Mapping[str, str], home: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a command that serves and return it with the url that it says."""
    process = subprocess.Popen(["sh", "-c", f"exec {line}"], stdout=subprocess.PIPE, text=True, cwd=home, env=shell)
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    assert said.startswith("export OPENAI_BASE_URL=http://127.0.0.1:")
    assert process.stdout.readline().startswith("export ANTHROPIC_BASE_URL=http://127.0.0.1:")
    return process, said.partition("=")[2]


def ended(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode


def question(url: str) -> httpx.Response:
    body = {"model": "my-model", "messages": [{"role": "user", "content": "what is an edge?"}]}
    headers = {"authorization": "Bearer sk-of-somebody-0123456789"}
    return httpx.post(f"{url}/chat/completions", json=body, headers=headers, timeout=30, trust_env=False)


def test_the_first_five_minutes_go_as_written(
    shell: Mapping[str, str], tmp_path: Path, origin_thread: ThreadedOrigin
) -> None:
    """Every command, in its order, in one home; the local server of the second line is a scripted one."""
    assert len(FIRST_FIVE_MINUTES) >= 8
    body = {"model": "my-model", "messages": [{"role": "user", "content": "hi"}]}
    rows = [{"at": f"2025-01-01T00:00:{n:02}Z", "path": "/v1/chat/completions", "request": body} for n in range(9)]
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "first.json").write_text(json.dumps(body))
    (tmp_path / "second.json").write_text(json.dumps({**body, "model": "another"}))
    asked = False
    for written in FIRST_FIVE_MINUTES:
        line = written.replace("http://127.0.0.1:11434", origin_thread.url)
        if line.split("#")[0].split()[:2] == ["edgeinf", "serve"]:
            process, url = serving(line, shell, tmp_path)
            try:
                if origin_thread.url in line or "--config" in line:
                    found = [question(url) for _ in range(3)]
                    assert found[-1].headers["x-edgeinf-cache"] == "hit"
                    assert re.fullmatch(r'edgeinf; hit; ttl=\d+; key="[0-9a-f]{32}"', found[-1].headers["cache-status"])
                    assert found[-1].headers["age"].isdigit()
                    home = url.removesuffix("/v1")
                    for path in ("/_edgeinf/", "/metrics"):
                        assert httpx.get(home + path, timeout=20, trust_env=False).status_code == 200
                    asked = True
            finally:
                code = ended(process)
            assert code == 143, line
            continue
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, timeout=120, cwd=tmp_path, env=shell, check=False
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        if line.startswith("edgeinf init"):  # it found the key of the environment; here its provider is scripted
            made = (tmp_path / "edgeinf.yaml").read_text()
            assert made.count("https://api.openai.com/v1") == 1
            (tmp_path / "edgeinf.yaml").write_text(made.replace("https://api.openai.com/v1", origin_thread.url))
        if line.startswith("edgeinf explain"):
            assert "model" in done.stdout
    assert asked
    assert (tmp_path / ".local/state/edgeinf/events.jsonl").exists()
    assert "an edge" not in (tmp_path / ".local/state/edgeinf/events.jsonl").read_text()


def test_the_two_commands_for_a_fresh_machine_stand_there_once() -> None:
    lines = [line for line in _TEXT.splitlines() if re.match(r"^python3 -m venv \.venv", line)]
    assert len(lines) == 2
    assert lines[0].endswith("&& .venv/bin/edgeinf demo")
    assert lines[1].endswith("&& .venv/bin/pytest")
    assert set(lines) <= set(shell_lines(section("Start")))
    assert "^python3 -m venv" in (_ROOT / ".ci" / "run").read_text()


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"`?edgeinf ([a-z]+)\b", "\n".join(shell_lines(_TEXT) + re.findall(r"`[^`\n]+`", _TEXT))))
    assert named <= set(COMMANDS)
    assert {"serve", "analyze", "probe", "validate", "demo", "init", "explain"} <= named


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", _TEXT)
    assert links
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", _TEXT, re.M)
    }
    for link in links:
        target, _, anchor = link.partition("#")
        if target.startswith("http"):
            continue
        assert not target or (_ROOT / target).exists(), link
        assert not anchor or target or anchor in anchors, link


def test_the_table_of_levels_is_the_codes() -> None:
    rows = re.findall(
        r"^\| `(\w+)`( \(default\))? \|.*\| ([^|]+) \|$", section("When are two requests the same question?"), re.M
    )
    assert [name for name, _, _ in rows] == list(LEVELS)
    assert [name for name, default, _ in rows if default] == ["safe"]
    for name, _, changes in rows:
        level = LEVELS[name]
        passages = (level.user, level.system, level.descriptions)
        rules = [rule for passage in passages for rule in (*passage.text, *passage.opening, *passage.ending)]
        assert any(rule.changes_meaning for rule in rules) == changes.startswith("yes"), name


def test_the_exit_codes_are_the_codes() -> None:
    from edgeinf.core.errors import FindingError, RemoteError, UsageError

    text = section("Exit codes")
    for code in (0, FindingError("").exit_code, UsageError("").exit_code, 3, 4, RemoteError("").exit_code):
        assert f"`{code}`" in text
    assert "`130`/`143`" in text


def test_the_controls_that_a_client_may_send_are_named() -> None:
    from edgeinf.serve.controls import NO_CONTROLS, read_controls

    named = set(re.findall(r"`(X-Edgeinf-[A-Z][a-z]+)`", _TEXT))
    values = {
        "X-Edgeinf-Normalize": "exact",
        "X-Edgeinf-Ttl": "1m",
        "X-Edgeinf-Namespace": "n",
        "X-Edgeinf-Sample": "1",
    }
    assert named == set(values)
    for name, value in values.items():
        assert read_controls({name.lower().encode(): value.encode()}) != NO_CONTROLS
    for directive in re.findall(r"`Cache-Control: ([a-z-]+)`|`(no-store|max-age=N|only-if-cached)`", _TEXT):
        text = "".join(directive).replace("N", "5")
        assert read_controls({b"cache-control": text.encode()}) != NO_CONTROLS, text
