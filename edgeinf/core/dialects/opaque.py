"""Endpoints without a dialect of their own whose answer hangs on the body alone: an allow-list, kept at ``exact``.

Moderations, speech, and images that come back as base64 (an image's URL would expire). Everything else that has no
dialect is relayed and never kept. Answers may be bytes of any kind.
"""

from __future__ import annotations

from edgeinf.core.call import Call, Usage
from edgeinf.core.dialects import openai_common
from edgeinf.core.dialects.base import Defaults, Rewrite, Verdict, as_object, read_answer, str_or_none
from edgeinf.core.dialects.openai_common import url_inputs
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["DIALECT"]

_MODERATIONS = "/v1/moderations"
_SPEECH = "/v1/audio/speech"
_IMAGES = "/v1/images/generations"


class Opaque(Defaults):
    """The pure endpoints."""

    name = "opaque"
    family = "openai"
    paths = frozenset({_MODERATIONS, _SPEECH, _IMAGES})
    unkeyed = frozenset({"user", "metadata", "safety_identifier"})
    keyed_fields = frozenset(
        {
            "background", "complexity", "frame_count", "frame_duration_ms", "input", "instructions", "model",
            "moderation", "n", "output_compression", "output_format", "partial_images", "prompt", "quality",
            "response_format", "size", "speed", "stream", "stream_format", "style", "svg", "voice",
        }
    )  # fmt: skip

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        model = body.get("model")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model if isinstance(model, str) else "",
            body=body,
            stream=body.get("stream") is True or body.get("stream_format") == "sse",
            user=str_or_none(body.get("user")) or str_or_none(body.get("safety_identifier")),
            max_output_tokens=0,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        return [{field: value for field, value in call.body.items() if field not in self.unkeyed}]

    def bypass(self, call: Call) -> list[str]:
        if call.stream or (call.path == _IMAGES and not _as_base64(call)):
            return ["opaque"]
        return ["url-inputs"] if url_inputs(call.body.get("input")) else []

    def deterministic(self, call: Call) -> bool:
        return call.path == _MODERATIONS

    def judge(self, call: Call, body: bytes) -> Verdict:
        if not body:
            return Verdict(unfit="an empty answer")
        if call.path == _SPEECH and not body.startswith(b"{"):
            return Verdict(unfit=None)
        document = read_answer(body)
        if isinstance(document, Verdict):
            return document
        document = as_object(document)
        unfit = None
        if call.path == _IMAGES:
            listed = document.get("data")
            images = [as_object(image) for image in listed] if isinstance(listed, list) else []
            if not images or not all(image.get("b64_json") for image in images):
                unfit = "no image as base64"
        elif call.path == _SPEECH or not document.get("results"):
            unfit = "no results"
        usage = as_object(document.get("usage"))
        return Verdict(
            unfit=unfit,
            usage=Usage(
                input_tokens=_count(usage.get("input_tokens")), output_tokens=_count(usage.get("output_tokens"))
            ),
            model=str_or_none(document.get("model")),
        )

    def error_body(self, error: CallError, request_id: str) -> bytes:
        return openai_common.error_body(error, request_id)

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        return openai_common.error_events(error, request_id)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_base64(call: Call) -> bool:
    """Return whether images come back as base64: asked for, or of a family of models that knows nothing else."""
    return call.body.get("response_format") == "b64_json" or call.model.split("/")[-1].startswith("gpt-image")


DIALECT = Opaque()
