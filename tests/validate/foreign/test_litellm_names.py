from __future__ import annotations

from edgeinf.validate.foreign import litellm_names as names


def test_no_name_is_listed_twice() -> None:
    for listed in (names.TOP, names.ENTRY, names.PARAMS, names.STRATEGIES, *names.SECTIONS.values()):
        assert len(set(listed)) == len(listed)


def test_every_section_is_known_at_the_top() -> None:
    assert set(names.SECTIONS) <= set(names.TOP)
