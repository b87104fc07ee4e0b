"""The name of a scope, from what a log says of its callers."""

from __future__ import annotations

import pytest

from edgeinf.analyze.columns import Group
from edgeinf.analyze.interpret import Context
from edgeinf.analyze.scopes import scope_name

ALL = Group(Context(), tenant="t", team="m", key_id="k")
TENANT = Group(Context(), tenant="t")
EVENT = Group(Context(), tenant="t", scope_kind="team", scope_id="1f")


@pytest.mark.parametrize(
    ("group", "scope", "name"),
    [
        (ALL, None, "k"), (ALL, "key", "k"), (ALL, "user", "k"), (ALL, "team", "m"), (ALL, "shared", ""),
        (TENANT, None, "t"), (TENANT, "team", "t"), (Group(Context()), None, ""),
        (EVENT, None, "team:1f"), (EVENT, "key", "t"), (EVENT, "shared", ""),
    ],
)  # fmt: skip
def test_the_scope_of_a_group(group: Group, scope: str | None, name: str) -> None:
    assert scope_name(group, scope) == name
