"""What inference servers offer beside the API: load figures, health, adapters loaded on demand."""

from __future__ import annotations

from edgeinf.mock.dialects.base import Memory, openai_error
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["METRICS", "answer", "error"]

error = openai_error

# Names of (running, waiting, share of the KV cache in use) per kind of server.
METRICS = {
    "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"),
    "sglang": ("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"),
    "tgi": ("tgi_batch_current_size", "tgi_queue_size", None),
    "llamacpp": ("llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:kv_cache_usage_ratio"),
}


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Answer ``/metrics``, ``/health`` and the adapter paths."""
    if ask.path.endswith("/metrics"):
        return _text(_metrics(shape, memory), "text/plain; version=0.0.4; charset=utf-8")
    if ask.path.endswith("/health"):
        return _text("", "text/plain")
    name = ask.field("lora_name", "")
    if not name:
        return _refused(400, "both 'lora_name' and 'lora_path' must be provided")
    loaded = name in memory.adapters
    if ask.path.endswith("/unload_lora_adapter"):
        if not loaded:
            return _refused(404, f"the lora adapter {name!r} cannot be found")
        del memory.adapters[name]
        return _text(f"Success: LoRA adapter '{name}' removed successfully.", "text/plain")
    if loaded:
        return _refused(400, f"the lora adapter {name!r} has already been loaded")
    memory.adapters[name] = ask.field("lora_path", "")
    return _text(f"Success: LoRA adapter '{name}' added successfully.", "text/plain")


def _metrics(shape: Shape, memory: Memory) -> str:
    lines = []
    figures = (memory.running(), shape.waiting, shape.queue)
    label = f'{{model_name="{memory.models[0] if memory.models else "mock"}"}}'
    for name, value in zip(METRICS[shape.server], figures, strict=True):
        if name is not None:
            lines += [f"# HELP {name} of the scripted origin", f"# TYPE {name} gauge", f"{name}{label} {value:g}"]
    return "\n".join([*lines, ""])


def _text(text: str, kind: str) -> Plan:
    return Plan(pieces=(Piece(Kind.WHOLE, text.encode()),), content_type=kind)


def _refused(status: int, message: str) -> Plan:
    return Plan(pieces=(Piece(Kind.WHOLE, error(status, message, "invalid_request_error")),), status=status)
