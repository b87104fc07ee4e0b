"""The names are those of the conventions that the installed library knows, where it knows them."""

from __future__ import annotations

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes, http_attributes, server_attributes

from edgeinf.core.dialects import dialects
from edgeinf.serve.observe.conventions import METRICS, OPERATIONS, Name

_KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes, http_attributes, server_attributes)
    for name, value in vars(module).items()
    if isinstance(value, str) and name.isupper()
}
_OURS = [value for name, value in vars(Name).items() if name.isupper()]


@pytest.mark.parametrize("name", [name for name in _OURS if not name.startswith("edgeinf.")])
def test_what_is_not_our_own_is_in_the_conventions(name: str) -> None:
    assert name in _KNOWN


def test_every_api_has_an_operation() -> None:
    assert set(dialects()) - {"opaque"} <= set(OPERATIONS)


def test_metrics_are_those_of_generative_ai() -> None:
    assert all(name.startswith("gen_ai.") for name in METRICS)
