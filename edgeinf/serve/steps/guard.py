"""May this pass at all, and what must not leave? Verdicts go into the event; what is redacted reaches no origin."""

from __future__ import annotations

from collections import Counter

import msgspec

from edgeinf.core.config.schema import Guard
from edgeinf.core.dialects.prompt_text import map_texts, texts
from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.guard.deny import DenyPatterns
from edgeinf.serve.guard.redaction import Redactor
from edgeinf.serve.limits.estimate import Estimator, input_bound

__all__ = ["GuardRules", "guard_call"]


class GuardRules:
    """The config's guard, compiled once. False where there is nothing to check in a call."""

    def __init__(self, guard: Guard) -> None:
        self.deny = DenyPatterns(guard.deny)
        self.redactor = Redactor(guard.redact) if guard.redact else None
        self.max_input_tokens = guard.max_input_tokens

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
    said = texts(x.call.body)
    if rules.deny:
        await _deny(x, rules.deny, said)
    if rules.redactor is not None and any(rules.redactor(text) != text for text in said):
        _redact(x, rules.redactor)


async def _deny(x: Exchange, patterns: DenyPatterns, said: list[str]) -> None:
    found = await patterns.search(said)
    if not found:
        return
    x.guard = [*(x.guard or ()), *(denied.verdict for denied in found)]
    blocked = next((denied for denied in found if denied.block), None)
    if blocked is not None:
        why = "took too long to check against" if blocked.timed_out else "matches"
        raise CallError(
            f"the prompt {why} a pattern that this server does not let pass (guard.deny[{blocked.number}])",
            code="blocked_by_guard",
        )


def _redact(x: Exchange, redactor: Redactor) -> None:
    assert x.call is not None
    found: Counter[str] = Counter()
    body = map_texts(x.call.body, lambda text: redactor(text, found))
    x.call = msgspec.structs.replace(x.call, body=body)
    x.rewritten = True
    x.guard = [*(x.guard or ()), *(f"redacted {kind} {count}" for kind, count in sorted(found.items()))]
