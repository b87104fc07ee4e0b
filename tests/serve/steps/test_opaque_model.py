"""A key's models on uploads and other paths that no dialect reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.running import config_for, running

AUDIO = "/v1/audio/transcriptions"
BIG = b"\0" * 300_000


def form(*parts: tuple[str, str | None, bytes]) -> tuple[dict[str, str], bytes]:
    """Return the headers and body of a multipart form: (name, file name, data) each."""
    body = b""
    for name, filename, data in parts:
        file = f'; filename="{filename}"' if filename else ""
        body += f'--frontier\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + data + b"\r\n"
    return {"content-type": "multipart/form-data; boundary=frontier"}, body + b"--frontier--\r\n"


UPLOADS: list[Any] = [
    pytest.param([("model", None, b"small"), ("file", "a.wav", BIG)], 200, id="allowed-first"),
    pytest.param([("file", "a.wav", BIG), ("model", None, b"small")], 200, id="allowed-last"),
    pytest.param([("model", None, b"large"), ("file", "a.wav", BIG)], 403, id="refused-first"),
    pytest.param([("file", "a.wav", BIG), ("model", None, b"large")], 403, id="refused-last"),
    pytest.param([("model", None, b"small"), ("file", "a", BIG), ("model", None, b"large")], 403, id="second-model"),
    pytest.param([("file", "a.wav", BIG)], 403, id="no-model"),
]


@pytest.mark.parametrize(("parts", "status"), UPLOADS)
async def test_the_model_of_an_upload_is_held_to_the_keys(
    tmp_path: Path, origin: MockOrigin, parts: list[tuple[str, str | None, bytes]], status: int
) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for(a={"models": ("small",)}))) as proxy:
        headers, body = form(*parts)
        answer = await proxy.client.post(AUDIO, content=body, headers={**headers, **bearer("a")})
        assert answer.status_code == status, answer.text
    assert len(origin.calls_to(AUDIO)) == (status == 200)
    if status == 200:
        assert origin.calls[-1].body == body


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"model": "small", "input": "x"}, 200, id="allowed"),
        pytest.param({"model": "large", "input": "x"}, 403, id="refused"),
        pytest.param({"input": "x"}, 403, id="absent"),
    ],
)
async def test_the_model_of_a_json_body_is_held_to_the_keys(
    tmp_path: Path, origin: MockOrigin, body: dict[str, str], status: int
) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for(a={"models": ("small",)}))) as proxy:
        answer = await proxy.client.post("/v1/moderations", json=body, headers=bearer("a"))
        assert answer.status_code == status


async def test_a_body_whose_model_cannot_be_read_is_refused(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for(a={"models": ("small",)}))) as proxy:
        for more in ({"content-type": "text/plain"}, {"content-encoding": "gzip"}):
            headers, body = form(("model", None, b"small"))
            answer = await proxy.client.post(AUDIO, content=body, headers={**headers, **bearer("a"), **more})
            assert answer.status_code == 415
    assert origin.calls == []


async def test_a_key_without_models_streams_anything(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for("a"))) as proxy:
        headers, body = form(("file", "a.wav", BIG))
        await proxy.client.post(AUDIO, content=body, headers={**headers, **bearer("a")})
    assert origin.calls[-1].body == body
