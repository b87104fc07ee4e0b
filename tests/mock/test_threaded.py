"""The origin on its own thread."""

from __future__ import annotations

import gc
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock import ThreadedOrigin

PROMPT = [{"role": "user", "content": "hi"}]


def test_a_blocking_client_is_answered_and_recorded(origin_thread: ThreadedOrigin) -> None:
    origin_thread.use({"answer": {"text": "hello there"}})
    with openai.OpenAI(base_url=f"{origin_thread.url}/v1", api_key="k", max_retries=0) as client:
        whole = client.chat.completions.create(model="m", messages=PROMPT)
        stream = client.chat.completions.create(model="m", messages=PROMPT, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)

    assert whole.choices[0].message.content == text == "hello there"
    assert [call.stream for call in origin_thread.calls_to("/chat/completions")] == [False, True]
    assert origin_thread.count == 2
    origin_thread.reset()
    assert origin_thread.calls == []


def test_held_answers_can_be_waited_for_and_released(origin_thread: ThreadedOrigin) -> None:
    origin_thread.use({"fault": "stall;at=headers"})
    url = f"{origin_thread.url}/v1/models"
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(lambda: urllib.request.urlopen(url, timeout=20).read()) for _ in range(3)]
        origin_thread.until_calls(3)
        assert origin_thread.active == 3
        origin_thread.release()
        assert len({future.result(20) for future in asked}) == 1
    origin_thread.until_idle()
    assert origin_thread.peak == 3


def test_it_can_be_down_and_return(origin_thread: ThreadedOrigin) -> None:
    origin_thread.down()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{origin_thread.url}/health", timeout=5)

    origin_thread.up()

    assert urllib.request.urlopen(f"{origin_thread.url}/health", timeout=5).status == 200


def test_a_frozen_origin_answers_after_the_thaw(origin_thread: ThreadedOrigin) -> None:
    origin_thread.freeze(0.2)

    assert urllib.request.urlopen(f"{origin_thread.url}/health", timeout=20).status == 200


def test_a_port_in_use_is_reported_to_the_caller_and_no_thread_stays(origin_thread: ThreadedOrigin) -> None:
    second = ThreadedOrigin(port=origin_thread.port)
    with pytest.raises(UsageError, match="cannot listen"):
        second.__enter__()
    second.__exit__(None, None, None)

    assert sum(thread.name == "mock-origin" for thread in threading.enumerate()) == 1


def test_waiting_ends(origin_thread: ThreadedOrigin) -> None:
    with pytest.raises(TimeoutError):
        origin_thread.until_calls(1, within_s=0.05)


def test_a_connection_made_just_before_the_end_is_not_left_open():
    for _ in range(20):
        with ThreadedOrigin() as origin, socket.create_connection(("127.0.0.1", origin.port)):
            pass
        gc.collect()  # what is left open is said here, and warnings are errors
