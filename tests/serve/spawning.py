"""The server as its users start it: a process of its own, with a config file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

__all__ = ["Spawned", "config_file", "spawned", "wait_until"]

KEY = {"authorization": "Bearer sk-of-a-test-0123456789"}


class Spawned:
    """A running server. ``errors`` is what it has said on stderr so far."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self._log = log

    @property
    def errors(self) -> str:
        return self._log.read_text()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def ask(self, content: str = "hi", *, headers: Mapping[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Ask a chat question over a connection of its own."""
        body = {"model": "mock-small", "messages": [{"role": "user", "content": content}], **fields}
        return httpx.post(
            f"{self.url}/v1/chat/completions",
            json=body,
            headers={**KEY, **(headers or {})},
            timeout=60,
            trust_env=False,
        )

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=KEY, timeout=30, trust_env=False)

    def stats(self) -> dict[str, Any]:
        return self.get("/_edgeinf/api/stats").json()  # type: ignore[no-any-return]


def config_file(folder: Path, *urls: str, **sections: Any) -> Path:
    """Write a config in front of some origins; files are kept in ``folder``."""
    made = {
        "regions": [
            {
                "name": f"region{n}" if n else "region",
                "url": url,
                "passthrough": True,
                "serves": ["openai", "anthropic"],
            }
            for n, url in enumerate(urls)
        ],
        "cache": {"disk": None},
        "events": {"file": str(folder / "events.jsonl")},
        **sections,
    }
    path = folder / "edgeinf.yaml"
    fresh = folder / "edgeinf.yaml.new"
    fresh.write_text(yaml.safe_dump(made))
    fresh.replace(path)
    return path


@contextlib.contextmanager
def spawned(
    config: Path, *arguments: str, env: Mapping[str, str] | None = None, pass_fds: tuple[int, ...] = ()
) -> Iterator[Spawned]:
    """Start ``edgeinf serve`` and wait until it is ready; end it at the end of the block."""
    log = config.with_suffix(f".{time.monotonic_ns()}.log")
    command = [sys.executable, "-m", "edgeinf", "serve", "--config", str(config), "--port", "0", "--json", *arguments]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **(env or {})},
            pass_fds=pass_fds,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        yield Spawned(process, json.loads(line)["url"], log)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()


def wait_until(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)
