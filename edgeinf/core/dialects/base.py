"""What an API family must say of itself. Only a dialect knows field names.

A dialect is one file that ends in ``DIALECT = …``; the registry in this package's ``__init__`` finds it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import msgspec

from edgeinf.core.call import Call, Usage
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = [
    "ANSWER",
    "ERROR",
    "NOTHING",
    "TOKEN",
    "Defaults",
    "Dialect",
    "Rewrite",
    "Verdict",
    "Watcher",
    "as_object",
    "read_answer",
    "require",
    "require_messages",
    "require_stream",
    "soft_error",
    "str_or_none",
    "whole_or_value_error",
]

P = ParamSpec("P")
T = TypeVar("T")

# What one event of a stream brings; flags, because an answer is also a token.
NOTHING = 0  # a role, an empty delta, a ping, a block's start, usage
TOKEN = 1  # output of the model: content, reasoning, refusal, tool arguments, audio
ANSWER = 2  # output that the user sees as the answer: content, refusal, audio
ERROR = 4  # an error object inside a 200


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer turned out to be. ``unfit`` says why it may not be stored; ``None`` means it may."""

    unfit: str | None
    usage: Usage = Usage()
    model: str | None = None
    error: JsonObject | None = None  # the error object found inside a 200


class Watcher(Protocol):
    """Follows one stream, event by event."""

    def feed(self, event: Event) -> int:
        """Return what the event brings (``NOTHING``, or ``TOKEN``, ``ANSWER``, ``ERROR`` or-ed together)."""
        ...

    def verdict(self) -> Verdict:
        """Return what the stream was, taking the events fed so far as all there are."""
        ...


class Rewrite(Protocol):
    """What a level does to the parts of a body that it may touch."""

    @property
    def identity(self) -> bool:
        """Return whether everything is left as it is."""
        ...

    def content(self, role: str, content: Any) -> Any:
        """Return a message's content (text or list of parts) in normal form. Roles: system, developer, user."""
        ...

    def tools(self, tools: Any) -> Any:
        """Return tool definitions in normal form."""
        ...


class Dialect(Protocol):
    """One API family."""

    name: str
    family: str  # what a region's ``serves`` lists: openai, anthropic, rerank
    paths: frozenset[str]
    unkeyed: frozenset[str]  # body fields that cannot change the answer
    keyed_fields: frozenset[str]  # body fields known to matter; an unknown field matters as well

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        """Read a body. Raise CallError 400 where it cannot be a call of this dialect."""
        ...

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        """Return what enters the key: one body per Key, without unkeyed fields, texts rewritten."""
        ...

    def bypass(self, call: Call) -> list[str]:
        """Return why the call may be neither looked up nor stored, as names that ``cache.allow`` takes."""
        ...

    def upstream_body(self, call: Call) -> JsonObject | None:
        """Return the body to send where it differs from the call's own, so that the answer can serve everyone."""
        ...

    def watch(self, call: Call) -> Watcher:
        """Return a watcher for the call's stream."""
        ...

    def judge(self, call: Call, body: bytes) -> Verdict:
        """Judge a whole answer with status 200."""
        ...

    def fold(self, events: Sequence[Event]) -> bytes:
        """Turn a complete stream into the whole answer. Raise ValueError where it cannot be one."""
        ...

    def unfold(self, body: bytes) -> list[Event]:
        """Turn a whole answer into a stream. Raise ValueError where it cannot be one."""
        ...

    def render_event(self, call: Call, event: Event) -> Event | None:
        """Return an event as this asker wants it, or None to leave it out."""
        ...

    def trim(self, call: Call, piece: bytes) -> bytes:
        """Return whole events as ``render_event`` would have them, as far as that takes no parsing."""
        ...

    def marks(self, call: Call) -> tuple[bytes, ...]:
        """Return what gives away an event that ``render_event`` may change: it holds one of these."""
        ...

    def render_whole(self, call: Call, body: bytes) -> bytes:
        """Return a whole answer with the asker's own echoed fields."""
        ...

    def split_call(self, call: Call, wanted: Sequence[int]) -> JsonObject:
        """Return the body that asks the origin for these parts of the call only; ``wanted`` numbers its Keys."""
        ...

    def split_answer(self, call: Call, body: bytes) -> list[bytes]:
        """Return one storable answer per part that the call asked for. Raise ValueError where they do not match."""
        ...

    def join_answers(self, call: Call, parts: Sequence[bytes]) -> bytes:
        """Return the whole answer to a call from one stored answer per Key, in their order, as this asker wants it."""
        ...

    def deterministic(self, call: Call) -> bool:
        """Return whether the call is answered without sampling, whatever its temperature."""
        ...

    def pinned(self, call: Call) -> bool:
        """Return whether the origin keeps the answer under an id, so that only one origin credential may share it."""
        ...

    def answer_id(self, body: bytes) -> str | None:
        """Return the id under which the origin keeps a whole answer, if it does."""
        ...

    def error_body(self, error: CallError, request_id: str) -> bytes:
        """Return the dialect's error document."""
        ...

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        """Return raw events that end a stream with an error, in the form this dialect's clients raise on."""
        ...


class Defaults:
    """What holds for most dialects: one Key, one answer, nothing to render, no stream. Inherit and override.

    A call whose parts have Keys of their own (an embeddings request with a list) is served like this: look up every
    Key; send ``split_call(call, missing)``; store each of ``split_answer`` of the answer, read as a call of that body,
    under its Key; answer with ``join_answers`` of all parts.
    """

    def upstream_body(self, call: Call) -> JsonObject | None:
        return None

    def watch(self, call: Call) -> Watcher:
        return _NoStream()

    def fold(self, events: Sequence[Event]) -> bytes:
        raise ValueError("this dialect has no streams")

    def unfold(self, body: bytes) -> list[Event]:
        raise ValueError("this dialect has no streams")

    def trim(self, call: Call, piece: bytes) -> bytes:
        return piece

    def marks(self, call: Call) -> tuple[bytes, ...]:
        return ()

    def render_event(self, call: Call, event: Event) -> Event | None:
        return event

    def render_whole(self, call: Call, body: bytes) -> bytes:
        return body

    def split_call(self, call: Call, wanted: Sequence[int]) -> JsonObject:
        return self.upstream_body(call) or call.body

    def split_answer(self, call: Call, body: bytes) -> list[bytes]:
        return [body]

    def join_answers(self, call: Call, parts: Sequence[bytes]) -> bytes:
        return self.render_whole(call, parts[0])

    def deterministic(self, call: Call) -> bool:
        return False

    def pinned(self, call: Call) -> bool:
        return False

    def answer_id(self, body: bytes) -> str | None:
        return None


class _NoStream:
    """Follows a stream where none belongs; nothing of it is stored."""

    def feed(self, event: Event) -> int:
        return TOKEN | ANSWER

    def verdict(self) -> Verdict:
        return Verdict(unfit="a stream where none belongs")


def whole_or_value_error(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that takes an answer apart raise ValueError alone, however odd the answer is."""

    @functools.wraps(function)
    def careful(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (AttributeError, KeyError, IndexError, TypeError, RecursionError, msgspec.DecodeError) as error:
            raise ValueError(f"the answer has another shape than expected: {error}") from error

    return careful


def require(body: JsonObject, field: str, kinds: type | tuple[type, ...], wanted: str) -> Any:
    """Return a field that must be there with one of the types. Raise CallError 400 naming it."""
    value = body.get(field)
    if isinstance(value, bool) or not isinstance(value, kinds):
        problem = "is missing" if field not in body else f"must be {wanted}"
        raise CallError(f"{field!r} {problem}", code="invalid_value", param=field)
    return value


def as_object(value: Any) -> JsonObject:
    """Return ``value`` if it is an object, else an empty one: for reading what may be malformed."""
    return value if isinstance(value, dict) else {}


def str_or_none(value: Any) -> str | None:
    """Return ``value`` if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def soft_error(document: Any) -> JsonObject | None:
    """Return the error object of a document that carries one: a truthy ``error``, as the SDKs decide it."""
    error = document.get("error") if isinstance(document, dict) else None
    if not error:
        return None
    return error if isinstance(error, dict) else {"message": str(error)}


def read_answer(body: bytes) -> Any:
    """Return the document of an answer, or the Verdict on one that is no JSON or that holds an error object."""
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return Verdict(unfit="malformed answer")
    error = soft_error(document)
    return document if error is None else Verdict(unfit="error in the answer", error=error)


def require_messages(body: JsonObject) -> list[JsonObject]:
    """Return the messages of a body. Raise CallError 400 where one is no object with a role."""
    messages = require(body, "messages", list, "a list")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            problem = f"messages[{number}] must be an object with a role"
            raise CallError(problem, code="invalid_value", param="messages")
    return messages  # type: ignore[no-any-return]  # each was looked at


def require_stream(body: JsonObject) -> bool:
    """Return whether a body asks for a stream. Raise CallError 400 where it does not say so plainly."""
    stream = body.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise CallError("'stream' must be true or false", code="invalid_value", param="stream")
    return bool(stream)
