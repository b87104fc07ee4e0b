"""The list of models."""

from __future__ import annotations

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask


async def test_both_shapes_list_the_same_names(origin: MockOrigin) -> None:
    origin.use({"models": ["a", "b/c"]})
    openai = (await ask(origin, "/v1/models")).json
    anthropic = (await ask(origin, "/v1/models", headers={"anthropic-version": "2023-06-01"})).json

    assert [row["id"] for row in openai["data"]] == [row["id"] for row in anthropic["data"]] == ["a", "b/c"]
    assert (openai["object"], anthropic["has_more"], anthropic["last_id"]) == ("list", False, "b/c")


async def test_one_model_is_shown_or_unknown(origin: MockOrigin) -> None:
    origin.use({"models": ["b/c"]})

    assert (await ask(origin, "/v1/models/b/c")).json["id"] == "b/c"
    assert (await ask(origin, "/v1/models/x")).status == 404


async def test_an_unchanged_list_is_not_sent_again(origin: MockOrigin) -> None:
    first = await ask(origin, "/v1/models")
    again = await ask(origin, "/v1/models", headers={"if-none-match": first.headers["etag"]})
    origin.use({"models": ["new"]})
    changed = await ask(origin, "/v1/models", headers={"if-none-match": first.headers["etag"]})

    assert (again.status, again.body) == (304, b"")
    assert (changed.status, changed.json["data"][0]["id"]) == (200, "new")
