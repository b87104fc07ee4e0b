"""Where is the client? As it says itself, else where this node stands."""

from __future__ import annotations

from edgeinf.core.places import Place, places
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.generation import Generation

__all__ = ["client_place", "place_name"]


def client_place(x: Exchange, generation: Generation) -> Place | None:
    """Return where the client is: a cloud region's name or ``lat,lon`` in the header, else the node's own place."""
    header = generation.place_header
    said = None if header is None else x.header(header)
    if said is None:
        return generation.place
    known = places().get(said.strip().lower())
    if known is not None:
        return known
    lat, _, lon = said.partition(",")
    try:
        place = Place(name="", lat=float(lat), lon=float(lon))
    except ValueError:
        return generation.place
    return place if abs(place.lat) <= 90 and abs(place.lon) <= 180 else generation.place


def place_name(x: Exchange, generation: Generation) -> str | None:
    """Return the name of the client's place for events and figures; a place of no known name has none."""
    if generation.place_header is None and generation.place is None:
        return None
    place = client_place(x, generation)
    return None if place is None else place.name or None
