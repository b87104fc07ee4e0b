"""May this pass at all, and what must not leave? Verdicts go into the event; what is redacted reaches no origin."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec

from edgeinf.core.config.schema import Guard
from edgeinf.core.dialects.prompt_text import map_texts, texts
from edgeinf.core.errors import CallError
from edgeinf.core.eviction import LruTtl
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.guard.deny import DenyPatterns
from edgeinf.serve.guard.redaction import Redactor
from edgeinf.serve.limits.estimate import Estimator, input_bound

__all__ = ["GuardRules", "deny", "guard_call"]

_CLEAN_CHARACTERS = 8 * 2**20
# Texts of more characters than this are redacted on a thread.
_LARGE = 256 * 1024


class GuardRules:
    """The config's guard, compiled once. False where there is nothing to check in a call."""

    def __init__(self, guard: Guard) -> None:
        self.deny = DenyPatterns(guard.deny)
        self.redactor = Redactor(guard.redact) if guard.redact else None
        self.max_input_tokens = guard.max_input_tokens
        # Texts in which nothing was found. System prompts and earlier turns come again with every call.
        self._clean: LruTtl[str, bool] = LruTtl(max_size=_CLEAN_CHARACTERS)

    def unknown(self, said: list[str]) -> list[str]:
        """Return the texts that are not known to be clean."""
        return [text for text in said if self._clean.get(text, 0.0) is None]

    def note_clean(self, said: list[str]) -> None:
        """Remember that nothing was found in these texts."""
        for text in said:
            self._clean.put(text, True, now=0.0, ttl_s=1.0, size=len(text) + 100)

    def __bool__(self) -> bool:
        return bool(self.deny) or self.redactor is not None or self.max_input_tokens is not None


async def guard_call(x: Exchange, rules: GuardRules, estimator: Estimator) -> None:
    """Check the call as its client sent it and redact it. Raise CallError 400 where it is blocked."""
    assert x.call is not None
    if rules.max_input_tokens is not None and input_bound(x) > rules.max_input_tokens:
        counted = await estimator.exact_input(x.call)
        if counted > rules.max_input_tokens:
            x.guard = [*(x.guard or ()), "blocked max_input_tokens"]
            raise CallError(
                f"the prompt has {counted:,} tokens, and this server takes {rules.max_input_tokens:,}",
                code="context_length_exceeded",
                param="messages",
            )
    if not rules.deny and rules.redactor is None:
        return
    said = rules.unknown(texts(x.call.body))
    if not said:
        return
    if rules.deny:
        await deny(x, rules.deny, said)
    if rules.redactor is not None:
        if sum(map(len, said)) > _LARGE:
            await asyncio.to_thread(_redact, x, rules.redactor, said)
        else:
            _redact(x, rules.redactor, said)
    if not x.guard:
        rules.note_clean(said)


async def deny(x: Exchange, patterns: DenyPatterns, said: list[str]) -> None:
    """Note which patterns are in the texts. Raise CallError 400 where one of them blocks."""
    found = await patterns.search(said)
    if not found:
        return
    known = x.guard or []
    x.guard = [*known, *(denied.verdict for denied in found if denied.verdict not in known)]
    blocked = next((denied for denied in found if denied.block), None)
    if blocked is not None:
        why = "took too long to check against" if blocked.timed_out else "matches"
        raise CallError(
            f"the prompt {why} a pattern that this server does not let pass (guard.deny[{blocked.number}])",
            code="blocked_by_guard",
        )


def _redact(x: Exchange, redactor: Redactor, said: list[str]) -> None:
    assert x.call is not None
    unclean = {text for text in said if redactor(text) != text}
    if not unclean:
        return
    found: Counter[str] = Counter()
    body = map_texts(x.call.body, lambda text: redactor(text, found) if text in unclean else text)
    x.call = msgspec.structs.replace(x.call, body=body)
    x.rewritten = True
    x.guard = [*(x.guard or ()), *(f"redacted {kind} {count}" for kind, count in sorted(found.items()))]
