from __future__ import annotations

import re
from pathlib import Path

from edgeinf.validate import online
from edgeinf.validate.rules import asking


def test_every_code_that_asking_may_give_has_a_page() -> None:
    used = set(re.findall(r'"([OU]\d{3})"', Path(online.__file__).read_text()))
    assert used == {rule.code for rule in asking.RULES}


def test_what_could_not_be_asked_is_unknown_and_no_error() -> None:
    assert {rule.severity for rule in asking.RULES if rule.code[0] == "U"} == {"unknown"}
