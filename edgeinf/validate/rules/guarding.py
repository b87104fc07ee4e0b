"""Guards and prompts that catch too much, too little, or take too long."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]

_NESTED = re.compile(r"\((?:\?[:i>])*[^()]*[*+][^()]*\)(?:[*+]|\{\d+,\d*\})")


def _patterns(facts: Facts) -> Iterator[tuple[KeyPath, str]]:
    for path, rule in facts.items("guard", "deny"):
        yield (*path, "pattern"), rule.pattern
    yield from facts.items("guard", "clients", "deny_user_agent")


def _slow_pattern(facts: Facts) -> Iterator[Finding]:
    for path, pattern in _patterns(facts):
        if facts.certain(path) and _NESTED.search(pattern):
            yield Finding(
                path=path,
                message="a repetition inside a repetition can take minutes on an unlucky prompt",
                help="write the inner part without its own * or +",
            )


def _matches_all(facts: Facts) -> Iterator[Finding]:
    for path, pattern in _patterns(facts):
        import regex

        if facts.certain(path) and regex.search(pattern, "") is not None:
            yield Finding(
                path=path,
                message="this pattern matches the empty text, and so every prompt",
                help="make at least one part of it necessary",
            )


def _everybody(facts: Facts) -> Iterator[Finding]:
    for path, network in facts.items("guard", "clients", "deny_cidr"):
        if network.endswith("/0"):
            yield Finding(path=path, message=f"{network} turns every client away", help="name a smaller network")


def _context_over_guard(facts: Facts) -> Iterator[Finding]:
    most = facts.config.guard.max_input_tokens
    for path, rule in facts.items("prompt"):
        if rule.context is not None and most is not None and rule.context.max_tokens >= most:
            yield Finding(
                path=(*path, "context", "max_tokens") if facts.given((*path, "context", "max_tokens")) else path,
                message=f"documents of {rule.context.max_tokens} tokens leave no room in the {most} allowed",
                help="lower max_tokens, or raise guard.max_input_tokens",
                related=(("the guard's limit is here", ("guard", "max_input_tokens")),),
                needs=(("guard", "max_input_tokens"),),
            )


RULES = (
    Rule(
        code="W381",
        severity="warning",
        title="a pattern that may take minutes",
        why="Nested repetitions try every way to divide the text before they give up.",
        example="guard: {deny: [{pattern: '(a+)+$'}]}",
        instead="guard: {deny: [{pattern: 'a+$'}]}",
        check=_slow_pattern,
    ),
    Rule(
        code="W382",
        severity="warning",
        title="a pattern that matches everything",
        why="Every call would be blocked, or flagged.",
        example="guard: {deny: [{pattern: '(secret)?'}]}",
        instead="guard: {deny: [{pattern: 'secret'}]}",
        check=_matches_all,
    ),
    Rule(
        code="W383",
        severity="warning",
        title="a network that is everybody",
        why="No client is left.",
        example="guard: {clients: {deny_cidr: [0.0.0.0/0]}}",
        instead="guard: {clients: {deny_cidr: [203.0.113.0/24]}}",
        check=_everybody,
    ),
    Rule(
        code="W384",
        severity="warning",
        title="documents that fill the whole prompt",
        why="With the documents in, the guard refuses every question.",
        example="guard: {max_input_tokens: 1000}\nprompt: [{context: {source: key.txt, max_tokens: 2000}}]",
        instead="guard: {max_input_tokens: 8000}\nprompt: [{context: {source: key.txt, max_tokens: 2000}}]",
        check=_context_over_guard,
    ),
)
