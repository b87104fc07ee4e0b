"""Build values and their places from the parser's events, with no call stack that grows with the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Related, Site, Span
from edgeinf.core.config.scalars import resolve, trap
from edgeinf.core.config.source import MAX_DEPTH, MAX_VALUES, Raw, Source
from edgeinf.core.config.syntax import syntax_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Builder"]

_TAG = "tag:yaml.org,2002:"
_new = tuple.__new__  # a named tuple's own constructor takes as long again
_SCALAR_TAGS = frozenset({_TAG + name for name in ("str", "int", "float", "bool", "null")})


class _Frame:
    """A mapping or list that is being filled."""

    __slots__ = ("anchor", "container", "key", "key_span", "keys", "merges", "path", "start")

    def __init__(self, container: Any, path: KeyPath, anchor: str | None, start: int) -> None:
        self.container = container
        self.path = path
        self.anchor = anchor
        self.start = start  # index of the first site below it
        self.key: str | None = None
        self.key_span: Span | None = None
        self.keys: dict[str, Span] = {}
        self.merges: list[tuple[KeyPath, int, int]] = []


class _Stop(Exception):
    """Nothing more can be read."""


class Builder:
    """Read one text; use it once."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._faults: list[Diagnostic] = []
        self._sites: dict[KeyPath, Site] = {}
        self._order: list[KeyPath] = []
        self._raws: dict[KeyPath, Raw] = {}
        self._anchors: dict[str, tuple[KeyPath, int, int, Any] | None] = {}
        self._stack: list[_Frame] = []
        self._root: Any = None
        self._skip = 0  # depth inside a node that is passed over
        self._merge_count = 0

    def build(self) -> Source:
        import yaml

        broken = False
        try:
            self._walk(yaml)
        except _Stop:
            broken = True
        except yaml.YAMLError as error:
            broken = True
            self._faults.append(syntax_fault(yaml, error, self._text))
        root = self._root
        if not broken and root is not None and not isinstance(root, dict):
            site = self._sites.get(())
            what = "a list" if isinstance(root, list) else "a single value"
            self._fault(
                "E008",
                f"the file is {what}, not a mapping of keys",
                site.value if site else None,
                help="for example listen: {port: 8787}",
            )
            broken = True
        return Source(
            name=self._name,
            text=self._text,
            tree=root if isinstance(root, dict) else {},
            sites=self._sites,
            raws=self._raws,
            faults=tuple(self._faults),
            broken=broken,
        )

    def _fault(self, code: str, message: str, span: Span | None, **more: Any) -> None:
        severity = "error" if code[0] == "E" else "warning"
        self._faults.append(Diagnostic(code=code, severity=severity, message=message, span=span, **more))  # type: ignore[arg-type]

    def _walk(self, yaml: Any) -> None:
        documents = 0
        opens = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
        closes = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
        for event in _events(yaml, self._text):
            kind = type(event)
            if self._skip:
                self._skip += kind in opens
                self._skip -= kind in closes
            elif kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind in opens:
                self._open(event, {} if kind is yaml.MappingStartEvent else [])
            elif kind in closes:
                self._close(event)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self._fault("E007", "a second document starts here", _span(event), help="keep one per file")
                    raise _Stop

    # Each node is either a key or has a site: `_place` says which.

    def _place(self, event: Any) -> tuple[KeyPath, Span | None] | None:
        """Return the path and key span of the coming value, or None if the node is a key or is passed over."""
        if not self._stack:
            return (), None
        frame = self._stack[-1]
        if isinstance(frame.container, list):
            return (*frame.path, len(frame.container)), None
        if frame.key is not None:
            return (*frame.path, frame.key), frame.key_span
        return None

    def _put(self, path: KeyPath, key_span: Span | None, value: Any, span: Span) -> None:
        if len(self._order) >= MAX_VALUES:
            self._fault("E006", f"the file holds more than {MAX_VALUES:,} values", span)
            raise _Stop
        self._sites[path] = _new(Site, (key_span or span, span))
        self._order.append(path)
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        if isinstance(frame.container, list):
            frame.container.append(value)
        else:
            frame.container[frame.key] = value
            frame.key = None

    def _key(self, text: str, span: Span) -> None:
        frame = self._stack[-1]
        if text == "<<":
            self._merge_count += 1
            text = f"<<{self._merge_count}"
            frame.merges.append(((*frame.path, text), len(self._order), 0))
        elif text in frame.keys:
            first = frame.keys[text]
            self._fault(
                "E003",
                f"the key {text!r} is written twice",
                span,
                path=(*frame.path, text),
                help="keep one of them",
                related=(Related(message=f"first written here: line {first.line}", span=first),),
            )
            text = f"\0{len(self._faults)}"  # kept apart, dropped when the mapping ends
        frame.keys.setdefault(text, span)
        frame.key, frame.key_span = text, span

    def _scalar(self, event: Any) -> None:
        span = _span(event)
        plain = not event.style and event.tag not in ("!", _TAG + "str")
        place = self._place(event)
        if place is None:
            self._key(event.value, span)
            if event.anchor is not None:
                self._anchors[event.anchor] = ((), 0, 0, event.value)
            return
        path, key_span = place
        text = event.value
        value = resolve(text) if plain else text
        if event.tag not in (None, "!") and event.tag not in _SCALAR_TAGS:
            self._tag(event, span, path)
        elif plain and (old := trap(text)) is not None:
            now = "text" if isinstance(value, str) else f"the number {value}"
            self._fault(
                "W004",
                f"{text} is {now} here, but {old} to readers of YAML 1.1",
                span,
                path=path,
                help="put it in quotes if text is meant" if isinstance(value, str) else "leave out the zero in front",
            )
        if "$" in text or (plain and value is None):
            self._raws[path] = Raw(text, plain)
        if text == "" and plain and key_span is not None:
            span = Span(key_span.end_line, key_span.end_column, key_span.end_line, key_span.end_column + 1)
        start = len(self._order)
        self._put(path, key_span, value, span)
        if event.anchor is not None:
            self._anchors[event.anchor] = (path, start, len(self._order), value)

    def _tag(self, event: Any, span: Span, path: KeyPath) -> None:
        self._fault(
            "E005", f"the tag {event.tag.removeprefix(_TAG)!r} is not allowed", span, path=path, help="remove it"
        )

    def _open(self, event: Any, container: Any) -> None:
        span = _span(event)
        place = self._place(event)
        if place is None:
            self._fault("E009", "a mapping or list cannot be a key", span, help="write the key as plain text")
            self._skip = 1
            self._stack[-1].key, self._stack[-1].key_span = f"\0{len(self._faults)}", span
            return
        if len(self._stack) >= MAX_DEPTH:
            self._fault("E010", f"values are nested more than {MAX_DEPTH} deep", span)
            raise _Stop
        path, key_span = place
        if event.tag is not None and event.tag not in ("!", _TAG + "map", _TAG + "seq"):
            self._tag(event, span, path)
        start = len(self._order)
        self._put(path, key_span, container, span)
        if event.anchor is not None:
            self._anchors[event.anchor] = None  # until it is closed
        self._stack.append(_Frame(container, path, event.anchor, start))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        site = self._sites[frame.path]
        end = Span(site.value.line, site.value.column, event.end_mark.line + 1, event.end_mark.column + 1)
        self._sites[frame.path] = Site(end if site.key == site.value else site.key, end)
        if isinstance(frame.container, dict):
            for path, start, _ in frame.merges:
                self._merge(frame, path, start)
            for key in [key for key in frame.container if key.startswith("\0")]:
                del frame.container[key]
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.path, frame.start, len(self._order), frame.container)

    def _alias(self, event: Any) -> None:
        span = _span(event)
        target = self._anchors.get(event.anchor)
        place = self._place(event)
        if target is None:
            what = "contains itself" if event.anchor in self._anchors else "has no anchor before it"
            self._fault("E006", f"the alias {event.anchor!r} {what}", span)
            raise _Stop
        origin, start, end, value = target
        if place is None:
            self._key(value if isinstance(value, str) else str(value), span)
            return
        path, key_span = place
        self._put(path, key_span, _copy(value), span)
        self._copy_sites(origin, path, start + 1, end)
        if origin in self._raws:
            self._raws[path] = self._raws[origin]

    def _copy_sites(self, origin: KeyPath, path: KeyPath, start: int, end: int) -> None:
        self._room_for(end - start, self._sites[path].value)
        for old in self._order[start:end]:
            new = path + old[len(origin) :]
            if len(new) > MAX_DEPTH:  # each alias may go as deep as the file, and one may stand in another
                self._fault("E010", f"aliases nest values more than {MAX_DEPTH} deep", self._sites[path].value)
                raise _Stop
            if old in self._sites and new not in self._sites:
                self._sites[new] = self._sites[old]
                self._order.append(new)
                if old in self._raws:
                    self._raws[new] = self._raws[old]

    def _merge(self, frame: _Frame, path: KeyPath, start: int) -> None:
        merged = frame.container.pop(path[-1], None)
        end = len(self._order)
        items = merged if isinstance(merged, list) else [merged]
        if not all(isinstance(item, dict) for item in items):
            self._fault("E006", "<< takes a mapping or a list of them", self._sites[path].value)
            return
        taken: dict[KeyPath, None] = {}
        for index, item in enumerate(items):
            origin = (*path, index) if isinstance(merged, list) else path
            for key, value in item.items():
                if key not in frame.container:
                    frame.container[key] = value
                    taken[(*origin, key)] = None
        depth = len(path) + (1 if isinstance(merged, list) else 0)
        below = [old for old in self._order[start:end] if old[: depth + 1] in taken]
        self._room_for(len(below), self._sites[path].value)
        for old in below:
            new = frame.path + old[depth:]
            self._sites[new] = self._sites[old]
            self._order.append(new)
            if old in self._raws:
                self._raws[new] = self._raws[old]

    def _room_for(self, number: int, span: Span) -> None:
        if len(self._order) + number > MAX_VALUES:
            self._fault("E006", f"aliases expand to more than {MAX_VALUES:,} values", span)
            raise _Stop


def _events(yaml: Any, text: str) -> Iterator[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        while (event := loader.get_event()) is not None:
            yield event
    finally:
        loader.dispose()


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _span(event: Any) -> Span:
    start, end = event.start_mark, event.end_mark
    return _new(Span, (start.line + 1, start.column + 1, end.line + 1, end.column + 1))
