"""Split documents into passages: a heading's text, in pieces of a size that a prompt has room for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["SUFFIXES", "Passage", "documents", "split"]

SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc", ".org", ".html", ".htm", ".yaml", ".toml"})
_MOST_BYTES = 4 * 2**20
# About 300 tokens: four of them leave room in the default budget.
_TARGET = 1200

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"([=\-~^\"'#*+])\1{2,}\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_TAG = re.compile(r"(?s)<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]+>")
_TITLE_TAG = re.compile(r"(?is)<h([1-6])[^>]*>(.*?)</h\1>")


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a document; ``heading`` is the path of headings above it, ``line`` where it begins."""

    heading: str
    line: int
    text: str


def documents(folder: Path) -> Iterator[Path]:
    """Yield the text files below a folder, hidden ones and links that lead out of it left out."""
    root = folder.resolve()
    if root.is_file():
        yield folder
        return
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.suffix.lower() not in SUFFIXES or any(part.startswith(".") for part in parts):
            continue
        if path.is_file() and path.resolve().is_relative_to(root) and path.stat().st_size <= _MOST_BYTES:
            yield path


def split(text: str, suffix: str = ".md") -> list[Passage]:
    """Return a document's passages in order."""
    if suffix.lower() in (".html", ".htm"):
        text = _from_html(text)
    found: list[Passage] = []
    titles: list[str] = []
    block: list[str] = []
    start = 1

    def close() -> None:
        found.extend(_sized(" > ".join(filter(None, titles)), start, block))
        block.clear()

    lines = text.splitlines()
    fenced = False
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        under = not fenced and heading is None and _is_title(line, lines[number] if number < len(lines) else "")
        if heading is not None or under:
            close()
            depth = len(heading[1]) if heading is not None else 1
            title = heading[2] if heading is not None else line.strip()
            titles[:] = [*titles[: depth - 1], *[""] * (depth - 1 - len(titles)), title]
            start = number + 1
        else:
            if not block:
                start = number
            block.append(line)
    close()
    return found


def _is_title(line: str, below: str) -> bool:
    underlined = _UNDERLINE.match(below)
    return bool(line.strip()) and underlined is not None and len(below.strip()) >= len(line.strip()) - 2


def _sized(heading: str, start: int, lines: list[str]) -> Iterator[Passage]:
    """Cut a heading's lines at empty ones, between lines where one paragraph is too long, within them where one is."""
    piece: list[str] = []
    begins, size = start, 0

    def passage() -> Iterator[Passage]:
        text = "\n".join(piece).strip()
        if re.search(r"\w", text):
            yield Passage(heading=heading, line=begins, text=text)

    for number, line in _short(start, lines):
        if piece and ((size >= _TARGET / 2 and not line.strip()) or size + len(line) > _TARGET):
            yield from passage()
            piece, size = [], 0
        if not piece:
            if not line.strip():
                continue
            begins = number
        piece.append(line)
        size += len(line) + 1
    yield from passage()


def _short(start: int, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield numbered lines, those cut that are longer than a passage."""
    for number, line in enumerate(lines, start):
        for cut in range(0, max(1, len(line)), _TARGET):
            yield number, line[cut : cut + _TARGET]


def _from_html(text: str) -> str:
    import html

    text = _TITLE_TAG.sub(lambda found: f"\n{'#' * int(found[1])} {_TAG.sub(' ', found[2]).strip()}\n", text)
    return html.unescape(_TAG.sub(" ", text))
