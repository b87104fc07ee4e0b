"""What rules add to prompts reaches the origin and the key, and follows its files."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import Context, Message, PromptRule, When
from edgeinf.core.errors import ConfigError
from edgeinf.mock import MockOrigin
from edgeinf.serve.generation import make_generation
from tests.serve.callers import auth_for, bearer
from tests.serve.running import Proxy, chat, config_for, running


def write(path: Path, text: str) -> None:
    """Write a file so that it is another for whoever looks at its time."""
    path.write_text(text)
    later = path.stat().st_mtime_ns + 10_000_000
    os.utime(path, ns=(later, later))


FORMS: list[Any] = [
    pytest.param(
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "hi"}]},
        "messages",
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "Thanks."},
        ],
        id="chat",
    ),
    pytest.param(
        "/v1/responses",
        {"input": "hi", "store": False},
        "input",
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "Thanks."},
        ],
        id="responses",
    ),
    pytest.param(
        "/v1/messages",
        {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "system": "You are Bo."},
        "system",
        "Be brief.\n\nYou are Bo.",
        id="messages",
    ),
    pytest.param(
        "/v1/messages",
        {
            "messages": [{"role": "user", "content": "hi"}],
            "max_tokens": 5,
            "system": [{"type": "text", "text": "You are Bo."}],
        },
        "system",
        [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "You are Bo."}],
        id="messages-blocks",
    ),
    pytest.param("/v1/completions", {"prompt": "hi"}, "prompt", "Be brief.\n\nhi\n\nThanks.", id="completions"),
    pytest.param("/v1/embeddings", {"input": "hi"}, "input", "hi", id="embeddings-stay"),
]


@pytest.mark.parametrize(("path", "body", "field", "sent"), FORMS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_messages_are_added_in_the_dialects_own_form(
    tmp_path: Path, origin: MockOrigin, path: str, body: dict[str, Any], field: str, sent: Any, stream: bool
) -> None:
    stream = stream and path != "/v1/embeddings"  # which have no streams
    rule = PromptRule(prepend=(Message(content="Be brief."),), append=(Message(role="user", content="Thanks."),))
    async with running(config_for(tmp_path, origin.url, prompt=(rule,))) as proxy:
        answer = await proxy.client.post(path, json={"model": "m", **body, **({"stream": True} if stream else {})})
        assert answer.status_code == 200, answer.text
    assert origin.calls[-1].json[field] == sent


RULES: list[Any] = [
    pytest.param(When(model="m"), {}, {"model": "m"}, True, id="model"),
    pytest.param(When(model="m"), {}, {"model": "n"}, False, id="other-model"),
    pytest.param(When(route="web"), {"x-edgeinf-route": "web"}, {}, True, id="route"),
    pytest.param(When(route="web"), {}, {}, False, id="no-route"),
    pytest.param(When(headers={"X-Tone": "dry"}), {"x-tone": "dry"}, {}, True, id="header"),
    pytest.param(When(headers={"X-Tone": "dry"}), {"x-tone": "wet"}, {}, False, id="other-header"),
    pytest.param(When(key="a"), {}, {}, True, id="key"),
    pytest.param(When(team="t"), {}, {}, False, id="other-team"),
]


@pytest.mark.parametrize(("when", "headers", "fields", "matches"), RULES)
async def test_a_rule_is_for_the_calls_that_it_names(
    tmp_path: Path, origin: MockOrigin, when: When, headers: dict[str, str], fields: dict[str, Any], matches: bool
) -> None:
    rule = PromptRule(when=when, prepend=(Message(content="Be brief."),))
    config = config_for(tmp_path, origin.url, prompt=(rule,), auth=auth_for("a"))
    async with running(config) as proxy:
        await proxy.ask(headers={**bearer("a"), **headers}, **fields)
    assert (origin.calls[0].json["messages"][0]["content"] == "Be brief.") is matches


async def test_what_a_rule_reads_is_never_served_to_another_reading(tmp_path: Path, origin: MockOrigin) -> None:
    rules = (
        PromptRule(when=When(headers={"X-Tone": "dry"}), prepend=(Message(content="Be dry."),)),
        PromptRule(prepend=(Message(content="You serve {{ key }} on {{route}}. {{ other }}"),)),
    )
    from edgeinf.core.config.schema import Cache

    config = config_for(
        tmp_path, origin.url, prompt=rules, auth=auth_for("a", "b"), cache=Cache(disk=None, scope="shared")
    )
    async with running(config) as proxy:
        asked: list[dict[str, str]] = [{}, {"x-tone": "dry"}, {"x-edgeinf-route": "web"}]
        for _ in range(2):
            for name in ("a", "b"):
                for headers in asked:
                    await proxy.ask(headers={**bearer(name), **headers})
    prompts = ["|".join(m["content"] for m in call.json["messages"]) for call in origin.calls]
    assert len(prompts) == len(set(prompts)) == 6
    assert "You serve a on web. {{ other }}|hi" in prompts


async def test_a_changed_file_is_read_and_keyed_at_once(tmp_path: Path, origin: MockOrigin) -> None:
    file = tmp_path / "support.md"
    file.write_text("Be brief.\n")
    rule = PromptRule(prepend=(Message(content_file=file),))
    async with running(config_for(tmp_path, origin.url, prompt=(rule,))) as proxy:
        seen = [(await proxy.ask()).headers["x-edgeinf-cache"] for _ in range(2)]
        write(file, "Be very brief.\n")
        seen += [(await proxy.ask()).headers["x-edgeinf-cache"] for _ in range(2)]
        file.unlink()
        seen += [(await proxy.ask()).headers["x-edgeinf-cache"]]
        write(file, "Be brief.\n")
        seen += [(await proxy.ask()).headers["x-edgeinf-cache"]]
    assert seen == ["miss", "hit", "miss", "hit", "hit", "hit"]
    assert [call.json["messages"][0]["content"] for call in origin.calls] == ["Be brief.", "Be very brief."]


async def test_a_missing_file_is_said_at_the_start(tmp_path: Path, origin: MockOrigin) -> None:
    rule = PromptRule(prepend=(Message(content_file=tmp_path / "none.md"),))
    with pytest.raises(ConfigError, match="cannot read the prompt"):
        make_generation(config_for(tmp_path, origin.url, prompt=(rule,)))


async def test_events_name_the_version_of_what_was_added(tmp_path: Path, origin: MockOrigin) -> None:
    file = tmp_path / "support.md"
    file.write_text("Be brief.")
    rule = PromptRule(when=When(model="mock-small"), prepend=(Message(content_file=file),))
    async with running(config_for(tmp_path, origin.url, prompt=(rule,))) as proxy:
        await proxy.ask()
        await proxy.ask()
        write(file, "Be verbose.")
        await proxy.ask()
        await proxy.ask(model="other")
    versions = [json.loads(line)["prompt"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert versions[0] == versions[1]
    assert versions[0] != versions[2]
    assert versions[3] is None


# --- documents ---


def documents(folder: Path) -> Path:
    """Write a few documents."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "returns.md").write_text("# Returns\n\nA parcel can be sent back within 30 days.\n")
    (docs / "shipping.md").write_text("# Shipping\n\nParcels to islands take nine days.\n")
    return docs


async def injected(proxy: Proxy, origin: MockOrigin, question: str) -> str:
    """Return what was said to the origin of documents."""
    await proxy.client.post("/v1/chat/completions", json=chat(question), headers={"cache-control": "no-cache"})
    messages = origin.calls[-1].json["messages"]
    return str(messages[0]["content"]) if len(messages) > 1 else ""


async def test_the_passage_that_answers_is_cited_before_the_question(tmp_path: Path, origin: MockOrigin) -> None:
    rule = PromptRule(context=Context(source=documents(tmp_path), top_k=1))
    async with running(config_for(tmp_path, origin.url, prompt=(rule,))) as proxy:
        said = await injected(proxy, origin, "How long do islands wait for shipping?")
        assert "[1] shipping.md, Shipping (line 3)\nParcels to islands take nine days." in said
        assert "30 days" not in said
        assert await injected(proxy, origin, "???") == ""


async def test_a_changed_document_changes_the_answer_asked_for(tmp_path: Path, origin: MockOrigin) -> None:
    docs = documents(tmp_path)
    rule = PromptRule(context=Context(source=docs, top_k=1))
    question = "How many days for a parcel to be sent back?"
    async with running(config_for(tmp_path, origin.url, prompt=(rule,))) as proxy:
        assert (await proxy.ask(question)).headers["x-edgeinf-cache"] == "miss"
        assert (await proxy.ask(question)).headers["x-edgeinf-cache"] == "hit"
        write(docs / "returns.md", "# Returns\n\nA parcel can be sent back within 60 days.\n")
        async with asyncio.timeout(30):
            while (await proxy.ask(question)).headers["x-edgeinf-cache"] == "hit":  # noqa: ASYNC110 - asked again each time
                await asyncio.sleep(0.05)
    assert "within 60 days" in origin.calls[-1].json["messages"][0]["content"]
    assert origin.count == 2


async def test_documents_that_cannot_be_read_are_said_at_the_start(tmp_path: Path, origin: MockOrigin) -> None:
    for source in (tmp_path / "none", tmp_path / "none.sqlite"):
        rule = PromptRule(context=Context(source=source))
        with pytest.raises(ConfigError):
            make_generation(config_for(tmp_path, origin.url, prompt=(rule,)))
