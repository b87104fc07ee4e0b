"""Read what an inference server publishes about its load: Prometheus text, by kind of server.

Names: vLLM ``vllm/v1/metrics/loggers.py``, SGLang ``srt/metrics/collector.py``, TGI ``router/src``, llama.cpp
``tools/server/server.cpp``; older releases' names are tried after the newer ones.
"""

from __future__ import annotations

import re

import msgspec

__all__ = ["Figures", "read_figures"]

# kind -> names of (running, waiting, share of the KV cache in use)
_NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "vllm": (
        ("vllm:num_requests_running",),
        ("vllm:num_requests_waiting",),
        ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    ),
    "sglang": (("sglang:num_running_reqs",), ("sglang:num_queue_reqs",), ("sglang:token_usage",)),
    "tgi": (("tgi_batch_current_size",), ("tgi_queue_size",), ()),
    "llama.cpp": (
        ("llamacpp:requests_processing",),
        ("llamacpp:requests_deferred",),
        ("llamacpp:kv_cache_usage_ratio",),
    ),
}
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{[^\n]*\})?[ \t]+([^ \t\n]+)")


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """A server's load; ``None`` where it does not say."""

    running: float | None = None
    waiting: float | None = None
    fill: float | None = None


def read_figures(text: str, kind: str) -> Figures:
    """Return the load in a metrics page. Several series of one name (models, engines) are summed, fills averaged."""
    found: dict[str, list[float]] = {}
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample is None:
            continue
        try:
            value = float(sample[2])
        except ValueError:
            continue
        if value == value and value >= 0:  # a NaN is no load
            found.setdefault(sample[1], []).append(value)
    running, waiting, fill = (next((found[n] for n in names if n in found), None) for names in _NAMES[kind])
    return Figures(
        running=None if running is None else sum(running),
        waiting=None if waiting is None else sum(waiting),
        fill=None if fill is None else sum(fill) / len(fill),
    )
