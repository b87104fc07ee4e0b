"""Where cloud regions are, and how far apart two places on the globe.

The table ``places.json`` is dated; positions are those of the metropolitan area, good to some tens of
kilometres, which is well under a millisecond of light in fibre.
"""

from __future__ import annotations

import difflib
import functools
import math
from importlib import resources

import msgspec

__all__ = ["FIBRE_KM_PER_MS", "Place", "distance_km", "find_place", "places", "round_trip_ms"]

FIBRE_KM_PER_MS = 200.0  # light in glass: two thirds of that in vacuum


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A named position in degrees; ``cloud`` is ``aws``, ``azure`` or ``gcp``, empty for one of the user's own."""

    name: str
    lat: float
    lon: float
    cloud: str = ""


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    dated: str
    note: str
    places: tuple[Place, ...]


@functools.cache
def places() -> dict[str, Place]:
    """Return every known cloud region by its name; names are unique over the clouds."""
    text = resources.files("edgeinf.core").joinpath("places.json").read_bytes()
    return {place.name: place for place in msgspec.json.decode(text, type=_Table).places}


def find_place(name: str) -> Place:
    """Return the cloud region ``name``. Raise ValueError with the nearest name if there is none."""
    found = places().get(name.strip().lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), places(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "write {lat: 38.9, lon: -77.4} for a place of your own"
        raise ValueError(f"there is no cloud region {name!r}: {hint}")
    return found


def distance_km(a: Place, b: Place) -> float:
    """Return the great-circle distance (haversine, mean earth radius 6371 km)."""
    lat_a, lat_b = math.radians(a.lat), math.radians(b.lat)
    across = math.radians(b.lon - a.lon)
    chord = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(across / 2) ** 2
    return 2 * 6371.0 * math.asin(min(1.0, math.sqrt(chord)))


def round_trip_ms(a: Place, b: Place) -> float:
    """Return the least time a round trip can take in fibre; real routes take half as much again or more."""
    return 2 * distance_km(a, b) / FIBRE_KM_PER_MS
