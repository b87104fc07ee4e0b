"""The filter never denies what is stored."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.serve.cache.presence import Presence


@settings(max_examples=25)
@given(st.sets(st.binary(min_size=16, max_size=16), max_size=50))
def test_what_was_added_may_be_held(tmp_path_factory: object, finds: set[bytes]) -> None:
    folder = tmp_path_factory.mktemp("presence")  # type: ignore[attr-defined]
    presence = Presence(folder / "bits")
    presence.add(finds)
    assert all(presence.may_hold(find) for find in finds)
    presence.close()


def test_few_absent_keys_pass_for_stored(tmp_path: Path) -> None:
    presence = Presence(tmp_path / "bits")
    presence.add(os.urandom(16) for _ in range(20_000))
    passed = sum(presence.may_hold(os.urandom(16)) for _ in range(20_000))
    assert passed < 200
    presence.close()


def test_a_second_process_sees_what_the_first_added(tmp_path: Path) -> None:
    first, second = Presence(tmp_path / "bits"), Presence(tmp_path / "bits")
    assert (first.fresh, second.fresh) == (True, False)
    first.add([b"k" * 16])
    assert second.may_hold(b"k" * 16)
    second.clear()
    assert not first.may_hold(b"k" * 16)
    first.close()
    second.close()


def test_a_file_of_another_size_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "bits").write_bytes(b"\xff" * 10)
    presence = Presence(tmp_path / "bits")
    assert presence.fresh
    assert not presence.may_hold(os.urandom(16))
    presence.close()
