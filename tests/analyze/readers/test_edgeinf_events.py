"""edgeinf's own events, written by its own encoder."""

from __future__ import annotations

from pathlib import Path

from edgeinf.analyze.readers import sniff
from edgeinf.analyze.readers.base import sample_of
from edgeinf.core.events import Event, EventKeys, EventScope, encode
from tests.analyze.making import run

KEYS = EventKeys(exact=["0a" * 16], safe=["0b" * 16])


def _log(path: Path, *events: Event) -> Path:
    path.write_bytes(b"".join(map(encode, events)))
    return path


def _event(at: float, cache: str = "miss", keys: EventKeys = KEYS, **fields: object) -> Event:
    return Event(at=at, dialect="openai-chat", cache=cache, keys=keys, scope=EventScope(id="x"), status=200, **fields)  # type: ignore[arg-type]


def test_hit_rates_come_from_keys_alone(tmp_path: Path) -> None:
    bypassed = _event(3, cache="bypass", reason="store")
    path = _log(tmp_path / "log", _event(1), _event(2), bypassed, _event(4, keys=EventKeys()))
    assert sniff(sample_of("log", str(path))).name == "edgeinf-events"
    found = run(path)
    assert {name: None if level is None else level.hits for name, level in found.levels.items()} == {
        "exact": 1, "safe": 1, "loose": None, "masked": None,
    }  # fmt: skip
    assert found.reasons == {"store": 1, "no-content": 1}


def test_scopes_are_kept_apart_as_they_were(tmp_path: Path) -> None:
    other = Event(at=2, dialect="openai-chat", cache="miss", keys=KEYS, scope=EventScope(id="y"), status=200)
    found = run(_log(tmp_path / "log", _event(1), other)).default
    assert found is not None
    assert found.hits == 0


def test_events_of_a_call_with_several_keys(tmp_path: Path) -> None:
    two = EventKeys(exact=["0a" * 16, "0c" * 16], safe=["0b" * 16, "0d" * 16])
    found = run(_log(tmp_path / "log", _event(1), _event(2, keys=two), _event(3, keys=two))).default
    assert found is not None
    assert (found.hits, found.unique) == (1, 2)


def test_a_refresh_is_no_request_of_anybody(tmp_path: Path) -> None:
    refresh = _event(3, reason="refresh", usd=1.0, stored=True)
    found = run(_log(tmp_path / "log", _event(1), _event(2, cache="stale"), refresh, _event(4)))
    assert found.log.rows == 3
    assert found.log.skipped == {"a refresh that no client asked for": 1}
    assert found.log.damaged == 0
