"""A server whose documents are found by meaning, from the start on and through failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from edgeinf.core.config.schema import Config, Context, Model, PromptRule, Vectors
from edgeinf.mock import MockOrigin
from tests.serve.context.meaning import CRATE, embedded, meaning, of_the_documents, texts
from tests.serve.running import Proxy, config_for, running

Make = Callable[..., Awaitable[MockOrigin]]

BACK = "A parcel can be sent back within 30 days."


def config(folder: Path, chats: MockOrigin, embeds: MockOrigin) -> Config:
    """Return a config with a region for chat and one for embeddings."""
    docs = folder / "docs"
    if not docs.exists():
        of_the_documents(folder)
    context = Context(source=docs, top_k=1, vectors=Vectors(model="e", region="region1"))
    return config_for(
        folder,
        chats.url,
        embeds.url,
        disk=True,
        prompt=(PromptRule(context=context),),
        models=(Model(name="mock-small", regions=("region",)),),
    )


async def until_embedded(proxy: Proxy) -> None:
    """Wait until the documents are embedded."""
    assembler = proxy.runtime.generation.assembler
    assert assembler is not None
    [source] = assembler._sources
    assert source._vectors is not None
    async with asyncio.timeout(30):
        while source._vectors._whole is None:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)
        await asyncio.to_thread(source.look)


def told(origin: MockOrigin) -> str:
    """Return what was said of documents in the last call for chat."""
    call = [call for call in origin.calls if call.path.endswith("/chat/completions")][-1]
    return str(call.json["messages"][0]["content"])


async def test_documents_are_embedded_before_any_call_and_never_again(
    tmp_path: Path, origin: MockOrigin, make_origin: Make
) -> None:
    embeds = await make_origin(meaning())
    async with running(config(tmp_path, origin, embeds)) as proxy:
        await until_embedded(proxy)
        assert len(embedded(embeds)) == 2
        seen = [(await proxy.ask(CRATE)).headers["x-edgeinf-cache"] for _ in range(2)]
        assert BACK in told(origin)
    async with running(config(tmp_path, origin, embeds)) as proxy:
        await until_embedded(proxy)
        seen.append((await proxy.ask(CRATE)).headers["x-edgeinf-cache"])
    assert seen == ["miss", "hit", "hit"]
    assert texts(origin) == []
    assert [len(batch) for batch in texts(embeds)] == [2, 1]


async def test_calls_carry_on_by_words_while_the_region_of_embeddings_fails_and_find_more_after(
    tmp_path: Path, origin: MockOrigin, make_origin: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "edgeinf.context")
    embeds = await make_origin(meaning())
    async with running(config(tmp_path, origin, embeds)) as proxy:
        await until_embedded(proxy)
        embeds.use({"api_key": "another"})
        for question in (CRATE, "Who waits nine days?", CRATE):
            assert (await proxy.ask(question)).status_code == 200
        assert BACK not in str([call.json for call in origin.calls])
        assert "Islands wait nine days." in str([call.json for call in origin.calls])
        assert len(caplog.records) == 1
        assert "questions are not embedded" in caplog.text
        assert "region 'region1' answered 401" in caplog.text
        embeds.use(meaning())
        assembler = proxy.runtime.generation.assembler
        assert assembler is not None
        [source] = assembler._sources
        assert source._vectors is not None
        source._vectors._questions._until = 0.0
        answer = await proxy.ask(CRATE)
        assert answer.headers["x-edgeinf-cache"] == "miss"
        assert BACK in told(origin)


async def test_a_server_starts_and_answers_where_nothing_can_be_embedded(
    tmp_path: Path, origin: MockOrigin, make_origin: Make
) -> None:
    embeds = await make_origin({"api_key": "another"})
    async with running(config(tmp_path, origin, embeds)) as proxy:
        answer = await proxy.ask("How long do islands wait?")
        assert answer.status_code == 200
        assert "Islands wait nine days." in told(origin)
