"""Several origins from one script."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock.regions import MockRegions, load_regions
from tests.mock.http_client import ask, chat


def test_regions_inherit_what_is_common_and_lay_their_own_over_it() -> None:
    document = {
        "ttft": "80ms",
        "answer": {"tokens": 3, "reasoning": 1},
        "rules": [{"fault": "gzip"}],
        "regions": [
            {"name": "east", "port": 9001, "ttft": "20ms", "answer": {"tokens": 5}},
            {"name": "west", "rules": [{"fault": "503"}]},
        ],
    }

    (east, east_port), (west, west_port) = load_regions(document)

    assert (east.name, east_port, east.timing.ttft_s) == ("east", 9001, 0.02)
    assert (east.answer.tokens, east.answer.reasoning) == (5, 1)
    assert (west.name, west_port, west.timing.ttft_s) == ("west", 0, 0.08)
    assert [rule.faults[0].kind for rule in west.rules] == ["gzip", "status"]


def test_a_document_without_regions_is_one_origin() -> None:
    [(script, port)] = load_regions({"name": "only"}, port=7)

    assert (script.name, port) == ("only", 7)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"regions": [{"ttft": "1s"}]}, "each with a name"),
        ({"regions": [{"name": "a"}, {"name": "a"}]}, "two regions have one name"),
        ({"regions": {"a": {}}}, "must be a list"),
        ([], "must be a mapping"),
    ],
    ids=["nameless", "twice", "mapping", "list"],
)
def test_regions_that_cannot_be_told_apart_are_refused(document: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_regions(document)


async def test_each_region_answers_by_its_own_script() -> None:
    async with MockRegions({"answer": {"tokens": 2}}, east={}, west={"fault": "503"}) as regions:
        statuses = [(await ask(origin, "/v1/chat/completions", chat())).status for origin in regions]

        assert statuses == [200, 503]
        assert regions.counts == {"east": 1, "west": 1}
        assert regions["east"].url != regions["west"].url
