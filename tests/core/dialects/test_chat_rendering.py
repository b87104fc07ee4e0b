from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.call import Usage
from edgeinf.core.dialects.chat_rendering import judge_choices, marks, render_chunk, trim_chunks, with_usage
from edgeinf.core.wire.sse import DONE, Event, decode_all
from tests.core.dialects.kit import CHAT, call, event

_PLAIN = call("openai-chat", {**CHAT, "stream": True})
_COUNTING = call("openai-chat", {**CHAT, "stream": True, "stream_options": {"include_usage": True}})
_CHOICE = {"index": 0, "delta": {"content": "a"}, "finish_reason": None}


@pytest.mark.parametrize(
    ("chunk", "plain", "counting"),
    [
        ({"choices": [_CHOICE]}, {"choices": [_CHOICE]}, {"choices": [_CHOICE]}),
        ({"choices": [_CHOICE], "usage": None}, {"choices": [_CHOICE]}, {"choices": [_CHOICE], "usage": None}),
        ({"choices": [_CHOICE], "obfuscation": "xx"}, {"choices": [_CHOICE]}, {"choices": [_CHOICE]}),
        ({"choices": [], "usage": {"prompt_tokens": 0}}, None, {"choices": [], "usage": {"prompt_tokens": 0}}),
        ({"error": {"message": "x"}, "usage": None},) * 3,
    ],
    ids=["untouched", "null usage", "padding", "usage chunk", "error"],
)
def test_each_asker_gets_what_it_asked_for(chunk: Any, plain: Any, counting: Any) -> None:
    for asker, wanted in ((_PLAIN, plain), (_COUNTING, counting)):
        done = render_chunk(asker, event(chunk))
        assert (None if done is None else json.loads(done.data)) == wanted


def test_what_needs_no_change_is_the_very_event() -> None:
    for untouched in (event({"choices": [_CHOICE]}), Event(b"", DONE), event('{"usage": broken'), event('["usage"]')):
        assert render_chunk(_PLAIN, untouched) is untouched
    assert b'"usage"' not in marks(_COUNTING)


def test_usage_is_asked_for_once() -> None:
    assert with_usage(_COUNTING) is None
    assert with_usage(call("openai-chat", CHAT)) is None


def choice(finish: str | None) -> dict[str, Any]:
    """Return a choice of a whole answer."""
    return {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": finish}


@pytest.mark.parametrize(
    ("document", "n", "unfit"),
    [
        ({"choices": [choice("stop")]}, 1, None),
        ({"choices": [choice("length")]}, 1, None),
        ({"choices": [choice("tool_calls")]}, 1, None),
        ({"choices": [choice("stop")]}, 2, "not every choice finished"),
        ({"choices": [choice("stop"), choice("stop")]}, 2, "two choices have one index"),
        ({"choices": [choice("stop"), {**choice("stop"), "index": 1}]}, 2, None),
        ({"choices": [{"finish_reason": "stop", "text": t} for t in "ab"]}, 2, None),
        ({"choices": [choice("stop"), choice(None)]}, 2, "not every choice finished"),
        ({"choices": [choice("content_filter")]}, 1, "content filter"),
        ({"choices": [choice("stop"), choice("abort")]}, 2, "given up: abort"),
        ({"choices": [{**choice("stop"), "error": {"code": 502, "message": "x"}}]}, 1, "error in a choice"),
        ({"choices": [{**choice("stop"), "error": None}]}, 1, None),
        ({"choices": []}, 1, "no choices"),
        ({}, 1, "no choices"),
        ({"choices": "x"}, 1, "no choices"),
        ({"error": {"message": "x"}}, 1, "error in the answer"),
        ({"error": {"message": "x"}, "choices": [choice("stop")]}, 1, "error in the answer"),
        ({"error": None, "choices": [choice("stop")]}, 1, None),
        ([1], 1, "no choices"),
    ],
)
def test_only_a_whole_good_answer_may_be_kept(document: Any, n: int, unfit: str | None) -> None:
    verdict = judge_choices(call("openai-chat", {**CHAT, "n": n}), json.dumps(document).encode())
    assert verdict.unfit == unfit
    assert (verdict.error is not None) is (unfit == "error in the answer")


def test_malformed_answers_are_not_kept_and_zeros_are_not_absent() -> None:
    assert judge_choices(_PLAIN, b"{").unfit == "malformed answer"
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    verdict = judge_choices(_PLAIN, json.dumps({"choices": [choice("stop")], "usage": usage, "model": "m-1"}).encode())
    assert verdict.usage == Usage(input_tokens=0, output_tokens=0, cached_tokens=0)
    assert verdict.model == "m-1"


CUTTABLE = st.fixed_dictionaries(
    {
        "id": st.text(max_size=5),
        "choices": st.lists(
            st.fixed_dictionaries(
                {
                    "delta": st.dictionaries(
                        st.sampled_from(["content", "usage", "obfuscation", "x"]),
                        st.none() | st.text(max_size=12),
                        max_size=3,
                    )
                }
            ),
            min_size=1,
            max_size=2,
        ),
    },
    optional={"usage": st.none() | st.just({"prompt_tokens": 1}), "obfuscation": st.text('aB3"}', max_size=6)},
)


@given(chunk=CUTTABLE, asked=st.booleans(), spaced=st.booleans())
def test_what_is_cut_without_parsing_is_what_parsing_would_cut(
    chunk: dict[str, Any], asked: bool, spaced: bool
) -> None:
    body: dict[str, Any] = {"model": "m", "messages": [], "stream": True}
    if asked:
        body["stream_options"] = {"include_usage": True}
    asker = call("openai-chat", body)
    data = json.dumps(chunk, separators=None if spaced else (",", ":"), ensure_ascii=False).encode()
    trimmed = trim_chunks(asker, b"data: %b\n\n" % data)
    kept = {k: v for k, v in chunk.items() if k != "obfuscation" and (asked or k != "usage")}
    rendered = render_chunk(asker, decode_all(trimmed)[0])
    assert rendered is not None
    assert json.loads(rendered.data) == kept
    if not any(mark in trimmed for mark in marks(asker)):
        assert json.loads(trimmed[6:]) == kept


@pytest.mark.parametrize(
    "piece",
    [
        b': ,"usage":null}\n\ndata: {"a":1}\n\n',
        b'data: {"a":1}\n\n: ,"obfuscation":"x"}\n\n',
        b'data: {"error":{"a":1},"usage":null}\n\n',
        b'data: {"a":{"b":1,"usage":null}}\n\n',
        b'data: {"a":1,"usage":null}\r\n\r\n',
        b'data: {"a":1,"usage":null} \n\n',
    ],
    ids=["comment", "comment-after", "error", "inner", "crlf", "space"],
)
def test_what_is_not_the_end_of_a_chunk_is_not_cut(piece: bytes) -> None:
    assert trim_chunks(_PLAIN, piece) == piece


@pytest.mark.parametrize(
    "tail",
    [b',"usage":null}', b',"usage":null,"obfuscation":"aB3x"}', b',"obfuscation":"aB3x"}'],
    ids=["usage", "both", "padding"],
)
def test_the_common_endings_need_no_parsing(tail: bytes) -> None:
    piece = b'data: {"id":"c","choices":[{"delta":{"content":"hi"}}]'
    assert trim_chunks(_PLAIN, 3 * (piece + tail + b"\n\n")) == 3 * (piece + b"}\n\n")
