import pytest

from edgeinf.probe.figures import COLD, DEFINITIONS, WARM, decode_tokens, figures, token_gaps_ms
from tests.probe.made import attempt_of

_TEN = {"first_token": 1000.0, "last_token": 1090.0, "tokens": [1000.0 + 10 * n for n in range(10)]}


def test_every_figure_has_its_formula():
    assert {*COLD, *WARM} <= set(DEFINITIONS)


def test_ten_tokens_ten_milliseconds_apart_are_ten_whatever_the_first_took():
    got = figures(attempt_of(at=_TEN, output_tokens=10))
    assert got["tpot_ms"] == pytest.approx(10)
    assert got["output_tps"] == pytest.approx(100)
    assert got["ttft_ms"] == 1000


def test_several_tokens_in_a_chunk_are_counted_as_such():
    attempt = attempt_of(at=_TEN, output_tokens=40, counted_tokens=40, first_chunk_tokens=4)
    assert figures(attempt)["output_tps"] == pytest.approx(36 / 0.09)


def test_a_fat_first_chunk_is_not_decode_time():
    attempt = attempt_of(at=_TEN, output_tokens=29, counted_tokens=35, first_chunk_tokens=26)
    assert decode_tokens(attempt) == 9


def test_reasoning_that_was_not_streamed_is_not_decode_time():
    attempt = attempt_of(at=_TEN, output_tokens=510, reasoning_tokens=500, counted_tokens=10, first_chunk_tokens=1)
    assert figures(attempt)["tpot_ms"] == pytest.approx(10)


def test_reasoning_that_was_streamed_is():
    attempt = attempt_of(at=_TEN, output_tokens=10, reasoning_tokens=8, reasoning_streamed=True)
    assert decode_tokens(attempt) == 9


@pytest.mark.parametrize("tokens", [None, 1, 2], ids=["usage missing", "one", "two"])
def test_under_two_decode_tokens_there_is_no_time_per_token(tokens):
    got = figures(attempt_of(at={**_TEN, "tokens": [1000.0, 1010.0]}, output_tokens=tokens))
    assert "tpot_ms" not in got
    assert "output_tps" not in got


def test_a_reused_connection_has_no_connection_times():
    got = figures(attempt_of())
    assert not {"dns_ms", "tcp_ms", "tls_ms", "connect_ms"} & set(got)


def test_a_cold_attempt_counts_from_its_start():
    at = {"dns": 1.0, "tcp": 4.0, "tls": 9.0, "request_start": 10.0, "headers": 15.0, "first_token": 30.0}
    got = figures(attempt_of(phase="cold", at=at))
    assert got["ttft_ms"] == 30
    assert got["ttfb_ms"] == 5
    assert (got["dns_ms"], got["tcp_ms"], got["tls_ms"], got["connect_ms"]) == (1, 3, 5, 10)


def test_behind_a_tunnel_tls_begins_with_the_proxys_consent():
    at = {"dns": 1.0, "tcp": 4.0, "proxy": 6.0, "tls": 9.0, "request_start": 10.0}
    got = figures(attempt_of(phase="cold", at=at))
    assert (got["proxy_ms"], got["tls_ms"]) == (2, 3)


def test_the_open_loop_counts_from_the_scheduled_instant():
    attempt = attempt_of(at={"scheduled": -500.0, "first_token": 10.0}, open_loop=True)
    got = figures(attempt)
    assert got["ttft_ms"] == 510
    assert got["lag_ms"] == 500


def test_gaps_are_between_chunks():
    assert token_gaps_ms(attempt_of(at=_TEN)) == [10.0] * 9


def test_a_replay_in_one_read_has_no_rate():
    got = figures(attempt_of(at={"first_token": 1.0, "last_token": 1.0, "tokens": [1.0] * 16}, output_tokens=16))
    assert "tpot_ms" not in got
    assert "output_tps" not in got
    assert got["e2e_ms"] == 1
