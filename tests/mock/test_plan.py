"""When the pieces of an answer are due."""

from __future__ import annotations

import random

import pytest

from edgeinf.mock.plan import schedule
from edgeinf.mock.script import Shape, Timing
from edgeinf.mock.values import Kind, Piece, Plan


def stream() -> Plan:
    kinds = [(Kind.OPEN, 0), (Kind.TOKEN, 1), (Kind.TOKEN, 1), (Kind.TOKEN, 3), (Kind.MARK, 0), (Kind.END, 0)]
    return Plan(pieces=[Piece(kind, b"x", tokens) for kind, tokens in kinds], stream=True)


def waits(plan: Plan) -> list[float]:
    return [round(piece.wait_s, 6) for piece in plan.pieces]


def test_only_tokens_wait_and_a_piece_of_several_tokens_waits_for_all() -> None:
    plan = stream()
    schedule(plan, Timing(ttft_s=0.2, tpot_s=0.01), Shape(), random.Random(0))

    assert waits(plan) == [0, 0.2, 0.01, 0.03, 0, 0]
    assert plan.head_s == 0


def test_the_first_token_is_counted_from_the_request_even_if_headers_are_late() -> None:
    plan = stream()
    schedule(plan, Timing(headers_s=0.15, ttft_s=0.2), Shape(), random.Random(0))

    assert plan.head_s == 0.15
    assert waits(plan)[1] == 0.05


def test_hidden_reasoning_delays_the_first_token() -> None:
    plan = stream()
    schedule(plan, Timing(ttft_s=0.1, tpot_s=0.01), Shape(hidden_reasoning=50), random.Random(0))

    assert waits(plan)[1] == 0.6


def test_a_whole_answer_comes_when_its_last_token_would_have() -> None:
    plan = Plan(pieces=[Piece(Kind.WHOLE, b"{}")], tokens=11)
    schedule(plan, Timing(ttft_s=0.2, tpot_s=0.01), Shape(), random.Random(0))

    assert plan.head_s == pytest.approx(0.3)


def test_choices_of_one_round_share_its_instant() -> None:
    pieces = [Piece(Kind.TOKEN, b"x", 1, joint=joint) for joint in (False, True, False, True)]
    plan = Plan(pieces=pieces, stream=True)
    schedule(plan, Timing(tpot_s=0.01), Shape(), random.Random(0))

    assert waits(plan) == [0, 0, 0.01, 0]


def test_jitter_stays_within_its_share_and_follows_the_seed() -> None:
    def jittered(seed: int) -> list[float]:
        plan = stream()
        schedule(plan, Timing(ttft_s=0.2, tpot_s=0.01, jitter=0.5), Shape(), random.Random(seed))
        return waits(plan)

    assert jittered(1) == jittered(1) != jittered(2)
    assert all(0.1 <= jittered(seed)[1] <= 0.3 for seed in range(20))


def test_without_delays_nothing_is_touched() -> None:
    plan = stream()
    pieces = plan.pieces
    schedule(plan, Timing(), Shape(), random.Random(0))

    assert plan.pieces is pieces
