"""The one table of names that the config knows and this version does not act on.

``serve`` and ``validate`` refuse them with these words; nothing is ever ignored in silence. A path names a key
(``routing.hedge``), ``*`` stands for any item of a list or key of a mapping (``regions.*.load``), and
``path=value`` refuses one value only (``cache.level=masked``). Take the line out when the feature lands.
"""

from __future__ import annotations

__all__ = ["UNBUILT"]

UNBUILT: dict[str, str] = {}
"""path, or path=value -> what to do instead, in a few words."""
