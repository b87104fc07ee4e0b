from __future__ import annotations

import pytest

from edgeinf.core.call import Answer, Call, Usage


def test_values_that_cross_borders_cannot_be_changed() -> None:
    call = Call(dialect="d", path="/", model="m", body={})
    with pytest.raises(AttributeError):
        call.model = "n"  # type: ignore[misc]


def test_what_an_origin_did_not_say_is_none_and_not_zero() -> None:
    assert Usage().cached_tokens is None
    assert Answer(body=b"", stream=False).usage == Usage()
