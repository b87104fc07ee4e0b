from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects import by_name, for_path
from edgeinf.core.normalize.levels import LEVELS
from tests.core.dialects.kit import call, reasons

API = by_name("opaque")
IMAGES, SPEECH, MODERATIONS = "/v1/images/generations", "/v1/audio/speech", "/v1/moderations"


@pytest.mark.parametrize("path", [IMAGES, SPEECH, MODERATIONS])
def test_pure_endpoints_are_claimed(path: str) -> None:
    assert for_path(path) is API


@pytest.mark.parametrize(
    "path",
    ["/v1/audio/transcriptions", "/v1/images/edits", "/v1/files", "/v1/batches", "/v1/models", "/v1/responses/resp_1"],
)
def test_no_other_path_is(path: str) -> None:
    assert for_path(path) is None


@pytest.mark.parametrize(
    ("path", "body", "wanted"),
    [
        (IMAGES, {"model": "gpt-image-1", "prompt": "a"}, []),
        (IMAGES, {"model": "openai/gpt-image-1-mini", "prompt": "a"}, []),
        (IMAGES, {"model": "dall-e-3", "prompt": "a", "response_format": "b64_json"}, []),
        (IMAGES, {"model": "dall-e-3", "prompt": "a"}, ["opaque"]),
        (IMAGES, {"prompt": "a", "response_format": "url"}, ["opaque"]),
        (IMAGES, {"model": "gpt-image-1", "prompt": "a", "stream": True}, ["opaque"]),
        (SPEECH, {"model": "tts-1", "input": "a", "voice": "b"}, []),
        (SPEECH, {"model": "tts-1", "input": "a", "stream_format": "sse"}, ["opaque"]),
        (MODERATIONS, {"input": "a"}, []),
        (MODERATIONS, {"input": [{"type": "image_url", "image_url": {"url": "https://x"}}]}, ["url-inputs"]),
    ],
)
def test_only_what_hangs_on_the_body_alone_is_kept(path: str, body: dict[str, Any], wanted: list[str]) -> None:
    assert reasons("opaque", body, path) == wanted


@pytest.mark.parametrize("level", list(LEVELS.values()), ids=list(LEVELS))
def test_texts_are_exact_at_every_level(level: Any) -> None:
    a, b = (call("opaque", {"model": "tts-1", "input": text}, SPEECH) for text in ("Hi", "hi"))
    assert API.keyed(a, level) != API.keyed(b, level)


@pytest.mark.parametrize(
    ("path", "body", "unfit"),
    [
        (SPEECH, b"\xff\xf3\x84", None),
        (SPEECH, b"", "an empty answer"),
        (SPEECH, b'{"error":{"message":"x"}}', "error in the answer"),
        (SPEECH, b'{"detail":"x"}', "no results"),
        (IMAGES, b'{"data":[{"b64_json":"AA"}]}', None),
        (IMAGES, b'{"data":[{"b64_json":"AA"},{"url":"https://x"}]}', "no image as base64"),
        (IMAGES, b'{"data":[]}', "no image as base64"),
        (IMAGES, b"\x89PNG", "malformed answer"),
        (MODERATIONS, b'{"results":[{"flagged":false}]}', None),
        (MODERATIONS, b'{"results":[]}', "no results"),
        (MODERATIONS, b"[]", "no results"),
    ],
)
def test_only_a_whole_answer_may_be_kept(path: str, body: bytes, unfit: str | None) -> None:
    assert API.judge(call("opaque", {"model": "m"}, path), body).unfit == unfit


def test_the_usage_of_images_is_read() -> None:
    verdict = API.judge(
        call("opaque", {}, IMAGES), b'{"data":[{"b64_json":"A"}],"usage":{"input_tokens":3,"output_tokens":4}}'
    )
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens) == (3, 4)
