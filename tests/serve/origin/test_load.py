"""Metrics pages of inference servers."""

from __future__ import annotations

import httpx
import pytest

from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.load import Figures, read_figures

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b"} 3.0
vllm:num_requests_running{engine="1",model_name="a b"} 4.0
vllm:num_requests_waiting{engine="0",model_name="a b"} 2.0 1700000000000
vllm:gpu_cache_usage_perc{engine="0"} 0.2
vllm:gpu_cache_usage_perc{engine="1"} 0.4
vllm:num_requests_running_total 99
"""


def test_series_of_one_name_are_summed_and_fills_averaged():
    assert read_figures(VLLM, "vllm") == Figures(running=7.0, waiting=2.0, fill=pytest.approx(0.3))


@pytest.mark.parametrize("text", ["", "garbage", "vllm:num_requests_running NaN", "<html>"], ids=repr)
def test_what_says_nothing_is_no_load(text: str):
    assert read_figures(text, "vllm") == Figures()


@pytest.mark.parametrize(
    ("kind", "server"), [("vllm", "vllm"), ("sglang", "sglang"), ("tgi", "tgi"), ("llama.cpp", "llamacpp")]
)
async def test_every_kind_of_server_is_read(origin: MockOrigin, kind: str, server: str):
    origin.use({"answer": {"server": server, "queue": 0.5, "waiting": 7}})
    async with httpx.AsyncClient() as client:
        page = (await client.get(f"{origin.url}/metrics")).text
    figures = read_figures(page, kind)
    assert figures.waiting == 7
    assert figures.running is not None
    assert figures.fill == (None if kind == "tgi" else 0.5)
