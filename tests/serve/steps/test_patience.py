"""A bound that is reached ends the wait, one that moves away does not, and a cancellation from elsewhere stays one."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.serve.steps.patience import Patience

LONG = 30.0


def _in(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_a_wait_beyond_the_bound_is_ended() -> None:
    with Patience(asyncio.get_running_loop()) as patience:
        patience.until(_in(0.02))
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            assert patience.lapsed()
        else:
            pytest.fail("it waited to its end")
    await asyncio.sleep(0)  # and nothing of it is left
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_bound_that_moves_away_ends_nothing() -> None:
    with Patience(asyncio.get_running_loop()) as patience:
        for _ in range(8):
            patience.until(_in(0.5))
            await asyncio.sleep(0.1)


async def test_a_bound_that_comes_nearer_holds() -> None:
    with Patience(asyncio.get_running_loop()) as patience:
        patience.until(_in(LONG))
        patience.until(_in(0.02))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(LONG)
        assert patience.lapsed()


async def test_the_bound_that_was_moved_is_the_one_that_holds() -> None:
    began = _in(0.0)
    with Patience(asyncio.get_running_loop()) as patience:
        patience.until(_in(0.05))
        patience.until(_in(0.2))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(LONG)
        assert patience.lapsed()
    assert _in(0.0) - began >= 0.19


async def test_a_bound_can_be_set_again_after_one_was_reached() -> None:
    with Patience(asyncio.get_running_loop()) as patience:
        for _ in range(2):
            patience.until(_in(0.02))
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(LONG)
            assert patience.lapsed()


async def test_a_cancellation_from_elsewhere_is_not_the_bounds() -> None:
    said: list[bool] = []

    async def waits() -> None:
        with Patience(asyncio.get_running_loop()) as patience:
            patience.until(_in(LONG))
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                said.append(patience.lapsed())
                raise

    task = asyncio.create_task(waits())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said == [False]


async def test_a_cancellation_at_the_same_moment_wins() -> None:
    said: list[bool] = []

    async def waits() -> None:
        with Patience(asyncio.get_running_loop()) as patience:
            patience.until(_in(-1.0))
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                said.append(patience.lapsed())
                raise

    task = asyncio.create_task(waits())
    asyncio.get_running_loop().call_later(0.0, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said in ([False], [True])
    assert task.cancelled()


async def test_what_was_left_cancels_nothing_later() -> None:
    with Patience(asyncio.get_running_loop()) as patience:
        patience.until(_in(0.02))
    await asyncio.sleep(0.1)
