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


def _vectors(facts: Facts) -> Iterator[Finding]:
    regions = {region.name: "openai" in region.serves for _, region in facts.items("regions")}
    able = [name for name, serves in regions.items() if serves]
    for path, rule in facts.items("prompt"):
        vectors = None if rule.context is None else rule.context.vectors
        if vectors is None or (vectors.region in able if vectors.region is not None else able):
            continue
        here = (*path, "context", "vectors")
        if vectors.region is None:
            message = "no region serves openai, so none makes embeddings"
        elif vectors.region in regions:
            message = f"the region {vectors.region!r} does not serve openai, so it makes no embeddings"
        else:
            message = f"there is no region {vectors.region!r}"
        yield Finding(
            path=here if vectors.region is None else (*here, "region"),
            message=message,
            help=f"regions that serve openai: {', '.join(able[:8])}" if able else "add openai to a region's serves",
            needs=(("regions",),),
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
    Rule(
        code="E363",
        severity="error",
        title="vectors that no region makes",
        why="Embeddings are asked of a region that serves openai, by the name it has in this config.",
        example="prompt: [{context: {source: key.txt, vectors: {model: e, region: opnai}}}]",
        instead="prompt: [{context: {source: key.txt, vectors: {model: e, region: openai}}}]",
        check=_vectors,
    ),
)
