"""Routing settings that have nothing to work on."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _lonely_hedge(facts: Facts) -> Iterator[Finding]:
    regions = facts.names("regions")
    if facts.config.routing.hedge is not None and facts.given(("regions",)) and regions and len(regions) == 1:
        yield Finding(
            path=("routing", "hedge"),
            message="a hedge asks another region, and there is only one",
            help="add a region, or remove hedge",
            at_key=True,
        )


def _idle_weights(facts: Facts) -> Iterator[Finding]:
    for name, strategy in (("weight", "weighted"), ("priority", "priority")):
        for path, _ in facts.items("regions"):
            if facts.given((*path, name)) and facts.config.routing.strategy != strategy:
                yield Finding(
                    path=(*path, name),
                    message=f"{name} has no effect with the strategy {facts.config.routing.strategy}",
                    help=f"write routing: {{strategy: {strategy}}}, or remove {name}",
                    needs=(("routing", "strategy"),),
                    at_key=True,
                )
                break


def _ratio(facts: Facts) -> Iterator[Finding]:
    ratio = facts.config.routing.health.max_error_ratio
    if ratio in (0.0, 1.0):
        effect = "one error takes a region out" if ratio == 0 else "no number of errors takes a region out"
        yield Finding(
            path=("routing", "health", "max_error_ratio"),
            message=f"at {ratio:.0%} {effect}",
            help="for example 10%",
        )


def _upload(facts: Facts) -> Iterator[Finding]:
    listen = facts.config.listen
    if listen.max_upload < listen.max_body and facts.given(("listen", "max_upload")):
        yield Finding(
            path=("listen", "max_upload"),
            message="uploads are streamed through and may be larger than bodies that are read, not smaller",
            help="raise max_upload, or lower max_body",
            needs=(("listen", "max_body"),),
        )


_ONE = "regions: [{name: a, url: https://a.example.com%s}]\n"

RULES = (
    Rule(
        code="W401",
        severity="warning",
        title="a hedge with one region",
        why="There is nowhere to send the second try.",
        example=_ONE % "" + "routing: {hedge: {after: p95}}",
        instead="regions: [{name: a, url: https://a.example.com}, {name: b, url: https://b.example.com}]\n"
        "routing: {hedge: {after: p95}}",
        check=_lonely_hedge,
    ),
    Rule(
        code="W402",
        severity="warning",
        title="weights that the strategy does not read",
        why="Only the strategy weighted reads weight, and only priority reads priority.",
        example=_ONE % ", weight: 3",
        instead=_ONE % ", weight: 3" + "routing: {strategy: weighted}",
        check=_idle_weights,
    ),
    Rule(
        code="W403",
        severity="warning",
        title="an error ratio at one of its ends",
        why="At 0 % the first error takes a region out, at 100 % a dead region stays in.",
        example="routing: {health: {max_error_ratio: 100%}}",
        instead="routing: {health: {max_error_ratio: 10%}}",
        check=_ratio,
    ),
    Rule(
        code="W411",
        severity="warning",
        title="uploads smaller than bodies",
        why="What is streamed through costs no memory; what is read does.",
        example="listen: {max_upload: 1MiB}",
        instead="listen: {max_upload: 512MiB}",
        check=_upload,
    ),
)
