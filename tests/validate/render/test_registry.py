from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.validate.render import registry
from edgeinf.validate.report import Report


@pytest.mark.parametrize("name", registry.FORMATS)
def test_every_form_has_its_function(name: str) -> None:
    assert isinstance(registry.renderer(name)(Report()), str)


def test_every_file_is_registered() -> None:
    files = {path.stem for path in Path(registry.__file__).parent.glob("*.py")} - {"__init__", "registry"}
    assert files == set(registry.FORMATS)
