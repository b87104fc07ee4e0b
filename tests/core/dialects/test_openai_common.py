from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.call import Usage
from edgeinf.core.dialects import openai_common
from edgeinf.core.errors import CallError


@pytest.mark.parametrize("usage", [None, [], "x", {}, {"prompt_tokens": None}, {"prompt_tokens": True}])
def test_usage_that_says_nothing_is_unknown(usage: Any) -> None:
    assert openai_common.read_usage(usage) == Usage()


def test_usage_is_read_with_its_details() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    wanted = Usage(input_tokens=10, output_tokens=5, cached_tokens=4, reasoning_tokens=3)
    assert openai_common.read_usage(usage) == wanted


@pytest.mark.parametrize(
    ("choice", "unfit"),
    [
        ({"finish_reason": "stop"}, None),
        ({"finish_reason": "a word of tomorrow", "error": None}, None),
        ({"finish_reason": "content_filter"}, "content filter"),
        ({"finish_reason": "content_filter: OTHER"}, "content filter"),
        ({"finish_reason": "error"}, "given up: error"),
        ({"finish_reason": "stop", "error": "x"}, "error in a choice"),
        ({"finish_reason": ["stop"]}, None),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_a_choice_that_did_not_end_well_is_not_kept(choice: dict[str, Any], unfit: str | None) -> None:
    assert openai_common.unfit_finish(choice) == unfit


@pytest.mark.parametrize("value", [0, -1, 1.5, "1", True, [1]])
def test_a_count_is_a_positive_whole_number(value: Any) -> None:
    with pytest.raises(CallError, match="'n' must be a positive integer"):
        openai_common.positive_int({"n": value}, "n")


@pytest.mark.parametrize(
    ("parts", "by_url"),
    [
        (None, False),
        ("https://x.io", False),
        (["https://x.io"], False),
        ([{"type": "text", "text": "https://x.io"}], False),
        ([{"type": "input_text", "text": "https://x.io"}], False),
        ([{"type": "image_url", "image_url": {"url": "https://x.io"}}], True),
        ([{"type": "image_url", "image_url": {"url": "data:,x"}}], False),
        ([{"type": "input_image", "image_url": "http://x.io"}], True),
        ([{"type": "input_file", "file_url": "https://x.io"}], True),
        ([{"type": "input_file", "file_id": "file-1"}], False),
    ],
)
def test_inputs_by_url_are_found_in_parts_and_not_in_texts(parts: Any, by_url: bool) -> None:
    assert openai_common.url_inputs(parts) is by_url


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (502, "upstream_error"),
        (422, "invalid_request_error"),
    ],
)
def test_the_kind_of_an_error_follows_its_status(status: int, kind: str) -> None:
    assert openai_common.error_object(CallError("x", status=status), "r")["type"] == kind
