"""The values of a script."""

from __future__ import annotations

import dataclasses

import pytest

from edgeinf.mock.script import Fault, Match, Rule, Script, Shape, Timing, ToolCall


@pytest.mark.parametrize("kind", [Match, Rule, Script, Shape, Timing, ToolCall], ids=lambda kind: kind.__name__)
def test_values_are_frozen_and_have_defaults(kind: type) -> None:
    value = kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(kind)[0].name, None)


def test_a_fault_needs_its_kind() -> None:
    with pytest.raises(TypeError, match="kind"):
        Fault()  # type: ignore[call-arg]
