from __future__ import annotations

import pytest

from edgeinf.core.config.schema import SECTIONS
from edgeinf.core.config.shape import keys_of
from edgeinf.validate.published import published
from edgeinf.validate.words import WORDS


@pytest.mark.parametrize("name", WORDS)
def test_each_is_about_a_key_that_exists_and_reaches_the_editor(name: str) -> None:
    section, key = name.split(".")
    keys = {cls.__name__: keys_of(cls) for cls in SECTIONS}
    assert key in keys[section]
    drawn = published()
    holder = drawn if section == "Config" else drawn["$defs"][section]
    assert holder["properties"][key]["description"] == WORDS[name]


def test_they_are_one_line_without_a_full_stop() -> None:
    assert [words for words in WORDS.values() if "\n" in words or words.endswith(".") or len(words) > 110] == []
