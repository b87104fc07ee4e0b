from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from tests.core.dialects.kit import call, reasons

API = by_name("openai-completions")
NAME = "openai-completions"


@pytest.mark.parametrize(
    ("prompt", "n", "choices"),
    [
        ("a", None, 1),
        ("a", 3, 3),
        (["a", "b"], None, 2),
        (["a", "b"], 2, 4),
        ([1, 2, 3], 2, 2),
        ([[1, 2], [3]], 2, 4),
        (None, None, 1),
        ([], None, 1),
    ],
)
def test_every_prompt_has_n_choices(prompt: Any, n: int | None, choices: int) -> None:
    body = {"model": "m", "prompt": prompt, **({} if n is None else {"n": n})}
    assert call(NAME, body).choices == choices


@pytest.mark.parametrize("body", [{"prompt": "a"}, {"model": "m", "prompt": 5}, {"model": "m", "prompt": "a", "n": 0}])
def test_what_is_no_call_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(CallError):
        call(NAME, body)


@pytest.mark.parametrize("level", list(LEVELS.values()), ids=list(LEVELS))
@pytest.mark.parametrize("field", ["prompt", "suffix"])
def test_a_trailing_space_decides_what_comes_next(level: Any, field: str) -> None:
    a, b = ({"model": "m", "prompt": "Once", field: text} for text in ("The answer is", "The answer is "))
    assert API.keyed(call(NAME, a), level) != API.keyed(call(NAME, b), level)


def test_a_stream_is_asked_for_with_usage_and_live_models_bypass() -> None:
    upstream = API.upstream_body(call(NAME, {"model": "m", "prompt": "a", "stream": True}))
    assert upstream is not None
    assert upstream["stream_options"] == {"include_usage": True}
    assert reasons(NAME, {"model": "m:online", "prompt": "a", "plugins": [1]}) == ["web-search", "plugins"]
