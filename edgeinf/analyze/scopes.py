"""Who may share an answer: the scope of each request, as a small number."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.columns import Group
from edgeinf.analyze.dense import Hashes, mixed
from edgeinf.analyze.log import Log

__all__ = ["Scoped", "callers", "scope_name", "scoped"]


class Scoped(msgspec.Struct, frozen=True):
    """What tells requests apart besides their bodies; ``allowed`` is False where the scope needs a user it lacks."""

    of_group: Hashes
    by_user: bool
    allowed: npt.NDArray[np.bool_] | None

    def key(self, log: Log, rows: Any = slice(None)) -> Hashes:
        """Return what is to be xor-ed into each request's digest; made anew each time, since it is large."""
        key: Hashes = self.of_group[log.group[rows]]
        if self.by_user and log.user is not None:
            key ^= mixed(log.user[rows].astype(np.uint64) + np.uint64(1 << 40))
        return key

    def equals(self, other: Scoped) -> bool:
        """Return whether both tell the same requests apart."""
        same = self.by_user == other.by_user and len(np.unique(self.of_group)) == len(np.unique(other.of_group))
        return same and self.allowed is None and other.allowed is None


def scope_name(group: Group, scope: str | None) -> str:
    """Return the id of a group's scope, without the user."""
    if scope is None and group.scope_kind is not None:
        return f"{group.scope_kind}:{group.scope_id}"
    if scope == "shared":
        return ""
    if scope == "team":
        return group.team or group.tenant or ""
    return group.key_id or group.tenant or ""


def scoped(log: Log, scope: str | None) -> Scoped:
    """Return what separates the keys of requests besides their bodies: scope, dialect, path and model."""
    numbers: dict[object, int] = {}
    of_group = [numbers.setdefault((scope_name(g, scope), g.context), len(numbers)) for g in log.groups]
    table = mixed(np.array(of_group or [0]))
    if scope != "user":
        return Scoped(table, False, None)
    return Scoped(table, True, np.zeros(log.rows, bool) if log.user is None else log.user != 0)


def callers(log: Log) -> Hashes:
    """Return what tells callers apart by their credential alone."""
    numbers: dict[str, int] = {}
    of_group = [numbers.setdefault(scope_name(g, "key"), len(numbers)) for g in log.groups]
    return mixed(np.array(of_group or [0]))[log.group]
