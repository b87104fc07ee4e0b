"""A seeded client of a chat server, for experiments in which the place it runs in matters.

    python -m tests.benchmarks.traffic URL --place lisbon --rate 10 --seconds 30 --out log.jsonl

Sends calls of several dialects at Poisson times, whole and streamed, some of them again; reads every answer to its end
and holds it against the one that a scripted origin must give, which follows from the request alone. Writes one line of
JSON per call: what came, from which region, when the first token came, and whether it was right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec

from edgeinf.core.wire import sse
from edgeinf.core.wire.headers import get
from edgeinf.mock.content import content_of
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask
from edgeinf.serve.origin.client import OriginFailure, Request
from edgeinf.serve.origin.pool import Connections

__all__ = ["Outcome", "read_log"]

KINDS = ("chat-stream", "chat-whole", "messages-stream", "responses-stream")
_PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
_PATIENCE_S = 60.0


class Outcome(msgspec.Struct, kw_only=True):
    """One call. ``result``: right, wrong, cut (after its first token, and said so), failed."""

    at: float  # seconds since the epoch
    place: str
    kind: str
    result: str
    status: int = 0
    region: str = ""
    cache: str = ""
    ttft_ms: float | None = None
    total_ms: float = 0.0
    attempts: int = 0
    error: str = ""


def read_log(path: Path) -> list[Outcome]:
    """Return the calls of one log."""
    return [msgspec.json.decode(line, type=Outcome) for line in path.read_bytes().splitlines()]


def make_body(kind: str, prompt: str, model: str) -> tuple[str, dict[str, Any]]:
    """Return path and body of a call."""
    dialect, _, shape = kind.partition("-")
    body: dict[str, Any] = {"model": model, "stream": shape == "stream"}
    if dialect == "responses":
        body |= {"input": prompt, "store": False}
    else:
        body["messages"] = [{"role": "user", "content": prompt}]
    if dialect == "messages":
        body["max_tokens"] = 100
    return _PATHS[dialect], body


def expected(path: str, body: dict[str, Any], tokens: int) -> str:
    """Return the text that a scripted origin answers this request with."""
    ask = Ask(method="POST", path=path, query="", headers=[], body=json.dumps(body).encode())
    ask.read()
    return "".join(content_of(ask, Shape(tokens=tokens)).text)


class Client:
    """One place's client. With ``fresh`` every call has a connection of its own."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._kept = Connections(ca_file=options.ca)
        self._log = Path(options.out).open("ab", buffering=0)  # noqa: SIM115 - until the process ends

    async def run(self) -> None:
        """Send calls until the time is over and wait for the last answers."""
        options = self._options
        rng = random.Random(f"{options.seed} {options.place}")
        asked: list[tuple[str, str]] = []
        kinds = options.kinds.split(",")
        end = time.monotonic() + options.seconds
        due = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(options.calls or 10**9):
                if time.monotonic() >= end:
                    break
                if asked and rng.random() < options.repeats:
                    kind, prompt = rng.choice(asked)
                else:
                    kind, prompt = rng.choice(kinds), f"{options.place} asks {number} of seed {options.seed}"
                    asked.append((kind, prompt))
                task = group.create_task(self._call(kind, prompt))
                if options.one_by_one:
                    await task
                    continue
                due += rng.expovariate(options.rate)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
        await self._kept.aclose()

    async def _call(self, kind: str, prompt: str) -> None:
        path, body = make_body(kind, prompt, self._options.model)
        outcome = Outcome(at=time.time(), place=self._options.place, kind=kind, result="failed")
        client = Connections(ca_file=self._options.ca) if self._options.fresh else self._kept
        started = time.perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                text, whole = await self._ask(client, path, body, outcome, started)
            if outcome.status != 200:
                outcome.error = text[:200]
            elif whole:
                right = text == expected(path, body, self._options.tokens)
                outcome.result = "right" if right else "wrong"
            else:
                outcome.result = "cut" if text and outcome.error else "failed"
        except (OriginFailure, TimeoutError) as error:
            outcome.error = outcome.error or str(error) or "no answer in time"
        finally:
            if client is not self._kept:
                await client.aclose()
        outcome.total_ms = (time.perf_counter() - started) * 1000
        self._log.write(msgspec.json.encode(outcome) + b"\n")

    async def _ask(
        self, client: Connections, path: str, body: dict[str, Any], outcome: Outcome, started: float
    ) -> tuple[str, bool]:
        headers = [(b"content-type", b"application/json"), (b"authorization", b"Bearer experiment")]
        if path == "/v1/messages":
            headers.append((b"anthropic-version", b"2023-06-01"))
        raw = json.dumps(body).encode()
        url = self._options.url + path
        response = await client.send(
            Request(method="POST", url=url, headers=headers, body=raw, connect_timeout_s=_PATIENCE_S)
        )
        outcome.status = response.status
        outcome.region = (get(response.headers, b"x-edgeinf-region") or b"").decode()
        outcome.cache = (get(response.headers, b"x-edgeinf-cache") or b"").decode()
        gathered = b""
        decoder, text, ended = sse.Decoder(), [], False
        streamed = b"event-stream" in (get(response.headers, b"content-type") or b"")
        while (part := await response.read()) is not None:
            if not streamed:
                gathered += part
                continue
            for event in decoder.feed(part):
                piece, last, error = _read_event(event)
                if piece and outcome.ttft_ms is None:
                    outcome.ttft_ms = (time.perf_counter() - started) * 1000
                text.append(piece)
                ended = ended or last
                outcome.error = outcome.error or error
        if streamed:
            return "".join(text), ended
        outcome.ttft_ms = (time.perf_counter() - started) * 1000
        if response.status != 200:
            return gathered.decode("utf-8", "replace"), False
        return str(json.loads(gathered)["choices"][0]["message"]["content"]), True


def _read_event(event: sse.Event) -> tuple[str, bool, str]:
    """Return the text an event brings, whether it is the last, and the error in it."""
    if event.is_done:
        return "", True, ""
    data = json.loads(event.data)
    if data.get("error") or event.name == b"error":
        return "", False, json.dumps(data.get("error") or data)[:200]
    kind = data.get("type", "")
    if kind == "content_block_delta":
        return data["delta"].get("text", ""), False, ""
    if kind == "response.output_text.delta":
        return data["delta"], False, ""
    if kind in ("message_stop", "response.completed"):
        return "", True, ""
    choices = data.get("choices") or [{}]
    return choices[0].get("delta", {}).get("content") or "", False, ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--place", default="here")
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--repeats", type=float, default=0.0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--model", default="m")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ca")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", required=True)
    asyncio.run(Client(parser.parse_args()).run())


if __name__ == "__main__":
    main()
