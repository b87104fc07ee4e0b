"""Names: each thing has one, and what refers to it exists."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]

_NAMED: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("regions",), "name", "region"),
    (("models",), "name", "model"),
    (("limits",), "name", "limit"),
    (("auth", "keys"), "id", "virtual key"),
)


def _duplicates(facts: Facts) -> Iterator[Finding]:
    for path, key, what in _NAMED:
        seen: dict[str, KeyPath] = {}
        for item_path, name in facts.names(*path, key=key) or ():
            here = (*item_path, key)
            if name in seen:
                yield Finding(
                    path=here,
                    message=f"there are two {what}s with the {key} {name!r}",
                    help="give each its own",
                    related=(("first used here", seen[name]),),
                    needs=(seen[name],),
                )
            seen.setdefault(name, here)


def _near(word: str, known: list[str]) -> str | None:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else None


def _known(what: str, known: list[str]) -> str:
    shown = ", ".join(known[:8]) + (f" … and {len(known) - 8} more" if len(known) > 8 else "")
    return f"{what}: {shown}" if known else f"there are no {what}"


def _unknown_region(facts: Facts) -> Iterator[Finding]:
    regions = facts.names("regions")
    if regions is None:
        return
    known = [name for _, name in regions]
    for path, model in facts.items("models"):
        used = [(where, name, False) for where, name in facts.below(path, model.regions or (), "regions")]
        if isinstance(model.upstream, dict):
            used += [((*path, "upstream", name), name, True) for name in model.upstream]
        for where, name, at_key in used:
            if name not in known:
                yield Finding(
                    path=where,
                    message=f"there is no region {name!r}",
                    label=_near(name, known),
                    help=_known("regions", known),
                    at_key=at_key,
                )


def _fallbacks(facts: Facts) -> Iterator[tuple[KeyPath, str, str]]:
    for path, model in facts.items("models"):
        for where, name in facts.below(path, model.fallback, "fallback"):
            yield where, model.name, name


def _unknown_fallback(facts: Facts) -> Iterator[Finding]:
    models = facts.names("models")
    if models is None:
        return
    known = [name for _, name in models]
    for path, _, name in _fallbacks(facts):
        if name not in known:
            yield Finding(
                path=path,
                message=f"there is no model {name!r} to fall back to",
                label=_near(name, known),
                help=_known("models", known),
            )


def _self_fallback(facts: Facts) -> Iterator[Finding]:
    for path, model, name in _fallbacks(facts):
        if name == model:
            yield Finding(path=path, message=f"the model {name!r} falls back to itself", help="name another model")


def _fallback_cycle(facts: Facts) -> Iterator[Finding]:
    links: dict[str, list[tuple[str, KeyPath]]] = {}
    for path, model, name in _fallbacks(facts):
        if name != model:
            links.setdefault(model, []).append((name, path))
    done: set[str] = set()
    for start in links:
        trail: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)] if start not in done else []
        while stack:  # depth first without recursion: a chain may be as long as the file
            model, turn = stack.pop()
            if turn == 0:
                trail.append(model)
            following = links.get(model, [])
            if turn == len(following):
                trail.pop()
                done.add(model)
                continue
            stack.append((model, turn + 1))
            name, path = following[turn]
            if name in trail:
                circle = " → ".join([*trail[trail.index(name) :], name])
                yield Finding(path=path, message=f"fallbacks go in a circle: {circle}", help="end it at one of them")
            elif name not in done:
                stack.append((name, 0))


def _group_gap(facts: Facts) -> Iterator[Finding]:
    for path, model in facts.items("models"):
        if not isinstance(model.upstream, dict) or model.regions is None:
            continue
        for where, region in facts.below(path, model.regions, "regions"):
            if region not in model.upstream:
                yield Finding(
                    path=where,
                    message=f"the region {region!r} has no upstream model for {model.name!r}",
                    help=f"add it under upstream, as in {region}: …",
                    related=(("upstream names are here", (*path, "upstream")),),
                    needs=((*path, "upstream"),),
                )
        for region in model.upstream:
            if region not in model.regions:
                yield Finding(
                    path=(*path, "upstream", region),
                    message=f"{model.name!r} has an upstream for {region!r}, which is not among its regions",
                    help="add the region to regions, or remove this line",
                    related=(("its regions are here", (*path, "regions")),),
                    needs=((*path, "regions"),),
                    at_key=True,
                )


_TWO = "regions:\n  - {name: a, url: https://a.example.com}\n  - {name: b, url: https://b.example.com}\n"

RULES = (
    Rule(
        code="E301",
        severity="error",
        title="two things have one name",
        why="Which of two regions, models, limits or keys a name means would depend on their order.",
        example="regions:\n  - {name: a, url: https://a.example.com}\n  - {name: a, url: https://b.example.com}",
        instead="regions:\n  - {name: a, url: https://a.example.com}\n  - {name: b, url: https://b.example.com}",
        check=_duplicates,
    ),
    Rule(
        code="E302",
        severity="error",
        title="a model names a region that does not exist",
        why="No call of that model could be sent there; a misspelt name would silently shrink the group.",
        example="regions: [{name: virginia, url: https://a.example.com}]\nmodels: [{name: bot, regions: [virgina]}]",
        instead="regions: [{name: virginia, url: https://a.example.com}]\nmodels: [{name: bot, regions: [virginia]}]",
        check=_unknown_region,
    ),
    Rule(
        code="E303",
        severity="error",
        title="a fallback names a model that does not exist",
        why="The fallback would fail exactly when it is needed.",
        example="models: [{name: bot, fallback: [bot-smal]}, {name: bot-small}]",
        instead="models: [{name: bot, fallback: [bot-small]}, {name: bot-small}]",
        check=_unknown_fallback,
    ),
    Rule(
        code="E304",
        severity="error",
        title="a model falls back to itself",
        why="It would be asked again right after it failed; retries are routing.failover's task.",
        example="models: [{name: bot, fallback: [bot]}]",
        instead="models: [{name: bot, fallback: [bot-small]}, {name: bot-small}]",
        check=_self_fallback,
    ),
    Rule(
        code="E305",
        severity="error",
        title="fallbacks go in a circle",
        why="A call that fails everywhere would never come to an end.",
        example="models: [{name: a, fallback: [b]}, {name: b, fallback: [a]}]",
        instead="models: [{name: a, fallback: [b]}, {name: b}]",
        check=_fallback_cycle,
    ),
    Rule(
        code="E306",
        severity="error",
        title="the regions of a group do not serve the same models",
        why="A region without an upstream name would be sent the client's name and answer 404, or another model.",
        example=_TWO + "models: [{name: bot, upstream: {a: llama}, regions: [a, b]}]",
        instead=_TWO + "models: [{name: bot, upstream: {a: llama, b: meta/llama}, regions: [a, b]}]",
        check=_group_gap,
    ),
)
