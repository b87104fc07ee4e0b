"""``edgeinf mock`` as a process."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from edgeinf.mock.tls import make_certificate
from tests.programs import need


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command until the block ends; give the process and its first line."""
    command = [sys.executable, "-m", "edgeinf", "mock", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def refused(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edgeinf", "mock", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def post(url: str, body: Any) -> Any:
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.loads(reply.read())


def test_it_answers_counts_and_ends_on_a_signal() -> None:
    with running("--port", "0", "--json", "--ttft", "5ms", "--tokens", "3") as (process, line):
        ready = json.loads(line)
        said = post(f"{ready['url']}/v1/chat/completions", {"model": "m", "messages": []})
        with urllib.request.urlopen(f"{ready['url']}/_mock/calls", timeout=20) as reply:
            calls = json.loads(reply.read())
        process.send_signal(signal.SIGTERM)
        code = process.wait(20)

    assert ready["event"] == "ready"
    assert said["usage"]["completion_tokens"] == 3
    assert calls["total"] == 1
    assert code == 143


def test_a_script_can_hold_several_regions(tmp_path: Path) -> None:
    script = tmp_path / "regions.yaml"
    script.write_text("answer: {tokens: 2}\nregions:\n  - {name: east}\n  - {name: west, fault: '503'}\n")
    with running("--script", str(script), "--json") as (process, line):
        east, west = json.loads(line)["regions"]
        assert post(f"{east['url']}/v1/chat/completions", {})["system_fingerprint"] == "fp_east"
        with pytest.raises(urllib.error.HTTPError, match="503"):
            post(f"{west['url']}/v1/chat/completions", {})
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_it_speaks_https(tmp_path: Path) -> None:
    need("openssl")
    certificate, key = make_certificate(tmp_path)
    with running("--port", "0", "--tls-cert", str(certificate), "--tls-key", str(key)) as (_, line):
        assert line.startswith("mock: https://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fault", "cutt:5%"], "did you mean 'cut'?"),
        (["--fault", "cut:often"], "has no rate after the colon"),
        (["--ttft", "soon"], "'soon' is not a duration"),
        (["--script", "/nowhere.yaml"], "cannot read the script (/nowhere.yaml)"),
        (["--tls-cert", "x.pem"], "--tls-cert and --tls-key belong together"),
        (["--port", "70000"], "--port"),
    ],
    ids=["fault", "rate", "duration", "file", "tls", "port"],
)
def test_wrong_usage_is_a_clear_error(arguments: list[str], said: str) -> None:
    done = refused(*arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_port_in_use_is_named() -> None:
    with running("--port", "0", "--json") as (_, line):
        port = json.loads(line)["url"].rsplit(":", 1)[1]
        done = refused("--port", port)

    assert done.returncode == 2
    assert f"cannot listen (127.0.0.1:{port})" in done.stderr


def test_faults_are_listed() -> None:
    done = refused("--list-faults")

    assert done.returncode == 0
    assert "\nstall;after=1" in done.stdout


def _examples() -> list[str]:
    text = refused("--help").stdout
    return [line.strip() for line in text.splitlines() if line.strip().startswith("edgeinf mock ")][:2]


def test_the_two_examples_of_the_help_run() -> None:
    examples = _examples()

    assert len(examples) == 2
    for example in examples:
        arguments = shlex.split(example)[2:]
        with running(*arguments, "--port", "0") as (_, line):
            assert line.startswith("mock: http://127.0.0.1:")
