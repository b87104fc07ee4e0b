"""Strategies that put together what the rules look for, in every order."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["nasty_texts", "plain_words"]

_CHARS = list("aAbBzZ09 .!?…'\"`~/\\-_:>*+(){}[]=e\n\r\t")
_ODD = [
    "“", "”", "‘", "’", "＂", "＇", "｀", "～", "Ａ", "ｶ", "ﾞ", "\u0301", "\u0338", "\u200b", "\u200d", "\ufeff", "\xa0",
    "\u202f", "\u3000", "–", "−", "İ", "Σ", "ẞ", "ﬀ", "«", "»", "「", "」", "\u1fef", "\u212a", "世", "界", "\x1a",
    "\x85",    "\u2028", "\x1c",
]  # fmt: skip
_WORDS = [
    "```", "~~~", "```\n", "\n```py\n", "  ", "\n\n", "http://", "www.", "5!", "GetUser", "NaCl", "MAX_T", "-V ",
    "--X ",    "2024-05-01", "10:00", "May 5, 2024", "T10:00:00Z", "ts=1718000000", "req-8f3a2b1c", "Request ID: 8f3a9",
    "550e8400-e29b-41d4-a716-446655440000", " AM", "\x1atimestamp\x1a",
]  # fmt: skip

nasty_texts = st.lists(st.sampled_from(_CHARS + _ODD + _WORDS), max_size=14).map("".join) | st.text(max_size=30)
plain_words = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=9), min_size=1, max_size=8).map(
    " ".join
)
