"""When an origin is asked whether it is there, and when it is left."""

from __future__ import annotations

from edgeinf.serve.origin.http2.liveness import Liveness


def test_an_origin_that_owes_nothing_is_never_asked():
    one = Liveness()
    assert one.verdict(1e6) == "there"
    one.expect(0.0)
    one.hear(1.0, owing=False)
    assert one.verdict(1e6) == "there"


def test_silence_counts_from_the_first_word_that_is_owed():
    one = Liveness()
    one.expect(0.0)
    one.expect(25.0)  # more is sent into the silence
    assert [one.verdict(at) for at in (29.0, 31.0)] == ["there", "silent"]


def test_one_that_does_not_react_is_left_and_one_that_does_is_trusted_again():
    one = Liveness()
    one.expect(0.0)
    assert one.ask(31.0)
    assert not one.ask(32.0)
    assert one.doubted
    assert [one.verdict(at) for at in (50.0, 52.0)] == ["there", "gone"]
    one.hear(53.0, owing=True)
    assert not one.doubted
    assert [one.verdict(at) for at in (80.0, 84.0)] == ["there", "silent"]
