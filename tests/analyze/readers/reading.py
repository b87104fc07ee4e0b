"""Read a sample as ``analyze`` does: sniff, then every record of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeinf.analyze.readers import sniff
from edgeinf.analyze.readers.base import AnyReader, LineReader, sample_of
from edgeinf.analyze.record import Damaged, NotARequest, Record, answer_text
from edgeinf.analyze.scan import records_of_chunk
from edgeinf.analyze.source import Sources, chunks

__all__ = ["SAMPLES", "faults", "fields", "read", "sniffed"]

SAMPLES = Path(__file__).parent / "samples"


def sniffed(name: str) -> str:
    """Return the name of the reader that a sample is taken for."""
    return sniff(sample_of(name, str(SAMPLES / name))).name


def everything(reader: AnyReader, *paths: Path) -> list[Record | Damaged | NotARequest]:
    """Return all that a reader finds, faults included."""
    names = tuple(str(p) for p in paths)
    if not isinstance(reader, LineReader):
        return list(reader.read_files(names))
    sources = Sources(names, names, tuple(p.stat().st_size for p in paths))
    return [
        found for chunk in chunks(sources, 200) for _, found in records_of_chunk(reader, names[chunk.source], chunk)
    ]


def read(*names: str) -> list[Record]:
    """Return the records of samples, whose format is sniffed from the first."""
    reader = sniff(sample_of(names[0], str(SAMPLES / names[0])))
    return [r for r in everything(reader, *(SAMPLES / n for n in names)) if isinstance(r, Record)]


def faults(reader: AnyReader, text: bytes, folder: Path) -> list[str]:
    """Return what a reader says of lines that hold no request."""
    path = folder / "log"
    path.write_bytes(text)
    return [str(f) for f in everything(reader, path) if not isinstance(f, Record)]


def fields(record: Record) -> dict[str, Any]:
    """Return what a record says, with its answer as text and without its request."""
    said = {
        name: getattr(record, name)
        for name in record.__struct_fields__
        if name not in ("request", "answer", "line", "block_tokens") and getattr(record, name) is not None
    }
    answer = answer_text(record.answer)
    return said if answer is None else {**said, "answer": answer}
