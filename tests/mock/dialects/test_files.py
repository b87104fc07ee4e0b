"""Files and batches."""

from __future__ import annotations

import openai

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask


async def test_a_file_can_be_kept_read_listed_and_deleted(origin: MockOrigin) -> None:
    async with openai.AsyncOpenAI(base_url=f"{origin.url}/v1", api_key="k", max_retries=0) as client:
        kept = await client.files.create(file=("a.jsonl", b"{}\n"), purpose="batch")
        content = (await client.files.content(kept.id)).content
        listed = [file.id async for file in client.files.list()]
        await client.files.delete(kept.id)

    assert (kept.filename, kept.bytes, content, listed) == ("a.jsonl", 3, b"{}\n", [kept.id])
    assert (await ask(origin, f"/v1/files/{kept.id}")).status == 404


async def test_a_batch_completes_when_looked_at(origin: MockOrigin) -> None:
    begun = (await ask(origin, "/v1/batches", {"input_file_id": "file-1", "endpoint": "/v1/responses"})).json

    assert begun["status"] == "validating"
    assert (await ask(origin, f"/v1/batches/{begun['id']}")).json["status"] == "completed"
    assert (await ask(origin, f"/v1/batches/{begun['id']}/cancel", b"")).json["status"] == "cancelled"
    assert len((await ask(origin, "/v1/batches")).json["data"]) == 1
