"""The relay client on uvloop, which carries it in service: the same tests that run on asyncio's own loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin import test_connection, test_dialling, test_pool

Case = Callable[..., Awaitable[None]]
OK = test_connection.OK

CASES: list[tuple[Case, dict[str, Any]]] = [
    (test_pool.test_giving_up_closes_the_origins_connection_within_a_second, {"fault": "slow-headers;by=60s"}),
    (test_pool.test_giving_up_closes_the_origins_connection_within_a_second, {"fault": "stall;after=0"}),
    (test_pool.test_giving_up_closes_the_origins_connection_within_a_second, {"fault": "stall;tokens=2"}),
    (test_pool.test_giving_up_while_connecting_leaves_nothing_open, {}),
    (test_pool.test_a_reader_that_leaves_early_closes, {}),
    (test_pool.test_a_connection_that_the_origin_closed_meanwhile_costs_no_error, {}),
    (test_pool.test_warm_replaces_what_the_origin_dropped, {}),
    (test_pool.test_nothing_listens_is_a_word_about_it, {}),
    (test_connection.test_a_reader_that_is_slow_holds_the_origin_back, {}),
    (test_connection.test_an_upload_is_streamed_and_an_early_answer_ends_it, {}),
    (
        test_connection.test_answers_end_where_they_end,
        {"answer": b"HTTP/1.1 200 OK\r\n\r\nx", "end": True, "status": 200, "body": b"x", "kept": False},
    ),
    (test_connection.test_an_answer_that_is_not_whole_is_not_taken_for_one, {"answer": OK[:-1]}),
    (test_dialling.test_a_dead_first_address_costs_a_moment_only, {"dead": "127.0.0.9"}),
    (test_dialling.test_giving_up_closes_every_attempt, {}),
]


@pytest.mark.parametrize(("case", "given"), CASES, ids=[f"{n}-{case.__name__}" for n, (case, _) in enumerate(CASES)])
def test_the_same_on_uvloop(case: Case, given: dict[str, Any]):
    async def run() -> None:
        client = Connections()
        async with MockOrigin() as origin:
            made = {"client": client, "origin": origin}
            await case(**{n: v for n, v in made.items() if n in inspect.signature(case).parameters}, **given)
            await client.aclose()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
