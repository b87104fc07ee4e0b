"""Patterns that a text must not hold, within a bound on time."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.schema import DenyRule
from edgeinf.serve.guard import deny
from edgeinf.serve.guard.deny import WINDOW, DenyPatterns

CATASTROPHIC = r"(a|aa)+$"
BOMB = "a" * 40 + "?"


def patterns(*rules: str | tuple[str, str]) -> DenyPatterns:
    """Return patterns, which block unless said otherwise."""
    pairs = [rule if isinstance(rule, tuple) else (rule, "block") for rule in rules]
    return DenyPatterns([DenyRule(pattern=pattern, action=action) for pattern, action in pairs])  # type: ignore[arg-type]


async def test_each_pattern_found_is_named_with_what_to_do() -> None:
    found = await patterns("(?i)ignore", ("secret", "flag"), "absent").search(["please IGNORE", "the secret"])
    assert [denied.verdict for denied in found] == ["blocked deny[0]", "flagged deny[1]"]


async def test_a_pattern_that_would_run_for_ever_ends_and_counts_as_found() -> None:
    started = time.perf_counter()
    found = await patterns(CATASTROPHIC).search([BOMB])
    assert found[0].timed_out
    assert time.perf_counter() - started < 5


async def test_the_loop_goes_on_meanwhile() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    ticking = asyncio.create_task(tick())
    await asyncio.gather(*(patterns(CATASTROPHIC).search([BOMB]) for _ in range(3)))
    ticking.cancel()
    assert ticks > 5


@settings(max_examples=80)
@given(
    before=st.integers(0, 3 * WINDOW),
    middle=st.integers(0, WINDOW - 8),
    after=st.integers(0, 2 * WINDOW),
    cuts=st.lists(st.integers(1, 100), max_size=60),
)
def test_a_match_of_up_to_a_window_is_found_before_any_of_it_is_shown(
    before: int, middle: int, after: int, cuts: list[int]
) -> None:
    text = "." * before + "BAD" + "-" * middle + "END" + "." * after
    stream = patterns("BAD-*END").stream()
    shown, at = "", 0
    for cut in [*cuts, len(text)]:
        piece = stream.feed(text[at : at + cut])
        at += cut
        if stream.found:
            break
        shown += piece
    if not stream.found:
        stream.close()
    assert stream.found
    assert "B" not in shown


@given(cuts=st.lists(st.integers(1, 700), max_size=20))
def test_how_a_text_is_cut_changes_nothing(cuts: list[int]) -> None:
    text = "".join(chr(97 + n * 7 % 26) for n in range(2500)) + "BAD" + "." * 700
    whole, pieces = patterns("BAD", "zzz").stream(), patterns("BAD", "zzz").stream()
    expected = whole.feed(text) + whole.close()
    out, at = "", 0
    for cut in cuts:
        out += pieces.feed(text[at : at + cut])
        at += cut
    out += pieces.feed(text[at:]) + pieces.close()
    assert (out, pieces.found) == (expected, whole.found)


def test_no_more_than_two_blocks_are_held_back() -> None:
    stream = patterns("BAD").stream()
    shown = 0
    for fed in range(1, 3000):
        shown += len(stream.feed("x"))
        assert fed - shown <= 2 * WINDOW


@pytest.mark.parametrize("size", [10, 5_000_000], ids=["small", "large"])
async def test_size_alone_is_no_offence(size: int) -> None:
    assert await patterns("BAD", "(?i)ignore (all|previous) instructions").search(["x " * (size // 2)]) == []


@pytest.mark.parametrize("escaped", [r"1\+1", r"(?i)what\?", "a|b", r"a\{b", "(?s)a.b"])
def test_a_pattern_in_which_nothing_repeats_needs_no_clock(escaped: str) -> None:
    assert deny._is_bounded(escaped)


@pytest.mark.parametrize(
    "repeating", [CATASTROPHIC, "a*", "(?=a)b", "a{2}", "ab?", r"\\*", r"x\\+", "|".join("abcdef")]
)
def test_a_pattern_that_may_repeat_is_searched_against_the_clock(repeating: str) -> None:
    assert not deny._is_bounded(repeating)
