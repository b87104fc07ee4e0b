"""What is equal at a level is equal in its fingerprint."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeinf.analyze.coarse import (
    COARSE,
    REWRITTEN_DIALECTS,
    TELLING,
    CoarseLevel,
    coarse_levels,
    digest,
    fingerprint,
    squashed,
)
from edgeinf.core.dialects import by_name
from edgeinf.core.key import canonical_forms
from edgeinf.core.normalize.levels import LEVELS, level
from tests.core.normalize.texts import nasty_texts

MASKS = [None, (), ("timestamps", "uuids", "user:request-ids")]
IDS = ["default", "none", "own"]
NAMES = tuple(LEVELS)
PARTS = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, nasty_texts)
    | st.just({"type": "image_url", "image_url": {"url": "data:x"}}),
    max_size=3,
)


def _levels(masks: tuple[str, ...] | None) -> list[CoarseLevel]:
    return [coarse for coarse in coarse_levels(NAMES, masks) if coarse.name != TELLING]


@pytest.mark.parametrize("masks", MASKS, ids=IDS)
@settings(deadline=None, max_examples=400)
@example(content="Hello  World . !")
@example(content=[{"type": "text", "text": "```\nA."}, {"type": "text", "text": "B.\n``` ."}])
@given(content=nasty_texts | PARTS)
def test_a_fingerprint_is_a_function_of_the_normal_form(masks: tuple[str, ...] | None, content: Any) -> None:
    """So equal normal forms have equal fingerprints."""
    for coarse in _levels(masks):
        own = level(coarse.name) if masks is None else level(coarse.name, masks)
        for role in ("system", "developer", "user"):
            normal = own.content(role, content)
            made = (lambda text: squashed(text).decode()) if coarse.name in COARSE else str
            expected = (
                digest(made(normal))
                if isinstance(normal, str)
                else [{**part, "text": made(part["text"])} if "text" in part else part for part in normal]
            )
            assert coarse.content(role, content) == expected


@settings(deadline=None)
@given(text=nasty_texts)
def test_tool_descriptions_are_the_levels_own(text: str) -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": text}}]
    for coarse in _levels(None):
        assert coarse.tools(tools) == level(coarse.name).tools(tools)


def test_fingerprints_tell_questions_apart() -> None:
    *_, loose, masked = _levels(None)
    assert loose.content("user", "How are you?") == loose.content("user", "how  ARE you") == digest("howareyou")
    assert loose.content("user", "1,234") != loose.content("user", "1.234")
    at = [f"It is 2026-11-0{day}. Be kind." for day in (1, 2)]
    assert masked.content("system", at[0]) == masked.content("system", at[1])
    assert loose.content("system", at[0]) != loose.content("system", at[1])


ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
BODIES = st.builds(
    lambda messages, more: {"model": "m", "messages": messages, **more},
    st.lists(st.builds(lambda role, said: {"role": role, "content": said}, ROLES, nasty_texts | PARTS), max_size=3),
    st.sampled_from([{}, {"user": "u"}, {"seed": 1}, {"tools": [{"name": "f", "properties": {"b": 1, "a": 2}}]}]),
)


@settings(deadline=None, max_examples=300)
@example(one={"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, other=None)
@given(one=BODIES, other=st.none() | BODIES)
def test_at_exact_and_safe_fingerprints_are_equal_where_keys_are_and_nowhere_else(
    one: dict[str, Any], other: dict[str, Any] | None
) -> None:
    """``other`` None: the same with its texts in parts, and padded."""
    if other is None:
        said = [{**m, "content": [{"type": "text", "text": f"{m['content']} "}]} for m in one["messages"]]
        other = {**one, "messages": said}
    dialect = by_name("openai-chat")
    calls = [dialect.read("/v1/chat/completions", "", body) for body in (one, other)]
    for coarse in _levels(None):
        forms = [canonical_forms(call, dialect, level(coarse.name))[0] for call in calls]
        numbers = [fingerprint(dialect.keyed(call, coarse)[0], coarse) for call in calls]
        if coarse.name in COARSE:
            assert numbers[0] == numbers[1] or forms[0] != forms[1]
        else:
            assert (numbers[0] == numbers[1]) == (forms[0] == forms[1])


@pytest.mark.parametrize("masks", MASKS, ids=IDS)
@settings(deadline=None, max_examples=400)
@example(one={"model": "m", "messages": [{"role": "system", "content": "At 10:30. OK"}]}, other=None)
@given(one=BODIES, other=st.none() | BODIES)
def test_what_is_told_to_be_equal_has_one_key_with_masks(
    masks: tuple[str, ...] | None, one: dict[str, Any], other: dict[str, Any] | None
) -> None:
    """``other`` None: the same with each text as its masks leave it."""
    own = level("masked") if masks is None else level("masked", masks)
    if other is None:
        other = {**one, "messages": [{**m, "content": own.content(m["role"], m["content"])} for m in one["messages"]]}
    dialect = by_name("openai-chat")
    calls = [dialect.read("/v1/chat/completions", "", body) for body in (one, other)]
    told = coarse_levels(NAMES, masks)[-1]
    assert told.name == TELLING
    numbers = [fingerprint(dialect.keyed(call, told)[0], told) for call in calls]
    forms = [canonical_forms(call, dialect, own)[0] for call in calls]
    assert numbers[0] != numbers[1] or forms[0] == forms[1]


def test_equal_prompts_but_for_a_clock_are_told_to_be_equal() -> None:
    told = coarse_levels(NAMES, None)[-1]
    at = [f"It is 2026-11-0{day}. Be kind." for day in (1, 2)]
    assert told.content("system", at[0]) == told.content("system", at[1])
    assert told.content("user", "Hi") != told.content("user", "hi")


def test_without_masks_nothing_more_is_told() -> None:
    assert [coarse.name for coarse in coarse_levels(("safe", "loose"), None)] == ["safe", "loose"]


def test_without_safe_nothing_tells_which_questions_are_one() -> None:
    assert coarse_levels(("exact", "loose"), None) == []


@pytest.mark.parametrize(
    ("dialect", "path", "body"),
    [
        ("openai-completions", "/v1/completions", {"prompt": " A "}),
        ("openai-embeddings", "/v1/embeddings", {"input": [" A ", "B"]}),
        ("rerank", "/v1/rerank", {"query": " A ", "documents": ["B "]}),
    ],
)
def test_other_dialects_rewrite_nothing(dialect: str, path: str, body: dict[str, Any]) -> None:
    assert dialect not in REWRITTEN_DIALECTS
    call = by_name(dialect).read(path, "", {"model": "m", **body})
    assert by_name(dialect).keyed(call, level("exact")) == by_name(dialect).keyed(call, level("masked"))
