"""Virtual keys, found by their hash."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from edgeinf.serve.bearers import Bearers, presented
from tests.serve.callers import auth_for, secret


def test_a_key_is_found_by_its_secret_and_by_nothing_else() -> None:
    bearers = Bearers(auth_for("a", "b").keys)
    found = bearers.find(secret("a").encode())
    assert found is not None
    assert found.id == "a"
    assert bearers.find(secret("a").encode() + b" ") is None
    assert bearers.find(found.digest.hex().encode()) is None
    assert len(bearers) == 2


def test_the_last_day_is_still_good() -> None:
    [bearer] = Bearers(auth_for(a={"expires": date(2027, 12, 31)}).keys)._known.values()
    assert bearer.expires_at == datetime(2028, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({}, []),
        ({b"authorization": b"Bearer abc"}, [b"abc"]),
        ({b"authorization": b"bearer  abc "}, [b"abc"]),
        ({b"authorization": b"abc"}, [b"abc"]),
        ({b"authorization": b"Basic abc"}, [b"Basic abc"]),
        ({b"x-api-key": b"abc"}, [b"abc"]),
        ({b"authorization": b"Bearer a", b"x-api-key": b"b", b"api-key": b"c"}, [b"a", b"b", b"c"]),
        ({b"authorization": b"  "}, []),
    ],
)
def test_every_credential_that_is_sent_is_seen(headers: dict[bytes, bytes], found: list[bytes]) -> None:
    assert presented(headers) == found
