"""How a command ends: with a code that scripts can rely on, a message, and never a traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from edgeinf.cli.failures import Terminated, translated
from edgeinf.core.errors import EdgeinfError, FindingError, RemoteError, UsageError
from tests.cli.commands import command, edgeinf


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (UsageError("wrong", hint="do this"), 2, "error: wrong\nhint: do this\n"),
        (FindingError("found"), 1, "error: found\n"),
        (RemoteError("away"), 5, "error: away\n"),
        (UsageError("the key sk-abcdefghijklmnop0123456789 is wrong"), 2, "error: the key "),
        (KeyboardInterrupt(), 130, ""),
        (Terminated(), 143, ""),
        (OSError(28, "No space left on device", "/a"), 2, "error: cannot write: no space left on device (/a)\n"),
        (ZeroDivisionError("zero"), 3, "error: a bug in edgeinf: ZeroDivisionError: zero\n"),
        (OSError(5, "I/O error"), 3, "error: a bug in edgeinf: "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_what_is_raised_becomes_a_code_and_a_message(
    raised: BaseException, code: int, said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDGEINF_DEBUG", raising=False)
    saved = os.dup(1)
    try:
        with translated() as outcome:
            raise raised
    finally:
        os.dup2(saved, 1)
        os.close(saved)
    error = capfd.readouterr().err
    assert outcome.code == code
    assert error.startswith(said)
    assert bool(error) == bool(said)
    assert "abcdefghijklmnop" not in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("raised", "number", "code"),
    [(KeyboardInterrupt, signal.SIGINT, 130), (Terminated, signal.SIGTERM, 143)],
    ids=["ctrl-c", "terminate"],
)
def test_an_interrupt_that_python_drops_is_heard_all_the_same(
    raised: type[BaseException], number: signal.Signals, code: int
) -> None:
    def interrupted(*_: object) -> None:
        raise raised

    before = signal.signal(number, interrupted)
    try:
        with translated() as outcome:
            dying = threading.Event()
            watch = weakref.ref(dying, interrupted)  # what a callback of this kind raises is written and forgotten
            del dying
            assert watch() is None
            time.sleep(20)
            pytest.fail("nothing was heard")
    finally:
        signal.signal(number, before)
    assert outcome.code == code


def test_an_interrupt_of_code_made_from_text_ends_with_its_code_and_not_by_the_signal(tmp_path: Path) -> None:
    """Dataclasses are such code, and Python counts an interrupt in it as never caught."""
    program = """
import sys
import edgeinf.cli.app as app
from edgeinf.__main__ import main
from edgeinf.cli.failures import translated

def run(argv):
    with translated() as outcome:
        print("said", end="")
        exec("raise KeyboardInterrupt")
    return outcome.code

app.run = run
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"said", b"")


@pytest.mark.parametrize("raised", [UsageError("wrong"), ZeroDivisionError("zero")], ids=["ours", "bug"])
def test_with_debug_the_place_is_shown(raised: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEINF_DEBUG", "1")
    with pytest.raises(type(raised)), translated():
        raise raised


def test_an_exit_that_is_none_of_ours_is_left_alone() -> None:
    with pytest.raises(SystemExit), translated():
        raise SystemExit(7)


def test_every_error_has_a_code_of_the_contract() -> None:
    def every(kind: type[EdgeinfError]) -> set[int]:
        return {kind.exit_code}.union(*(every(child) for child in kind.__subclasses__()))

    assert every(EdgeinfError) <= {1, 2, 3, 4, 5}


CLOSED = ["--version", "--help", "schema", "serve --help", "validate --explain all", "cache stats --json", "keys new"]


@pytest.mark.parametrize("line", CLOSED)
def test_a_closed_pipe_ends_quietly(line: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        command(*line.split()), stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    ) as process:  # fmt: skip
        os.close(writing)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")


@pytest.mark.parametrize("line", ["--version", "schema"])
def test_a_full_disk_is_said(line: str, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(command(line), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "error: cannot write: no space left on device\n")


def test_a_closed_output_is_no_bug(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command("schema")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("file", "code"), [("edgeinf.yaml", 0), ("absent.yaml", 2)], ids=["fine", "an error"])
def test_a_closed_standard_error_changes_no_code(file: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "edgeinf.yaml").write_text("version: 1\n")
    for line in (["validate", file], ["init", "--no-detect", "new.yaml"]):
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" 2>&-', "sh", *command(*line)], stdout=subprocess.PIPE, cwd=tmp_path, timeout=60
        )
        assert done.returncode == (code if line[0] == "validate" else 0)


BAD = {
    "no command": ["nonsense"],
    "an option that is none": ["serve", "--nonsense"],
    "a file that is not there": ["analyze", "nothing.jsonl"],
    "a config that is not there": ["serve", "--config", "nothing.yaml"],
    "a config with a wrong key": ["serve", "--config", "wrong.yaml"],
    "a config that is a folder": ["serve", "--config", "."],
    "a config that is no text": ["serve", "--config", "binary.yaml"],
    "a config of the wrong shape": ["validate", "nothing.yaml"],
    "a port that is none": ["serve", "--port", "99999"],
    "a host that is not here": ["serve", "--host", "192.0.2.1", "--port", "0", "--insecure"],
    "a bind to the world without auth": ["serve", "--host", "0.0.0.0", "--port", "0"],
    "an upstream that is no url": ["serve", "--upstream", "nonsense"],
    "demo with an upstream": ["serve", "--demo", "--upstream", "http://127.0.0.1:9"],
    "no workers": ["serve", "--workers", "0"],
    "too few requests": ["demo", "--requests", "1"],
    "a body that is not there": ["explain", "a.json", "b.json"],
    "a body that is no json": ["explain", "binary.yaml", "binary.yaml"],
    "a log that is not there": ["replay", "nothing.jsonl", "--to", "http://127.0.0.1:9"],
    "a speed that is none": ["replay", "wrong.yaml", "--to", "http://127.0.0.1:9", "--speed", "fast"],
    "a script that is not there": ["mock", "--script", "nothing.yaml"],
    "a folder that is not there": ["index", "nothing"],
    "a target that is none": ["probe", "nonsense://x", "--yes"],
    "a key without a name": ["keys", "nonsense"],
    "an archive that is not there": ["cache", "import", "nothing"],
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD.keys())
def test_what_cannot_be_used_is_said_with_code_2(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("cache: {levle: exact}\n")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x01")
    done = edgeinf(*arguments, home=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    first = done.stderr.splitlines()[0]
    assert first.startswith("error: ")
    assert not first.endswith(".")
    assert "Traceback" not in done.stderr
    assert "a bug in edgeinf" not in done.stderr


def test_a_misspelt_key_is_said_with_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "edgeinf.yaml").write_text("cache: {levle: exact}\n")
    done = edgeinf("serve", home=tmp_path)
    assert done.returncode == 2
    assert "levle" in done.stderr
    assert "level" in done.stderr


def test_a_port_that_is_taken_is_said_with_another_way(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments in (["serve", "--port", port], ["demo", "--port", port]):
            done = edgeinf(*arguments, home=tmp_path)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"cannot listen on 127.0.0.1:{port}: address already in use" in done.stderr
            assert "--port" in done.stderr


def test_a_cache_that_cannot_be_used_does_not_stop_the_server_but_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    config = tmp_path / "edgeinf.yaml"
    config.write_text(f"cache: {{disk: {{path: {tmp_path / 'file' / 'x'}}}}}\n")
    done = edgeinf("cache", "stats", home=tmp_path)
    assert done.returncode == 2
    assert "cannot be used" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "terminate"])
@pytest.mark.parametrize(
    "line",
    ["serve --demo --port 0 --json", "demo --requests 20000", "demo --requests 20 --stay", "mock --port 0"],
    ids=["serve", "demo", "stay", "mock"],
)
def test_an_interrupt_has_its_code_and_leaves_nothing_behind(
    line: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command(*line.split()), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, env=env
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()  # it has begun
        time.sleep(1.0)
        process.send_signal(number)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in said + rest
    assert [path.name for path in tmp_path.glob("edgeinf-*")] == []
