"""What one attempt leaves behind in what is known of its region."""

from __future__ import annotations

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Region, Routing
from edgeinf.core.errors import CallError
from edgeinf.serve.origin.health import CLOSED, DUE
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.region import make_origin
from edgeinf.serve.origin.regions import Ask, Picked, Regions
from edgeinf.serve.steps.failing import AttemptFailed
from edgeinf.serve.steps.leg import Leg


class Place:
    """One region, and legs to it."""

    def __init__(self, *, passthrough: bool = False) -> None:
        self.clock = FakeClock()
        self.regions = Regions(self.clock)
        origin = make_origin(Region(name="a", url="http://a", passthrough=passthrough))
        self.target = Target(origin=origin, model="m", sent="m")
        self.state = self.regions.state(origin)

    def leg(self, *, trial: bool = False, credential: str = "alice") -> Leg:
        self.regions.enter(self.target)
        ask = Ask(stream=True, routing=Routing(), credential=credential)
        return Leg(Picked(self.target, self.state, trial=trial), self.regions, ask, 1)

    def counts(self) -> tuple[float, float]:
        return self.state.health.counts(self.clock.monotonic())


def failure(cause: str, *, headers: list[tuple[bytes, bytes]] | None = None, elsewhere: bool = False) -> AttemptFailed:
    return AttemptFailed(cause, CallError("x"), headers=headers, elsewhere=elsewhere)


@pytest.mark.parametrize(
    ("cause", "counts"), [("connect", (0, 1)), ("timeout", (0, 1)), ("500", (0, 1)), ("404", (0, 0)), ("429", (0, 0))]
)
def test_only_the_regions_own_failures_count(cause: str, counts: tuple[int, int]):
    place = Place()
    leg = place.leg()
    leg.failed(failure(cause))
    leg.end()
    assert place.counts() == counts
    assert place.state.in_flight == 0


def test_an_answer_that_breaks_counts_as_both():
    place = Place()
    leg = place.leg()
    leg.answered()
    leg.answered()
    leg.failed(failure("bad-answer"))
    leg.end()
    leg.end()
    assert place.counts() == (1, 1)
    assert place.state.in_flight == 0


def test_what_cannot_be_served_there_is_no_failure():
    place = Place()
    leg = place.leg()
    leg.failed(failure("adapter", elsewhere=True))
    leg.end()
    assert place.counts() == (0, 0)
    assert place.state.failed == 0


@pytest.mark.parametrize(
    ("passthrough", "cause", "others_rest"), [(True, "429", False), (False, "429", True), (True, "503", True)]
)
def test_a_quota_is_its_owners_and_overload_is_everybodys(passthrough: bool, cause: str, others_rest: bool):
    place = Place(passthrough=passthrough)
    leg = place.leg(credential="alice")
    leg.failed(failure(cause, headers=[(b"retry-after", b"9")]))
    leg.end()
    now = place.clock.monotonic()
    owner = "bob" if passthrough else ""
    assert (place.state.health.resting(now, "m", owner) is not None) is others_rest


@pytest.mark.parametrize("how", ["answered", "client's fault", "left"])
def test_a_trial_ends_however_it_ends(how: str):
    place = Place()
    for _ in range(5):
        place.state.health.fail(place.clock.monotonic())
    place.clock.advance(6)
    place.state.health.begin_trial(place.clock.monotonic())
    leg = place.leg(trial=True)
    if how == "answered":
        leg.answered()
    elif how == "client's fault":
        leg.failed(failure("400"))
    leg.end()
    assert place.state.health.state(place.clock.monotonic()) == (DUE if how == "left" else CLOSED)
