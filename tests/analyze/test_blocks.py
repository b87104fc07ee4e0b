"""Blocks number prefixes."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.blocks import BLOCK_BYTES, chained, prompt_blocks
from edgeinf.core.call import Call


def _blocks(*said: str, **fields: Any) -> tuple[int, ...]:
    body = {"model": "m", "messages": [{"role": "user", "content": text} for text in said], **fields}
    return prompt_blocks(Call(dialect="openai-chat", path="/v1/chat/completions", model="m", body=body))


LONG = "x" * BLOCK_BYTES * 4


def test_a_longer_history_keeps_the_blocks_of_the_shorter() -> None:
    short, longer = _blocks(LONG), _blocks(LONG, LONG)
    assert len(longer) > len(short) >= 4
    assert longer[: len(short)] == short


def test_one_change_in_the_tools_changes_every_block() -> None:
    one, other = _blocks(LONG, tools=[{"name": "a"}]), _blocks(LONG, tools=[{"name": "b"}])
    assert set(one).isdisjoint(other)


def test_short_prompts_have_none() -> None:
    assert _blocks("short") == ()


def test_chained_ids_stand_for_all_before_them() -> None:
    assert chained([1, 2, 3])[:2] == chained([1, 2])
    assert chained([9, 2])[1] != chained([1, 2])[1]
    assert chained([1], "a") != chained([1], "b")
