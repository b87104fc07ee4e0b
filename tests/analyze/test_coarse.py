"""What is equal at a level is equal in its fingerprint."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeinf.analyze.coarse import REWRITTEN_DIALECTS, CoarseLevel, coarse_levels, squashed
from edgeinf.analyze.remembered import remembering
from edgeinf.core.dialects import by_name
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
    return coarse_levels(NAMES, masks, remembering(NAMES, masks))


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
            expected = (
                squashed(normal)
                if isinstance(normal, str)
                else [{**part, "text": squashed(part["text"])} if "text" in part else part for part in normal]
            )
            assert coarse.content(role, content) == expected


@settings(deadline=None)
@given(text=nasty_texts)
def test_tool_descriptions_are_the_levels_own(text: str) -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": text}}]
    for coarse in _levels(None):
        assert coarse.tools(tools) == level(coarse.name).tools(tools)


def test_fingerprints_tell_questions_apart() -> None:
    loose, masked = _levels(None)
    assert loose.content("user", "How are you?") == loose.content("user", "how  ARE you") == "howareyou"
    assert loose.content("user", "1,234") != loose.content("user", "1.234")
    at = [f"It is 2026-11-0{day}. Be kind." for day in (1, 2)]
    assert masked.content("system", at[0]) == masked.content("system", at[1])
    assert loose.content("system", at[0]) != loose.content("system", at[1])


@pytest.mark.parametrize(
    "names", [("exact", "loose"), ("loose", "safe"), ("safe", "exact", "masked")], ids=["no-safe", "before", "other"]
)
def test_an_order_of_levels_in_which_safe_does_not_decide_has_none(names: tuple[str, ...]) -> None:
    assert coarse_levels(names, None, remembering(names, None)) == []


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
