from __future__ import annotations

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.validate.explain import document, explain
from edgeinf.validate.rules.registry import ALL


@pytest.mark.parametrize("code", ALL)
def test_every_code_has_its_page(code: str) -> None:
    text = explain(code.lower())
    assert text.startswith(f"{code} ({ALL[code].severity}): {ALL[code].title}\n")
    assert ALL[code].why in text


def test_a_beginning_gives_all_its_pages_and_all_gives_the_list() -> None:
    assert explain("W30").count("docs: ") == 3
    assert len(explain("all").splitlines()) == len(ALL)


def test_the_document_says_the_same_as_the_page() -> None:
    found = document("e104")["codes"]
    assert [rule["code"] for rule in found] == ["E104"]
    assert all(str(found[0][field]) in explain("E104") for field in ("severity", "title", "why", "docs"))
    assert len(document("all")["codes"]) == len(ALL)


def test_an_unknown_code_names_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        explain("E1044")
    assert refused.value.hint is not None
    assert "E104" in refused.value.hint
