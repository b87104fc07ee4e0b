"""Routing that cannot choose."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _no_regions(facts: Facts) -> Iterator[Finding]:
    if facts.tree.get("regions") == []:
        yield Finding(
            path=("regions",),
            message="regions is empty, so no call could be answered",
            help="add one, or remove the line for OpenAI and Anthropic with the client's own credential",
        )


def _no_weight(facts: Facts) -> Iterator[Finding]:
    regions = list(facts.items("regions"))
    if facts.config.routing.strategy == "weighted" and regions and all(r.weight == 0 for _, r in regions):
        yield Finding(
            path=(*regions[0][0], "weight"),
            message="the weights of all regions are 0, so none would ever be chosen",
            help="give at least one a weight above 0",
            needs=(("regions",), ("routing", "strategy")),
        )


def _no_place(facts: Facts) -> Iterator[Finding]:
    if facts.config.routing.strategy != "nearest" or not facts.given(("regions",)):
        return
    for path, region in facts.items("regions"):
        if region.location is None:
            yield Finding(
                path=(*path, "name"),
                message=f"the strategy nearest needs a location for the region {region.name!r}",
                help="add location: us-east-1, or {lat: 38.9, lon: -77.4}",
                related=(("the strategy is chosen here", ("routing", "strategy")),),
                needs=((*path, "location"), ("routing", "strategy")),
            )


def _unknown_place(facts: Facts) -> Iterator[Finding]:
    named = [((*path, "location"), region.location) for path, region in facts.items("regions")]
    named.append((("routing", "location"), facts.config.routing.location))
    for path, place in named:
        if not isinstance(place, str):
            continue
        from edgeinf.core.places import find_place

        try:
            find_place(place)
        except ValueError as error:
            message, _, help_ = str(error).partition(": ")
            yield Finding(path=path, message=message, help=help_, needs=(path,))


RULES = (
    Rule(
        code="E371",
        severity="error",
        title="an empty list of regions",
        why="Left out, regions means OpenAI and Anthropic; written as an empty list it means nowhere.",
        example="regions: []",
        instead="regions: [{name: a, url: https://api.example.com/v1}]",
        check=_no_regions,
    ),
    Rule(
        code="E372",
        severity="error",
        title="weights that sum to zero",
        why="A region of weight 0 is never chosen; with all at 0 no call can be sent.",
        example="regions: [{name: a, url: https://a.example.com, weight: 0}]\nrouting: {strategy: weighted}",
        instead="regions: [{name: a, url: https://a.example.com, weight: 1}]\nrouting: {strategy: weighted}",
        check=_no_weight,
    ),
    Rule(
        code="E373",
        severity="error",
        title="nearest without a location",
        why="The distance to a region without a place is unknown, so it would never or always be chosen.",
        example="regions: [{name: a, url: https://a.example.com}]\nrouting: {strategy: nearest}",
        instead="regions: [{name: a, url: https://a.example.com, location: us-east-1}]\nrouting: {strategy: nearest}",
        check=_no_place,
    ),
    Rule(
        code="E374",
        severity="error",
        title="a place that is on no map",
        why="Distances need positions: a cloud region's name that is known, or latitude and longitude.",
        example="regions: [{name: a, url: https://a.example.com, location: us-eest-1}]",
        instead="regions: [{name: a, url: https://a.example.com, location: us-east-1}]",
        check=_unknown_place,
    ),
)
