"""Where the client is, for the choice of a region and in events and figures."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.config.schema import Cache, Config, Place, Routing
from edgeinf.mock import MockOrigin
from edgeinf.serve.exchange import Exchange, Message
from edgeinf.serve.generation import make_generation
from edgeinf.serve.steps.place import client_place, place_name
from tests.serve.proxying import chat, proxying, region

HEADER = "X-Client-Region"


async def nothing() -> Message:
    raise AssertionError


async def nowhere(message: Message) -> None:
    raise AssertionError


def located(said: str | None, location: Any = None, header: str | None = HEADER) -> tuple[str | None, Any]:
    """Return the client's place by name and as a position, by its header and the node's own place."""
    generation = make_generation(Config(routing=Routing(client_location_header=header, location=location)))
    headers = {} if said is None else {b"x-client-region": said.encode()}
    x = Exchange("POST", "/v1/chat/completions", "", headers, "", nothing, nowhere)
    place = client_place(x, generation)
    return place_name(x, generation), None if place is None else (round(place.lat), round(place.lon))


@pytest.mark.parametrize(
    ("said", "location", "name", "position"),
    [
        pytest.param("sa-east-1", None, "sa-east-1", (-24, -47), id="named"),
        pytest.param(" SA-East-1 ", "eu-west-1", "sa-east-1", (-24, -47), id="spelled-otherwise"),
        pytest.param("-23.5,-46.6", "eu-west-1", None, (-24, -47), id="position"),
        pytest.param("nonsense", "eu-west-1", "eu-west-1", (53, -6), id="unknown-is-the-nodes"),
        pytest.param("91,0", "eu-west-1", "eu-west-1", (53, -6), id="off-the-globe"),
        pytest.param("nan,0", "eu-west-1", "eu-west-1", (53, -6), id="no-number"),
        pytest.param(None, "eu-west-1", "eu-west-1", (53, -6), id="nodes"),
        pytest.param(None, Place(lat=53, lon=-6), None, (53, -6), id="node-without-a-name"),
        pytest.param("x" * 10_000, None, None, None, id="long"),
        pytest.param(None, None, None, None, id="nowhere"),
    ],
)
def test_a_client_is_where_it_says_else_where_the_node_is(
    said: str | None, location: Any, name: str | None, position: Any
) -> None:
    assert located(said, location) == (name, position)


def test_without_a_configured_header_nobody_is_asked() -> None:
    assert located("sa-east-1", "eu-west-1", header=None) == ("eu-west-1", (53, -6))


@pytest.mark.parametrize("location", [None, "eu-west-1"], ids=["no-place", "own-place"])
async def test_hits_and_misses_calls_and_other_paths_carry_the_place(origin: MockOrigin, location: str | None) -> None:
    events: list[Any] = []
    routing = Routing(client_location_header=HEADER, location=location)
    async with proxying(region(origin, "r"), routing=routing, cache=Cache(disk=None)) as proxy:
        proxy.runtime.events.put = events.append  # type: ignore[method-assign]
        for said in ("sa-east-1", "sa-east-1", "sa-east-1", "nonsense", "us-east-1"):
            await proxy.post("/v1/chat/completions", chat(), x_client_region=said)
        await proxy.client.get("/v1/models", headers={HEADER: "sa-east-1"})
        metrics = (await proxy.client.get("/metrics")).text
    assert [event.cache for event in events] == ["miss", "hit", "hit", "hit", "hit", "miss"]
    expected = ["sa-east-1"] * 3 + [location, "us-east-1", "sa-east-1"]
    assert [event.client_place for event in events] == expected
    assert 'place="sa-east-1"' in metrics
    assert "nonsense" not in metrics
