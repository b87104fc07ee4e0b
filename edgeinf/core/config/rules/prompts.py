"""Prompt rules that cannot be carried out."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _content(facts: Facts) -> Iterator[Finding]:
    for path, rule in facts.items("prompt"):
        for part in ("prepend", "append"):
            for message_path, message in facts.below(path, getattr(rule, part), part):
                both = message.content is not None and message.content_file is not None
                if both or (message.content is None and message.content_file is None):
                    yield Finding(
                        path=(*message_path, "content_file") if both else message_path,
                        message="a message has both content and content_file" if both else "a message has no content",
                        help="give one of: content, content_file",
                        needs=((*message_path, "content"), (*message_path, "content_file")),
                        at_key=True,
                    )


def _nothing(facts: Facts) -> Iterator[Finding]:
    for path, rule in facts.items("prompt"):
        if not rule.prepend and not rule.append and rule.context is None:
            yield Finding(
                path=path,
                message="a prompt rule adds nothing",
                help="add one of: prepend, append, context",
                needs=((*path, "prepend"), (*path, "append"), (*path, "context")),
                at_key=True,
            )


RULES = (
    Rule(
        code="E361",
        severity="error",
        title="a message without one content",
        why="A message says one thing: written in the config, or read from a file.",
        example="prompt: [{prepend: [{role: system}]}]",
        instead="prompt: [{prepend: [{role: system, content: Be brief.}]}]",
        check=_content,
    ),
    Rule(
        code="E362",
        severity="error",
        title="a prompt rule that adds nothing",
        why="It would silently leave prompts as they are.",
        example="prompt: [{when: {model: bot}}]",
        instead="prompt: [{when: {model: bot}, prepend: [{content: Be brief.}]}]",
        check=_nothing,
    ),
)
