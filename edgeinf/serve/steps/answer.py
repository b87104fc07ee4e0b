"""What the config's rules make of an answer. Entries stay as the origin sent them: other rules need no cold cache."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from edgeinf.core.config.schema import AnswerRules as Configured
from edgeinf.core.dialects.anthropic_editing import MessagesEditor
from edgeinf.core.dialects.base import as_object
from edgeinf.core.dialects.chat_editing import ChatEditor
from edgeinf.core.dialects.editing import Editor, Edits, wants_json
from edgeinf.core.dialects.responses_editing import ResponsesEditor
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event
from edgeinf.serve.answer.channels import TextChannel
from edgeinf.serve.answer.repair import repaired
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.guard.deny import Denied, DenyPatterns
from edgeinf.serve.guard.redaction import Redactor

__all__ = ["AnswerRules", "AnswerView", "view_of"]

_EDITORS: dict[str, Callable[[Edits], Editor]] = {
    "openai-chat": ChatEditor,
    "openai-completions": lambda edits: ChatEditor(edits, completions=True),
    "openai-responses": ResponsesEditor,
    "anthropic-messages": MessagesEditor,
}


class AnswerRules:
    """The config's answer rules, compiled once. False where answers stay as they are."""

    def __init__(self, configured: Configured) -> None:
        self.strip = "reasoning" in configured.strip
        self.header = configured.header or ""
        self.footer = configured.footer or ""
        self.redactor = Redactor(configured.redact) if configured.redact else None
        self.deny = DenyPatterns(configured.deny)
        self.repair = configured.repair_json

    def __bool__(self) -> bool:
        return bool(self.strip or self.header or self.footer or self.redactor or self.deny or self.repair)


def view_of(x: Exchange, rules: AnswerRules) -> AnswerView | None:
    """Return how this asker sees answers; None where the dialect's answers are no text."""
    if not rules or x.call is None or x.call.dialect not in _EDITORS:
        return None
    return AnswerView(x, rules)


class AnswerView:
    """One asker's view of one answer. ``verdicts`` says what was found in it."""

    def __init__(self, x: Exchange, rules: AnswerRules) -> None:
        assert x.call is not None
        self._x = x
        self._rules = rules
        self._asks_json = wants_json(x.call.body)
        self._dialect = x.call.dialect
        self.verdicts: list[str] = []

    def editor(self) -> Editor:
        """Return an editor for one reading of the answer, from its start."""
        return _Careful(_EDITORS[self._dialect](_Pass(self._rules, self._note, plain=self._asks_json)))

    def whole(self, body: bytes) -> bytes:
        """Return a whole answer. Raise CallError where a pattern blocks it."""
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            document = None
        if not isinstance(document, dict):
            raise _not_understood()
        edited = self.editor().whole(document)
        if self._rules.repair and self._asks_json:
            edited = _Repair().run(self._dialect, edited)
        return msgspec.json.encode(edited)

    def events(self, events: list[Event]) -> list[Event]:
        """Return a whole stream. Raise CallError where a pattern blocks it."""
        editor = self.editor()
        return [shown for event in events for shown in editor.event(event)]

    def _note(self, verdict: str) -> None:
        if verdict not in self.verdicts:
            self.verdicts.append(verdict)
            self._x.guard = [*(self._x.guard or ()), verdict]


class _Careful:
    """An editor to which an odd answer is one that cannot be understood, so that nothing passes unedited."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def event(self, event: Event) -> list[Event]:
        try:
            return self._editor.event(event)
        except _ODD as error:
            raise _not_understood() from error

    def whole(self, document: JsonObject) -> JsonObject:
        try:
            return self._editor.whole(document)
        except _ODD as error:
            raise _not_understood() from error


# What comes of a value of another type than a dialect has at its place.
_ODD = (TypeError, AttributeError, LookupError, ValueError)


def _not_understood() -> CallError:
    return CallError("the origin's answer cannot be understood", status=502, code="origin_bad")


class _Pass:
    """The edits of one reading. Where JSON is asked for nothing is put around it."""

    def __init__(self, rules: AnswerRules, note: Callable[[str], None], *, plain: bool) -> None:
        self._rules = rules
        self._note = note
        self._header = "" if plain else rules.header
        self.footer = "" if plain else rules.footer
        self.strip_reasoning = rules.strip
        self.rewrites = rules.redactor is not None or bool(rules.deny) or bool(self._header or self.footer)

    def channel(self) -> TextChannel:
        return TextChannel(
            strip=self.strip_reasoning,
            deny=self._rules.deny,
            redactor=self._rules.redactor,
            header=lambda: self._header,
            footer=self.footer,
            denied=self._denied,
        )

    def _denied(self, denied: Denied) -> None:
        self._note(f"answer {denied.verdict}")


class _Repair:
    """Mends the JSON of a whole answer, through the editors that know where texts are."""

    strip_reasoning = False
    rewrites = False
    footer = ""

    def run(self, dialect: str, document: dict[str, object]) -> dict[str, object]:
        return as_object(_EDITORS[dialect](self).whole(document))

    def channel(self) -> _Repair:
        return self

    def whole(self, text: str, *, footer: bool) -> str:
        return repaired(text) or text

    def feed(self, text: str) -> str:
        return repaired(text) or text

    def close(self, *, footer: bool) -> str:
        return ""
