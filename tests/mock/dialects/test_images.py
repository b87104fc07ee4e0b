"""Images."""

from __future__ import annotations

import base64

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask


async def test_images_are_bytes_or_addresses(origin: MockOrigin) -> None:
    body = {"model": "g", "prompt": "x", "n": 2}
    inline = (await ask(origin, "/v1/images/generations", body)).json
    linked = (await ask(origin, "/v1/images/generations", {**body, "response_format": "url"})).json

    pictures = [base64.b64decode(row["b64_json"]) for row in inline["data"]]
    assert len(set(pictures)) == 2
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert [set(row) for row in linked["data"]] == [{"url"}, {"url"}]
