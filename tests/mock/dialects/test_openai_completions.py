"""Text completions."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask

PATH = "/v1/completions"


def completion(**more: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": "hi", **more}


@pytest.mark.parametrize(
    ("prompt", "choices"),
    [("a", 2), (["a", "b"], 4), ([1, 2, 3], 2), ([[1, 2], [3]], 4)],
    ids=["text", "texts", "tokens", "token-lists"],
)
async def test_every_prompt_gets_n_choices_equal_in_both_shapes(origin: MockOrigin, prompt: Any, choices: int) -> None:
    whole = (await ask(origin, PATH, completion(prompt=prompt, n=2))).json
    data = (await ask(origin, PATH, completion(prompt=prompt, n=2, stream=True))).data

    texts: dict[int, str] = {}
    for chunk in data[:-1]:
        for choice in chunk["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
    assert {c["index"]: c["text"] for c in whole["choices"]} == texts
    assert len(texts) == choices
    assert {whole["object"], *(c["object"] for c in data[:-1])} == {"text_completion"}


async def test_usage_is_last_if_asked_and_echo_repeats_the_prompt(origin: MockOrigin) -> None:
    data = (await ask(origin, PATH, completion(stream=True, stream_options={"include_usage": True}))).data
    echoed = (await ask(origin, PATH, completion(echo=True, logprobs=1))).json["choices"][0]

    assert data[-2]["choices"] == []
    assert data[-2]["usage"]["completion_tokens"] == 16
    assert all(chunk["usage"] is None for chunk in data[:-2])
    assert echoed["text"].startswith("hi")
    assert len(echoed["logprobs"]["tokens"]) == 17


async def test_faults_of_shape_hold_here_too(origin: MockOrigin) -> None:
    origin.use({"fault": ["finish-first-only", "no-done", "usage;mode=last-choice"]})
    data = (await ask(origin, PATH, completion(stream=True, n=2))).data
    origin.use({"fault": "empty-choices"})
    empty = (await ask(origin, PATH, completion(stream=True))).data

    assert [c["choices"][0]["index"] for c in data if c["choices"][0]["finish_reason"]] == [0]
    assert empty[0]["choices"] == []
    assert (await ask(origin, PATH, completion())).json["choices"] == []
