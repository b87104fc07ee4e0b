"""How many tokens a call may use, before it is made.

Far from a limit a bound suffices that costs nothing: a byte-level encoding never makes more tokens than bytes. Near
one the call is counted, on a thread, and each body once.
"""

from __future__ import annotations

import asyncio
import hashlib

from edgeinf.core import tokens
from edgeinf.core.call import Call, Usage
from edgeinf.core.eviction import LruTtl
from edgeinf.serve.exchange import Exchange

__all__ = ["Estimator", "input_bound"]

# What frames a call, more than any published template takes.
_PER_CALL = 16
# What is reserved for an answer that nothing bounds, until this process has seen some from the model.
_UNBOUNDED_OUTPUT = 512
_SHARE_OF_NEW = 0.1
_MODELS = 1024
_COUNTS = 20_000


def input_bound(x: Exchange) -> int:
    """Return a number of input tokens that the call does not exceed, images and audio left out.

    The JSON that came is never shorter than the texts in it, and brackets, names and quotes are more than what frames
    a message for the model.
    """
    return len(x.raw) + x.added + _PER_CALL


class Estimator:
    """Counts each body once and learns how long answers are that nothing bounds."""

    def __init__(self) -> None:
        self._counts: LruTtl[bytes, int] = LruTtl(max_entries=_COUNTS)
        self._outputs: dict[str, float] = {}

    def output(self, call: Call) -> float:
        """Return how many output tokens to reserve."""
        each = call.max_output_tokens
        if each is None:
            each = round(self._outputs.get(call.model, _UNBOUNDED_OUTPUT))
        return float(max(0, each) * max(1, call.choices))

    def learn(self, call: Call, usage: Usage) -> None:
        """Take note of an answer's length where the call did not bound it."""
        if call.max_output_tokens is not None or usage.output_tokens is None:
            return
        each = usage.output_tokens / max(1, call.choices)
        before = self._outputs.get(call.model)
        if before is None and len(self._outputs) >= _MODELS:
            self._outputs.clear()
        self._outputs[call.model] = each if before is None else before + _SHARE_OF_NEW * (each - before)

    async def exact_input(self, call: Call) -> int:
        """Count the input tokens, on a thread; a body that was counted before is not counted again."""
        texts = "\0".join([call.model, *tokens.prompt_texts(call)])
        name = hashlib.blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._counts.get(name, 0.0)
        if known is None:
            known = (await asyncio.to_thread(tokens.count_call, call)).tokens
            self._counts.put(name, known, now=0.0, ttl_s=1.0)
        return known
