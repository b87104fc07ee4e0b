from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.normalize.shape import replaced, run_around, shape_of


def test_a_shape_keeps_places() -> None:
    assert shape_of("Get_User 10:00!") == b"Aaa_Aaaa 00:00!"
    assert shape_of("Éa 1٣世") == b"?a 0??"


@given(st.text("a0", min_size=1), st.data())
def test_a_run_is_whole_wherever_it_is_met(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    start, end = run_around(text.encode(), at)
    assert start <= at < end
    if text[at] == "0":
        assert text[start:end] == "0" * (end - start)
        assert "0" not in (text[start - 1 : start], text[end : end + 1])


@given(st.lists(st.text("Aa0 é", max_size=6), min_size=1, max_size=5), st.sampled_from(["", "x" * 5000]))
def test_what_is_replaced_has_the_shape_that_it_would_be_given(words: list[str], long: str) -> None:
    text, spans = long, []
    for word in words:
        spans.append((len(text), len(text) + len(word)))
        text += word + "-"
    done = replaced(text, spans, "N1")
    assert done == long + "N1-" * len(words)
    assert shape_of(done) == (long.replace("x", "a") + "A0-" * len(words)).encode()
