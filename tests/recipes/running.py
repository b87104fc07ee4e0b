"""Run a recipe as its reader would: the command itself, its config as it is, scripted origins as its regions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from edgeinf.core.config.source import read_source
from edgeinf.mock import ThreadedOrigin
from tests.recipes.kit import ENV, config_of

__all__ = ["Running", "command", "environment", "origins_for", "recipe"]

_START_S = 30


@dataclass(frozen=True, kw_only=True)
class Running:
    """A recipe that runs: where it listens, and the scripted origin of each of its regions."""

    url: str
    origins: Mapping[str, ThreadedOrigin]
    home: Path

    def chat(self, content: str, *, model: str = "gpt-4o-mini", **headers: str) -> httpx.Response:
        """Ask a chat question; underscores in header names stand for dashes."""
        body = {"model": model, "messages": [{"role": "user", "content": content}]}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.post(f"{self.url}/v1/chat/completions", json=body, headers=named, timeout=30)

    def asked(self) -> dict[str, int]:
        """Return how many chat calls each region has had."""
        return {name: len(origin.calls_to("/chat/completions")) for name, origin in self.origins.items()}


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the variables of a run whose files are all in ``home``."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, **ENV, "HOME": str(home), "EDGEINF_EVENTS__FILE": str(home / "events.jsonl"), **more}


@contextmanager
def origins_for(
    name: str, scripts: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[dict[str, ThreadedOrigin]]:
    """Start a scripted origin for each region of a recipe."""
    tree = read_source(config_of(name).read_bytes(), name).tree
    with ExitStack() as stack:
        yield {
            region["name"]: stack.enter_context(
                ThreadedOrigin({"name": region["name"], **(scripts or {}).get(region["name"], {})})
            )
            for region in tree["regions"]
        }


def pointed_at(origins: Mapping[str, ThreadedOrigin]) -> dict[str, str]:
    """Return the variables that put the origins in the place of the regions."""
    return {f"EDGEINF_REGIONS__{n}__URL": f"{origin.url}/v1" for n, origin in enumerate(origins.values())}


def command(*arguments: str, home: Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run one command of a recipe to its end."""
    return subprocess.run(
        [sys.executable, "-m", "edgeinf", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cwd,
        env=environment(home, **env),
    )


@contextmanager
def served(name: str, home: Path, **env: str) -> Iterator[str]:
    """Run ``edgeinf serve`` with a recipe's config on a free port and give its address."""
    arguments = ["serve", "--config", str(config_of(name)), "--host", "127.0.0.1", "--port", "0", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "edgeinf", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home, **env),
    )
    watchdog = threading.Timer(_START_S, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        watchdog.cancel()
        if not line:
            raise AssertionError(f"serve did not start: {process.communicate(timeout=5)[1]}")
        yield json.loads(line)["url"]
    finally:
        watchdog.cancel()
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@contextmanager
def recipe(
    name: str, home: Path, *, scripts: Mapping[str, Mapping[str, Any]] | None = None, **env: str
) -> Iterator[Running]:
    """Run a recipe before scripted origins."""
    with origins_for(name, scripts) as origins, served(name, home, **{**pointed_at(origins), **env}) as url:
        yield Running(url=url, origins=origins, home=home)
