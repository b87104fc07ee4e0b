"""What a reader of one log format must do, and what all of them need."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

import msgspec

from edgeinf.analyze.record import Damaged, NotARequest, Record

__all__ = [
    "AnyReader",
    "LineReader",
    "Reader",
    "Sample",
    "WholeReader",
    "count",
    "decode",
    "decode_line",
    "embedded",
    "first_lines",
    "json_lines",
    "milliseconds",
    "number",
    "obj",
    "path_of",
    "sample_of",
    "text",
]

SAMPLE_BYTES = 256 * 1024


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning of a log: its name, its first values if it is JSON, its columns if it is CSV."""

    name: str
    head: bytes
    values: tuple[dict[str, Any], ...] = ()
    columns: frozenset[str] = frozenset()
    document: bool = False  # one JSON document over many lines, or an array

    def share(self, *fields: str) -> float:
        """Return the share of sampled values that have all of the fields at their top."""
        if not self.values:
            return 0.0
        return sum(all(f in value for f in fields) for value in self.values) / len(self.values)


class Reader(Protocol):
    """A log format. Exactly one of the two kinds below."""

    name: str

    def sniff(self, sample: Sample) -> float:
        """Return how sure it is that the sample is of this format, 0 to 1."""
        ...


@runtime_checkable
class LineReader(Reader, Protocol):
    """A format whose lines stand for themselves, so that a file can be read from any line, and in parts at once."""

    def read_line(self, line: bytes) -> Record | Sequence[Record]:
        """Return what one line holds. Raise Damaged or NotARequest."""
        ...


@runtime_checkable
class WholeReader(Reader, Protocol):
    """A format that must be seen as a whole: one document, or rows that belong together."""

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        """Yield what the files hold together, in order; faults are yielded, never raised."""
        ...


AnyReader: TypeAlias = LineReader | WholeReader


_decode = msgspec.json.Decoder().decode
_TOO_DEEP = "nested too deeply"


def decode(data: bytes | str) -> Any:
    """Parse JSON. Raise DecodeError for whatever is none, also for what is no text or nested without end."""
    try:
        return _decode(data)
    except UnicodeDecodeError:
        raise msgspec.DecodeError("not UTF-8") from None
    except RecursionError:
        raise msgspec.DecodeError(_TOO_DEEP) from None


def decode_line(line: bytes) -> dict[str, Any]:
    """Parse one line as a JSON object. Raise Damaged."""
    try:
        value = _decode(line)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise Damaged("not JSON") from None
        raise Damaged("cut off" if "truncated" in str(error) else "not JSON") from None
    except UnicodeDecodeError:
        raise Damaged("not UTF-8") from None
    except RecursionError:
        raise Damaged(_TOO_DEEP) from None
    if not isinstance(value, dict):
        raise Damaged("not a JSON object")
    return value


def json_lines(paths: Iterable[str]) -> Iterator[tuple[int, dict[str, Any] | Damaged]]:
    """Yield (line number, object or fault) of files of JSON lines."""
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.isspace():
                    continue
                try:
                    yield number, decode_line(line)
                except Damaged as fault:
                    yield number, fault


def first_lines(path: str, most: int = 20) -> list[bytes]:
    """Return the first whole lines of a file."""
    with open(path, "rb") as file:
        head = file.read(SAMPLE_BYTES)
    lines = head.split(b"\n")
    whole = lines if len(head) < SAMPLE_BYTES else lines[:-1]
    return [line for line in whole[:most] if line.strip()]


def sample_of(name: str, path: str) -> Sample:
    """Look at the beginning of a file."""
    with open(path, "rb") as file:
        head = file.read(SAMPLE_BYTES).removeprefix(b"\xef\xbb\xbf")
    values = []
    for line in first_lines(path):
        try:
            value = decode(line.removeprefix(b"\xef\xbb\xbf"))
        except msgspec.DecodeError:
            continue
        if isinstance(value, dict):
            values.append(value)
    if values and not (len(values) == 1 and head.count(b"\n") > 1 and len(head) < SAMPLE_BYTES and _is_document(path)):
        return Sample(name=name, head=head, values=tuple(values))
    start = head.lstrip()[:1]
    if start in (b"[", b"{"):
        return Sample(name=name, head=head, values=_document_values(path), document=True)
    row = head.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    try:
        columns = next(csv.reader(io.StringIO(row)), []) if "," in row else []
    except csv.Error:
        columns = []
    return Sample(name=name, head=head, columns=frozenset(c.strip() for c in columns))


def _is_document(path: str) -> bool:
    return bool(_document_values(path))


def _document_values(path: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of a document: the object itself, or the first of an array."""
    try:
        with open(path, "rb") as file:
            document = decode(file.read())
    except msgspec.DecodeError:
        return ()
    if isinstance(document, list):
        return tuple(v for v in document[:20] if isinstance(v, dict))
    return (document,) if isinstance(document, dict) else ()


def text(value: Any) -> str | None:
    """Return a text or a number as text; None for anything else and for what is empty."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def number(value: Any) -> float | None:
    """Return a number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def count(value: Any) -> int | None:
    """Return a count, also one written as text; None for anything else and below zero."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value >= 0 else None
    found = number(value)
    return int(found) if found is not None and found >= 0 else None


def path_of(url: Any) -> str | None:
    """Return the path of an address; None where there is none, or no address."""
    try:
        return urlsplit(str(url or "")).path or None
    except ValueError:
        return None


def milliseconds(seconds: float | None) -> float | None:
    """Return seconds as milliseconds."""
    return None if seconds is None else round(seconds * 1000, 3)


def obj(value: Any) -> dict[str, Any]:
    """Return an object, also one written as JSON text; an empty one for anything else."""
    value = embedded(value)
    return value if isinstance(value, dict) else {}


def embedded(value: Any) -> Any:
    """Return what a text holds if it is JSON, else the value itself."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return decode(value)
        except msgspec.DecodeError:
            return value
    return value
