"""Every figure, derived from the raw instants by the formula that is printed beside it."""

from __future__ import annotations

import itertools

from edgeinf.probe.values import Attempt, milliseconds

__all__ = ["COLD", "DEFINITIONS", "LOAD", "WARM", "decode_tokens", "figures", "token_gaps_ms"]

# figure -> formula, as shown by --explain and in the JSON; instants are named in ``values.Instants``
DEFINITIONS: dict[str, str] = {
    "dns_ms": "dns - start; absent on a reused connection",
    "tcp_ms": "tcp - dns; absent on a reused connection",
    "proxy_ms": "proxy - tcp; only through a tunnel",
    "tls_ms": "tls - tcp (- proxy, through a tunnel); absent without TLS and on a reused connection",
    "connect_ms": "request_start - start on a fresh connection",
    "ttfb_ms": "headers - request_start",
    "ttft_ms": "first_token - request_start; first token: content, reasoning, tool arguments, refusal or audio",
    "cold.ttft_ms": "first_token - start: with the connection",
    "ttfa_ms": "first_answer - request_start; first answer: text that the user sees",
    "icl_ms": "gaps between token-bearing chunks; chunks are not tokens",
    "tpot_ms": "(last_token - first_token) / decode tokens; absent under 2, and where all came in one read",
    "output_tps": "decode tokens / (last_token - first_token); absent as tpot_ms",
    "decode_tokens": (
        "output tokens by the server's usage - tokens in the first chunk - reasoning tokens that were not streamed; "
        "tokens in the first chunk: all beyond one per later chunk where our tokenizer finds about one in each of "
        "those, else the first chunk's share of the streamed text"
    ),
    "e2e_ms": "last_token - request_start, not the usage chunk nor the end marker; without tokens done - request_start",
    "open_loop": "under --rate every figure from request_start counts from the scheduled instant",
    "lag_ms": "start - scheduled: how late the request was sent, already inside the open-loop figures",
    "quantiles": "nearest rank; null without a one-sided 95 % bound (p50 5 samples, p90 29, p95 59, p99 299)",
    "low, high": "one-sided 95 % bounds of the median, from order statistics",
    "success_rate": "attempts without error / attempts; bounds exact (Clopper-Pearson), one-sided 95 %",
}

_ABOUT_ONE = 1.5  # tokens per chunk by our tokenizer, up to which a server is taken to send one at a time

COLD = ("dns_ms", "tcp_ms", "proxy_ms", "tls_ms", "connect_ms", "ttfb_ms", "ttft_ms", "ttfa_ms", "e2e_ms")
WARM = ("ttfb_ms", "ttft_ms", "ttfa_ms", "tpot_ms", "icl_ms", "output_tps", "e2e_ms")
LOAD = ("lag_ms", *WARM)


def figures(attempt: Attempt) -> dict[str, float]:
    """Return the figures of a successful attempt; one that does not exist is absent, never 0."""
    at = attempt.instants
    out: dict[str, float] = {}
    origin = at.request_start
    if attempt.open_loop and at.scheduled is not None:
        origin = at.scheduled
        out["lag_ms"] = milliseconds(at.scheduled, at.start)
    if origin is None:
        return out
    if not attempt.reused and at.request_start is not None:
        out["connect_ms"] = milliseconds(at.start, at.request_start)
    for name, begin, end in (
        ("dns_ms", at.start, at.dns),
        ("tcp_ms", at.dns, at.tcp),
        ("proxy_ms", at.tcp, at.proxy),
        ("tls_ms", at.proxy or at.tcp, at.tls),
        ("ttfb_ms", origin, at.headers),
        ("ttft_ms", origin, at.first_token),
        ("ttfa_ms", origin, at.first_answer),
        ("e2e_ms", origin, at.last_token if attempt.streamed else at.done),
    ):
        if begin is not None and end is not None:
            out[name] = milliseconds(begin, end)
    if attempt.phase == "cold" and not attempt.open_loop and at.first_token is not None:
        out["ttft_ms"] = milliseconds(at.start, at.first_token)
    decoded = decode_tokens(attempt)
    if decoded is not None and at.first_token is not None and at.last_token is not None:
        span = milliseconds(at.first_token, at.last_token)
        if span > 0:  # all in one read says nothing about a rate
            out["tpot_ms"] = span / decoded
            out["output_tps"] = decoded / span * 1000
    return out


def token_gaps_ms(attempt: Attempt) -> list[float]:
    """Return the gaps between token-bearing chunks."""
    stamps = attempt.instants.tokens
    return [milliseconds(a, b) for a, b in itertools.pairwise(stamps)]


def decode_tokens(attempt: Attempt) -> int | None:
    """Return how many tokens came after the first chunk, by the server's count; None if under 2 or not known."""
    if attempt.output_tokens is None or len(attempt.instants.tokens) < 2:
        return None
    hidden = 0 if attempt.reasoning_streamed else attempt.reasoning_tokens or 0
    streamed = attempt.output_tokens - hidden
    decoded = streamed - _tokens_in_first_chunk(attempt, streamed)
    return decoded if decoded >= 2 else None


def _tokens_in_first_chunk(attempt: Attempt, streamed: int) -> int:
    later = attempt.chunks - 1
    if streamed <= attempt.chunks or not attempt.counted_tokens or not attempt.first_chunk_tokens:
        return 1
    if attempt.counted_tokens - attempt.first_chunk_tokens < _ABOUT_ONE * later:
        return streamed - later
    return max(1, round(streamed * attempt.first_chunk_tokens / attempt.counted_tokens))
