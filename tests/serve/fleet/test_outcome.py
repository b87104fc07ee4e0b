"""The end of an answer, told to those who follow it elsewhere."""

from __future__ import annotations

import msgspec
import pytest

from edgeinf.core.call import Usage
from edgeinf.core.errors import CallError
from edgeinf.serve.fleet.outcome import Outcome
from edgeinf.serve.flight import Flight


def _ended(*, failure: CallError | None) -> Flight:
    flight = Flight()
    flight.region, flight.model, flight.usage = "east", "m-1", Usage(input_tokens=3, output_tokens=5)
    flight.unfit, flight.stored = ("cut", False) if failure is not None else (None, True)
    if failure is None:
        flight.finish()
    else:
        flight.fail(failure)
    return flight


@pytest.mark.parametrize(
    "failure", [None, CallError("it broke off", status=502, code="origin_cut")], ids=["whole", "broken"]
)
def test_who_follows_ends_as_the_leader_did(failure: CallError | None) -> None:
    led, following = _ended(failure=failure), Flight()

    msgspec.msgpack.decode(msgspec.msgpack.encode(Outcome.of(led)), type=Outcome).end(following)

    assert following.done
    names = ("region", "model", "usage", "unfit", "stored")
    assert [getattr(following, name) for name in names] == [getattr(led, name) for name in names]
    if failure is None:
        assert following.failure is None
    else:
        assert following.failure is not None
        assert (following.failure.message, following.failure.status, following.failure.code) == (
            failure.message,
            failure.status,
            failure.code,
        )
