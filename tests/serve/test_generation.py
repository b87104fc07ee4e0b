from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from edgeinf.serve.generation import Generation
from tests.serve.running import config_for


@pytest.mark.parametrize(
    ("level", "mask", "tag"),
    [
        ("safe", ("timestamps", "request-ids"), "safe"),
        ("masked", ("timestamps", "request-ids"), "masked"),
        ("masked", ("uuids",), "masked:uuids"),
        ("masked", ("user:timestamps",), "masked:timestamps,user:timestamps"),
        ("loose", ("uuids",), "loose"),
    ],
)
def test_the_level_masks_what_the_config_says(tmp_path: Path, level: str, mask: tuple[str, ...], tag: str) -> None:
    config = config_for(tmp_path, "http://127.0.0.1:1")
    cache = dataclasses.replace(config.cache, level=level, mask=mask)  # type: ignore[arg-type]
    assert Generation(dataclasses.replace(config, cache=cache)).level.tag == tag
