"""Names and groups that do not mean what they seem to."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _shadowed(facts: Facts) -> Iterator[Finding]:
    own: dict[str, KeyPath] = {model.name: (*path, "name") for path, model in facts.items("models")}
    for path, model in facts.items("models"):
        upstream = model.upstream
        if isinstance(upstream, str):
            names: list[tuple[KeyPath, str]] = [((*path, "upstream"), upstream)]
        else:
            names = [((*path, "upstream", region), name) for region, name in (upstream or {}).items()]
        for where, name in names:
            if name in own and name != model.name:
                yield Finding(
                    path=own[name],
                    message=f"the model {name!r} has the name of what {model.name!r} asks its regions for: "
                    "a client that wants that one gets this one",
                    help="give it another name",
                    related=(("the upstream model is here", where),),
                    needs=(where,),
                )
                break


def _unused_region(facts: Facts) -> Iterator[Finding]:
    models = list(facts.items("models"))
    if not models or not facts.given(("regions",)) or any(model.regions is None for _, model in models):
        return
    used = {name for _, model in models for name in model.regions or ()}
    if not used <= {region.name for _, region in facts.items("regions")}:
        return  # one is misspelt, which is an error of its own
    for path, region in facts.items("regions"):
        if region.name not in used:
            yield Finding(
                path=(*path, "name"),
                message=f"no model uses the region {region.name!r}",
                help="add it to the regions of a model, or remove it",
                needs=(("models",),),
            )


def _no_region(facts: Facts) -> Iterator[Finding]:
    for path, model in facts.items("models"):
        if model.regions == ():
            yield Finding(
                path=(*path, "regions"),
                message=f"the model {model.name!r} has no region that could answer",
                help="name some, or remove the line for all",
            )


def _mixed_families(facts: Facts) -> Iterator[Finding]:
    serves = {region.name: set(region.serves) for _, region in facts.items("regions")}
    for path, model in facts.items("models"):
        group = [name for name in model.regions or () if name in serves]
        if len(group) > 1 and not set.intersection(*(serves[name] for name in group)):
            yield Finding(
                path=(*path, "regions"),
                message=f"the regions of {model.name!r} have no API in common: no call can fail over between them",
                help="; ".join(f"{name} serves {', '.join(sorted(serves[name]))}" for name in group[:4]),
                needs=(("regions",),),
            )


def _listed_twice(facts: Facts) -> Iterator[Finding]:
    for path, model in facts.items("models"):
        for part in ("regions", "fallback"):
            seen: set[str] = set()
            for where, name in facts.below(path, getattr(model, part) or (), part):
                if name in seen:
                    yield Finding(path=where, message=f"{name!r} is listed twice in {part}", help="remove one")
                seen.add(name)


def _unknown_model(facts: Facts) -> Iterator[Finding]:
    models = facts.names("models")
    if not models:
        return
    known = [name for _, name in models]
    places = [((*path, "when", "model"), rule.when.model) for path, rule in facts.items("prompt")]
    places += [((*path, "match", "model"), limit.match.model) for path, limit in facts.items("limits") if limit.match]
    for where, name in places:
        if name is not None and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            yield Finding(
                path=where,
                message=f"{name!r} is not among the models, so this may never apply",
                label=f'did you mean "{near[0]}"?' if near else None,
                help=f"models: {', '.join(known[:8])}",
            )


_TWO = "regions: [{name: a, url: https://a.example.com}, {name: b, url: https://b.example.com%s}]\n"

RULES = (
    Rule(
        code="W351",
        severity="warning",
        title="a name that shadows another",
        why="The client's name decides; a model named like another's upstream is reached by surprise.",
        example="models: [{name: gpt-4o, upstream: gpt-4o-mini}, {name: gpt-4o-mini, upstream: gpt-4o}]",
        instead="models: [{name: big, upstream: gpt-4o}, {name: small, upstream: gpt-4o-mini}]",
        check=_shadowed,
    ),
    Rule(
        code="W352",
        severity="warning",
        title="a region that no model uses",
        why="Every model names its regions, and this one is in none of the groups.",
        example=_TWO % "" + "models: [{name: bot, regions: [a]}]",
        instead=_TWO % "" + "models: [{name: bot, regions: [a, b]}]",
        check=_unused_region,
    ),
    Rule(
        code="W353",
        severity="warning",
        title="a model that no region serves",
        why="An empty list allows no region; a missing one allows all.",
        example="models: [{name: bot, regions: []}]",
        instead="models: [{name: bot}]",
        check=_no_region,
    ),
    Rule(
        code="W354",
        severity="warning",
        title="a group whose regions speak different APIs",
        why="A call of one API can only be answered by the regions that speak it.",
        example=_TWO % ", serves: [anthropic]" + "models: [{name: bot, regions: [a, b]}]",
        instead=_TWO % ", serves: [openai, anthropic]" + "models: [{name: bot, regions: [a, b]}]",
        check=_mixed_families,
    ),
    Rule(
        code="W355",
        severity="warning",
        title="one name twice in a list",
        why="The second has no effect; often another name was meant.",
        example=_TWO % "" + "models: [{name: bot, regions: [a, b, a]}]",
        instead=_TWO % "" + "models: [{name: bot, regions: [a, b]}]",
        check=_listed_twice,
    ),
    Rule(
        code="W356",
        severity="warning",
        title="a rule for a model that is not listed",
        why="A misspelt name means that the prompt, or the limit, is never applied.",
        example="models: [{name: bot}]\nprompt: [{when: {model: bto}, prepend: [{content: Be brief.}]}]",
        instead="models: [{name: bot}]\nprompt: [{when: {model: bot}, prepend: [{content: Be brief.}]}]",
        check=_unknown_model,
    ),
)
