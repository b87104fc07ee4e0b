"""HTTP/2 on uvloop, which carries it in service: the same tests that run on asyncio's own loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import uvloop

from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin.http2 import test_connection, test_pool, test_sending

Case = Callable[..., Awaitable[None]]

CASES: list[Case] = [
    test_connection.test_requests_at_once_share_one_connection,
    test_connection.test_a_reader_that_leaves_ends_its_stream_at_once_and_no_other,
    test_connection.test_giving_up_before_the_head_ends_the_stream_at_once,
    test_connection.test_a_lost_connection_is_lost_for_every_stream,
    test_connection.test_a_reader_that_is_slow_holds_its_own_stream_back_and_no_other,
    test_connection.test_going_away_spares_what_the_origin_works_on_and_asks_the_rest_again,
    test_pool.test_an_origin_without_http2_is_asked_over_http1_and_that_is_remembered,
    test_pool.test_a_cold_burst_waits_for_one_handshake,
    test_pool.test_giving_up_while_connecting_leaves_nothing_open,
    test_pool.test_no_connection_within_the_time_is_a_word_about_it,
    test_sending.test_a_body_in_pieces_is_streamed,
    test_sending.test_an_early_answer_ends_the_upload,
    test_sending.test_an_upload_waits_while_the_origin_takes_nothing,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_same_on_uvloop(case: Case, certificate: tuple[Path, Path]):
    async def run() -> None:
        client = Connections(ca_file=str(certificate[0]))
        async with MockOrigin() as origin:
            made = {"client": client, "origin": origin, "certificate": certificate}
            await case(**{n: v for n, v in made.items() if n in inspect.signature(case).parameters})
            await client.aclose()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
