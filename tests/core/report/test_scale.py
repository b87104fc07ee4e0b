import math

from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.report.scale import scale_for

_NUMBERS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20)


@given(_NUMBERS, st.booleans())
def test_every_value_lies_on_the_axis_and_ticks_inside(values, from_zero):
    scale = scale_for(values, from_zero=from_zero)
    assert all(0 <= scale.share(v) <= 1 for v in values)
    assert all(0 <= scale.share(t) <= 1 for t in scale.ticks())


def test_a_logarithmic_axis_has_decades_as_ticks():
    scale = scale_for([1, 10_000], log=True)
    assert scale.ticks() == [1, 10, 100, 1000, 10_000]
    assert math.isclose(scale.share(100), 0.5)


def test_what_is_beyond_the_axis_is_at_its_end():
    assert scale_for([1, 2]).share(math.inf) == 1


def test_nothing_to_show_is_still_an_axis():
    assert scale_for([]).low < scale_for([]).high
    assert scale_for([], log=True).low > 0
