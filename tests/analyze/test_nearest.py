"""The nearest of earlier requests says what keeps a request apart."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from edgeinf.analyze.nearest import nearest
from edgeinf.analyze.record import Record
from tests.analyze.making import ask

ASKED = {
    0: ask("Where is my parcel?", system="Be kind. Request ID: 8f3a9b1c"),
    1: ask("Where is my parcel?", system="Be kind. Request ID: 77aa0b1d", body={"seed": 7}),
    2: ask("Where is my parcel?", system="Be kind. Request ID: 00ff9b1c"),
    3: ask("Why is the sky blue?", system="Be kind. Request ID: 123f9b1c"),
}


class Reading:
    """A log that remembers what was read of it."""

    def __init__(self) -> None:
        self.read: list[set[int]] = []

    def __call__(self, rows: set[int]) -> Iterator[tuple[int, Record]]:
        self.read.append(rows)
        for row in sorted(rows):
            yield row, Record(request=msgspec.json.encode(ASKED[row]["request"]))


def test_the_fewest_causes_count_and_what_is_explained_is_not_read_on() -> None:
    log = Reading()
    found = nearest({2: [1, 0], 1: [0]}, "safe", log)
    assert [sorted(c.kind for c in best[0]) for best in found.values() if best] == [
        ["request-id"],
        ["absent", "request-id"],
    ]
    assert log.read[1:] == [{0, 1}, {0}]


def test_another_question_has_no_cause() -> None:
    assert nearest({3: [0, 1]}, "safe", Reading()) == {3: None}
