from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core import tokens
from edgeinf.core.dialects import by_name
from edgeinf.core.wire.canonical import JsonObject


@pytest.mark.parametrize(
    ("model", "text", "wanted", "counter"),
    [
        ("gpt-4o", "hello world", 2, "o200k_base"),
        ("gpt-4", "hello world", 2, "cl100k_base"),
        ("openai/gpt-4o-mini", "世界", 1, "o200k_base"),
        ("gpt-4", "世界", 3, "cl100k_base"),
        ("text-embedding-3-small", "", 0, "cl100k_base"),
        ("gpt-4o", "<|endoftext|>", 7, "o200k_base"),
    ],
)
def test_a_published_encoding_counts_exactly(model: str, text: str, wanted: int, counter: str) -> None:
    assert tokens.count(model, text) == tokens.Count(tokens=wanted, exact=True, counter=counter)


def test_an_unpublished_encoding_is_called_an_estimate() -> None:
    done = tokens.count("claude-sonnet-4-5", "hello world")
    assert not done.exact
    assert done.counter == "o200k_base (estimate)"


@given(st.text())
def test_no_text_has_more_tokens_than_the_upper_bound(text: str) -> None:
    assert tokens.count("gpt-4o", text).tokens <= tokens.upper_bound(text)
    assert tokens.upper_bound(text) == tokens.upper_bound(text.encode())


@pytest.mark.parametrize(("text", "wanted"), [("", 0), ("a", 1), ("abcdefgh", 2), ("世界", 2), ("ab世", 2)])
def test_an_estimate_needs_no_vocabulary(text: str, wanted: int) -> None:
    assert tokens.estimate(text) == wanted


def call_tokens(body: JsonObject, dialect: str = "openai-chat") -> tokens.Count:
    api = by_name(dialect)
    return tokens.count_call(api.read(next(iter(api.paths)), "", body))


def test_plain_chat_is_counted_with_its_frame() -> None:
    # the example of OpenAI's cookbook: 3 per message, role and content, 3 for the reply
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello world"}]}
    assert call_tokens(body) == tokens.Count(tokens=3 + 1 + 2 + 3, exact=True, counter="o200k_base")


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]}]},
        {"model": "some-llama"},
    ],
    ids=["tools", "parts", "model"],
)
def test_what_frames_unknown_things_is_no_exact_count(more: JsonObject) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello world"}], **more}
    assert not call_tokens(body).exact


def run_apart(code: str, **environment: str) -> str:
    """Run code in an interpreter that cannot reach a network through a proxy."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": os.environ["PATH"], "https_proxy": "http://127.0.0.1:1", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


_COUNT = "from edgeinf.core import tokens; print(tokens.count('gpt-4', 'hello world'))"


def test_vocabularies_are_unpacked_once_under_the_names_that_tiktoken_knows(tmp_path: Path) -> None:
    assert "exact=True" in run_apart(_COUNT, HOME=str(tmp_path))
    placed = tmp_path / ".cache" / "edgeinf" / "tiktoken"
    assert [path.name for path in placed.iterdir()] == ["9b5ad71b2ce5302211f9c61530b329a4922fc6a4"]
    before = next(placed.iterdir()).stat().st_mtime_ns
    run_apart(_COUNT, HOME=str(tmp_path))
    assert next(placed.iterdir()).stat().st_mtime_ns == before


def test_a_named_cache_directory_is_used_and_a_damaged_file_replaced(tmp_path: Path) -> None:
    damaged = tmp_path / "named" / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
    damaged.parent.mkdir()
    damaged.write_bytes(b"half")
    assert "exact=True" in run_apart(_COUNT, HOME=str(tmp_path / "home"), TIKTOKEN_CACHE_DIR=str(damaged.parent))
    assert damaged.stat().st_size > 1_000_000
    assert not (tmp_path / "home").exists()


def test_without_a_place_for_vocabularies_the_count_is_an_estimate_and_nothing_is_fetched() -> None:
    assert "bytes (estimate)" in run_apart(_COUNT, HOME="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere")


def test_nothing_heavy_is_imported_before_the_first_count() -> None:
    code = (
        "import sys; from edgeinf.core import tokens, pricing; print({'tiktoken', 'genai_prices'} & set(sys.modules))"
    )
    assert run_apart(code).strip() == "set()"
