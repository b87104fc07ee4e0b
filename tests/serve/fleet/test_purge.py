"""What a purge names, and what it refuses to guess."""

from __future__ import annotations

import pytest

from edgeinf.core.errors import CallError
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.fleet.purge import Purge, read_purge


def entry(**fields: str) -> Entry:
    return Entry(
        trust=b"", stored_at=0, ttl_s=1, stream=False, content_type="", dialect="openai-chat", path="/v1", **fields
    )


@pytest.mark.parametrize(
    ("body", "purge"),
    [
        (b'{"all": true}', Purge()),
        (b'{"key": "000102030405060708090a0b0c0d0e0f"}', Purge(find=bytes(range(16)))),
        (b'{"namespace": "x"}', Purge(namespace="x")),
        (b'{"namespace": "", "model": "m"}', Purge(namespace="", model="m")),
    ],
    ids=["all", "key", "namespace", "both"],
)
def test_a_purge_names_what_it_means(body: bytes, purge: Purge) -> None:
    assert read_purge(body) == purge


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"all": false}', b'{"all": true, "model": "m"}', b'{"key": "zz"}', b'{"key": "00"}',
     b'{"modle": "m"}', b'{"model": 1}', b'{"key": "000102030405060708090a0b0c0d0e0f", "model": "m"}'],
)  # fmt: skip
def test_what_is_not_clear_forgets_nothing(body: bytes) -> None:
    with pytest.raises(CallError) as caught:
        read_purge(body)
    assert caught.value.status == 400


def test_a_model_is_meant_by_the_name_asked_for_and_by_the_one_that_answered() -> None:
    assert Purge(model="alias").matches(entry(asked="alias", model="dated"))
    assert Purge(model="dated").matches(entry(asked="alias", model="dated"))
    assert not Purge(model="other").matches(entry(asked="alias", model="dated"))
    assert not Purge(model="alias", namespace="x").matches(entry(asked="alias"))
