"""The config's prompt rules: which calls they are about, and what they add. Files are read again when they change."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from edgeinf.core.config.schema import Message, PromptRule, When
from edgeinf.core.errors import ConfigError
from edgeinf.serve.context.source import Source
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.client import Client

__all__ = ["Addition", "Assembler", "FileText", "Template", "digest"]

_log = logging.getLogger("edgeinf.prompt")

_PLACE = re.compile(r"\{\{\s*(model|key|team|user|route|session|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*\}\}")


class FileText:
    """A text that is written in the config, or kept in a file and read again when that changes."""

    def __init__(self, message: Message) -> None:
        self._path = message.content_file
        self._seen: tuple[int, int, int] | None = None
        self.text = message.content or ""
        if self._path is not None:
            try:
                self._read(self._path)
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
                hint = "prompt[].content_file"
                raise ConfigError(f"cannot read the prompt {self._path}: {reason}", hint=hint) from None

    @property
    def may_change(self) -> bool:
        """Return whether the text is in a file."""
        return self._path is not None

    def refresh(self) -> bool:
        """Read the file again if it changed; return whether the text did. A file that is gone keeps its last text."""
        if self._path is None:
            return False
        try:
            return self._read(self._path)
        except (OSError, UnicodeDecodeError) as error:
            if self._seen is not None:
                _log.warning("cannot read the prompt %s, its last text stays: %s", self._path, error)
            self._seen = None
            return False

    def _read(self, path: Path) -> bool:
        status = path.stat()
        seen = status.st_mtime_ns, status.st_size, status.st_ino
        if seen == self._seen:
            return False
        before = self.text
        self.text = path.read_text(encoding="utf-8").rstrip("\n")
        self._seen = seen
        return self.text != before


class Template:
    """A message to add, with places for what is known of the call: ``{{ model }}``, ``{{ header:X-Team }}``."""

    def __init__(self, message: Message) -> None:
        self.role = message.role
        self.source = FileText(message)
        self._plain: tuple[str, str] | None = None  # what it adds where it has no places

    def names(self) -> set[str]:
        """Return the places that the text has."""
        return set(_PLACE.findall(self.source.text))

    def filled(self, x: Exchange) -> tuple[str, str]:
        """Return (role, text) for a call."""
        text = self.source.text
        if self._plain is None or self._plain[1] is not text:
            filled = _PLACE.sub(lambda found: _value(found[1], x), text)
            if _PLACE.search(text):
                return self.role, filled
            self._plain = (self.role, text)
        return self._plain


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: the calls that it is about, and what it adds."""

    when: When
    prepend: tuple[Template, ...]
    append: tuple[Template, ...]
    context: Source | None

    def matches(self, x: Exchange) -> bool:
        """Return whether the rule is about a call."""
        when = self.when
        return (
            (when.model is None or (x.call is not None and when.model == x.call.model))
            and (when.key is None or when.key == x.key_id)
            and (when.team is None or when.team == x.team)
            and (when.route is None or when.route == x.header(b"x-edgeinf-route"))
            and all(x.header(name.lower().encode()) == value for name, value in when.headers.items())
        )


class Assembler:
    """Every rule of a config. ``state`` changes with every file and document, and so ends what was remembered."""

    def __init__(self, rules: Sequence[PromptRule], sources: Sequence[Source | None]) -> None:
        self.additions = tuple(
            Addition(
                when=rule.when,
                prepend=tuple(map(Template, rule.prepend)),
                append=tuple(map(Template, rule.append)),
                context=source,
            )
            for rule, source in zip(rules, sources, strict=True)
        )
        self._templates = [t for a in self.additions for t in (*a.prepend, *a.append)]
        self._files = [template.source for template in self._templates if template.source.may_change]
        self._sources = [a.context for a in self.additions if a.context is not None]
        self._changes = 0
        self._readers: list[Callable[[Exchange], str | None]] = []
        self._note_names()

    def refresh(self) -> tuple[int, ...]:
        """Look for changed files and return the state."""
        if self._files:
            changed = [file.refresh() for file in self._files]
            if any(changed):
                self._changes += 1
                self._note_names()
        return (self._changes, *[source.refresh() for source in self._sources])

    async def tend(self, client: Client) -> None:
        """Have documents embedded where rules ask for that."""
        await asyncio.gather(*(source.tend(client) for source in self._sources))

    def reads(self, x: Exchange) -> list[str]:
        """Return everything besides the body that the rules look at in a call."""
        return [read(x) or "" for read in self._readers]

    def _note_names(self) -> None:
        names = {"key", "team", "route"}
        for addition in self.additions:
            names.update(f"header:{name.lower()}" for name in addition.when.headers)
        for template in self._templates:
            names.update(template.names())
        self._readers = [_reader(name) for name in sorted(names - {"model", "user"})]
        self.headers = frozenset(name.removeprefix("header:") for name in names if name.startswith("header:"))


@lru_cache(maxsize=16)
def digest(parts: tuple[tuple[str, str], ...]) -> str:
    """Return the version of what was added: a short digest. Most calls have the same added."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=6).hexdigest()


def _value(name: str, x: Exchange) -> str:
    """Return what is known of a call under the name of a place; empty where nothing is."""
    return _reader(name)(x) or ""


def _reader(name: str) -> Callable[[Exchange], str | None]:
    """Return what finds in a call what stands under the name of a place."""
    if name.startswith("header:"):
        header = name.removeprefix("header:").lower().encode()
        return lambda x: x.header(header)
    return _VALUES[name]


_VALUES: dict[str, Callable[[Exchange], str | None]] = {
    "model": lambda x: x.call.model if x.call is not None else "",
    "user": lambda x: (x.call.user if x.call is not None else None) or x.user,
    "key": lambda x: x.key_id,
    "team": lambda x: x.team,
    "route": lambda x: x.header(b"x-edgeinf-route"),
    "session": lambda x: x.header(b"x-edgeinf-session"),
}
