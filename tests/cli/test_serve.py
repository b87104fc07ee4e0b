"""``edgeinf serve`` as a person and a script start it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from edgeinf.mock import ThreadedOrigin
from tests.cli.commands import command
from tests.cli.examples import examples


@contextmanager
def started(home: Path, *arguments: str, env: dict[str, str] | None = None) -> Iterator[tuple[list[str], list[str]]]:
    """Start the command and wait until it is ready; give its lines, and what it says on stderr once it has ended."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EDGEINF_")}
    errors: list[str] = []
    with subprocess.Popen(
        command("serve", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env={**kept, "HOME": str(home), **(env or {})},
    ) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline()]
            if not lines[0].startswith("{"):
                lines.append(process.stdout.readline())
            yield lines, errors
        finally:
            process.send_signal(signal.SIGTERM)
            _, error = process.communicate(timeout=30)
            errors.append(error)
    assert process.returncode == 143, error


def ask(url: str, **headers: str) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    return httpx.post(f"{url}/chat/completions", json=body, headers=headers, timeout=30, trust_env=False)


def test_what_it_prints_can_be_pasted_and_works(tmp_path: Path, origin_thread: ThreadedOrigin) -> None:
    with started(tmp_path, "--upstream", origin_thread.url, "--port", "0") as (lines, errors):
        script = "".join(lines) + 'printf "%s\\n%s" "$OPENAI_BASE_URL" "$ANTHROPIC_BASE_URL"'
        shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20, check=True)
        openai, anthropic = shell.stdout.split("\n")
        assert openai == f"{anthropic}/v1"
        answers = [ask(openai, authorization="Bearer sk-of-the-client-0123456789") for _ in range(3)]
        assert [answer.headers["x-edgeinf-cache"] for answer in answers] == ["miss", "hit", "hit"]
        message = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
        assert httpx.post(f"{anthropic}/v1/messages", json=message, trust_env=False).status_code == 200
    assert "in front of upstream, level safe" in errors[0]
    # The client's own credential went on, and is nowhere in what was written.
    assert origin_thread.calls[0].headers["authorization"] == "Bearer sk-of-the-client-0123456789"
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-of-the-client" not in kept
    assert (tmp_path / ".local/state/edgeinf/events.jsonl").read_text().count("\n") == 4


def test_a_script_gets_one_line_of_json(tmp_path: Path, origin_thread: ThreadedOrigin) -> None:
    with started(tmp_path, "--upstream", origin_thread.url, "--port", "0", "--json") as (lines, _):
        ready = json.loads(lines[0])
        assert ready["event"] == "ready"
        assert httpx.get(f"{ready['url']}/readyz", trust_env=False).status_code == 200


def test_what_is_stored_is_there_after_a_restart(tmp_path: Path, origin_thread: ThreadedOrigin) -> None:
    for seen in ("miss", "hit"):
        with started(tmp_path, "--upstream", origin_thread.url, "--port", "0", "--json") as (lines, _):
            answer = ask(json.loads(lines[0])["url"] + "/v1")
            assert answer.headers["x-edgeinf-cache"] == seen
    assert len(origin_thread.calls) == 1


def test_flags_go_before_the_environment_before_the_file(tmp_path: Path, origin_thread: ThreadedOrigin) -> None:
    (tmp_path / "edgeinf.yaml").write_text(
        f"regions: [{{name: of-the-file, url: '{origin_thread.url}', passthrough: true}}]\n"
        "listen: {host: 127.0.0.2, port: 0}\ncache: {level: exact, disk: null}\nevents: {file: null}\n"
    )
    env = {"EDGEINF_LISTEN__HOST": "127.0.0.3", "EDGEINF_CACHE__LEVEL": "loose"}
    with started(tmp_path, "--json", env=env) as (lines, _):
        url = json.loads(lines[0])["url"]
        assert url.startswith("http://127.0.0.3:")
        assert ask(f"{url}/v1").headers["x-edgeinf-region"] == "of-the-file"
    with started(tmp_path, "--host", "127.0.0.4", env=env) as (lines, errors):
        assert "=http://127.0.0.4:" in lines[0]
    assert "level loose" in errors[0]


def test_a_secret_of_the_config_is_never_shown(tmp_path: Path, origin_thread: ThreadedOrigin) -> None:
    key = "sk-of-the-region-0123456789abcdef"
    (tmp_path / "edgeinf.yaml").write_text(
        f"regions: [{{name: r, url: '{origin_thread.url}', api_key: '${{REGION_KEY}}'}}]\ncache: {{disk: null}}\n"
    )
    with started(tmp_path, "--port", "0", "--json", env={"REGION_KEY": key}) as (lines, errors):
        url = json.loads(lines[0])["url"]
        assert ask(f"{url}/v1").status_code == 200
        shown = [httpx.get(f"{url}{path}", trust_env=False).text for path in ("/metrics", "/_edgeinf/api/stats")]
    assert origin_thread.calls[0].headers["authorization"] == f"Bearer {key}"
    assert key not in "".join([*lines, *errors, *shown])
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_without_a_port_to_itself_ipv6_works_as_well(tmp_path: Path, origin_thread: ThreadedOrigin) -> None:
    with started(tmp_path, "--upstream", origin_thread.url, "--host", "::1", "--port", "0", "--json") as (lines, _):
        url = json.loads(lines[0])["url"]
        assert url.startswith("http://[::1]:")
        assert ask(f"{url}/v1").status_code == 200


@pytest.mark.parametrize("arguments", examples("serve"), ids=shlex.join)
def test_the_examples_of_the_help_run(arguments: list[str], tmp_path: Path) -> None:
    """On a port of the test's choosing, since the usual one may be in use here."""
    name, *rest = arguments
    assert name == "serve"
    if "--port" in rest:
        rest[rest.index("--port") + 1] = "0"
    else:
        rest += ["--port", "0"]
    with started(tmp_path, *rest) as (lines, _):
        assert lines[0].startswith("export OPENAI_BASE_URL=http://127.0.0.1:")
        assert lines[1].startswith("export ANTHROPIC_BASE_URL=http://127.0.0.1:")
        if "--demo" in rest:
            assert ask(lines[0].strip().split("=")[1]).status_code == 200
