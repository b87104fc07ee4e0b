"""ShareGPT: one JSON array of conversations, with neither time, nor model, nor user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from edgeinf.analyze.conversations import turns
from edgeinf.analyze.readers.base import Sample, decode, text
from edgeinf.analyze.record import Damaged, NotARequest, Record

__all__ = ["READER"]


class ShareGPT:
    """Reads the array, or one conversation a line."""

    name = "sharegpt"

    def sniff(self, sample: Sample) -> float:
        return 0.9 * sample.share("conversations")

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            try:
                document = decode(data)
                rows = document if isinstance(document, list) else [document]
            except msgspec.DecodeError:
                rows = [_row(line) for line in data.splitlines() if line.strip()]
            for row in rows:
                if not isinstance(row, dict):
                    yield row if isinstance(row, Damaged) else Damaged("not a JSON object")
                    continue
                found = turns(row.get("conversations"), model=text(row.get("model")), session=text(row.get("id")))
                yield from found
                if not found:
                    yield NotARequest("a conversation in which no user speaks")


def _row(line: bytes) -> object:
    try:
        return decode(line)
    except msgspec.DecodeError:
        return Damaged("not JSON")


READER = ShareGPT()
