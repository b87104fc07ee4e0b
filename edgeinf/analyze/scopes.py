"""Who may share an answer: the scope of each request, as a small number."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.columns import Group
from edgeinf.analyze.dense import Hashes, mixed
from edgeinf.analyze.log import Log

__all__ = ["Scoped", "callers", "scope_name", "scoped"]


class Scoped(msgspec.Struct, frozen=True):
    """``key`` is to be xor-ed into a request's digest; ``allowed`` is False where the scope needs a user it lacks."""

    key: Hashes
    allowed: npt.NDArray[np.bool_] | None


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
    key = mixed(np.array(of_group or [0]))[log.group]
    if scope != "user":
        return Scoped(key, None)
    if log.user is None:
        return Scoped(key, np.zeros(log.rows, bool))
    return Scoped(key ^ mixed(log.user.astype(np.uint64) + np.uint64(1 << 40)), log.user != 0)


def callers(log: Log) -> Hashes:
    """Return what tells callers apart by their credential alone."""
    numbers: dict[str, int] = {}
    of_group = [numbers.setdefault(scope_name(g, "key"), len(numbers)) for g in log.groups]
    return mixed(np.array(of_group or [0]))[log.group]
