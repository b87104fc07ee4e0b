"""Prices that are missing, or a thousand times off."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _unknown_model(facts: Facts) -> Iterator[Finding]:
    models = facts.names("models")
    if not models:
        return
    upstream: set[str] = set()
    for _, model in facts.items("models"):
        upstream |= {model.upstream} if isinstance(model.upstream, str) else set((model.upstream or {}).values())
    known = {name for _, name in models} | upstream
    for name in facts.config.prices:
        if name not in known:
            yield Finding(
                path=("prices", name),
                message=f"there is a price for {name!r}, which is not among the models",
                help=f"models: {', '.join(sorted(known)[:8])}",
                needs=(("models",),),
                at_key=True,
            )


def _budget_without_price(facts: Facts) -> Iterator[Finding]:
    for path, limit in facts.items("limits"):
        if limit.budget is None:
            continue
        wanted = limit.match.model if limit.match is not None else None
        for where, name, upstream in _models(facts):
            if wanted in (None, name) and not _priced(facts, name, upstream):
                yield Finding(
                    path=where,
                    message=f"the budget {limit.name!r} cannot count {name!r}: its price is not known",
                    help=f"add prices: {{{name}: {{input: …, output: …}}}}, in USD per million tokens",
                    related=(("the budget is here", (*path, "budget")),),
                    needs=((*path, "budget"), ("prices",)),
                )


def _models(facts: Facts) -> Iterator[tuple[KeyPath, str, list[str]]]:
    for path, model in facts.items("models"):
        names = [model.upstream] if isinstance(model.upstream, str) else list((model.upstream or {}).values())
        yield (*path, "name"), model.name, names


def _priced(facts: Facts, name: str, upstream: list[str]) -> bool:
    from edgeinf.core.pricing import Prices

    prices = Prices(facts.config.prices)
    return any(found is not None for found in (prices.price(one) for one in [name, *upstream]))


def _per_token(facts: Facts) -> Iterator[Finding]:
    for name, price in facts.config.prices.items():
        for part in ("input", "output"):
            value = getattr(price, part) if price is not None else None
            if value is not None and 0 < value < 0.0005:
                yield Finding(
                    path=("prices", name, part),
                    message=f"{value:g} USD per million tokens looks like a price per token",
                    help=f"write {value * 1_000_000:g}, if that is so",
                )


RULES = (
    Rule(
        code="W391",
        severity="warning",
        title="a price for a model that is not listed",
        why="A misspelt name leaves the model itself without a price.",
        example="models: [{name: bot}]\nprices: {bto: {input: 1, output: 2}}",
        instead="models: [{name: bot}]\nprices: {bot: {input: 1, output: 2}}",
        check=_unknown_model,
    ),
    Rule(
        code="W392",
        severity="warning",
        title="a budget without a price",
        why="What a call costs is then unknown, and the budget never fills.",
        example="models: [{name: our-own-bot}]\nlimits: [{name: b, budget: {usd: 50}}]",
        instead="models: [{name: our-own-bot}]\nlimits: [{name: b, budget: {usd: 50}}]\n"
        "prices: {our-own-bot: {input: 0.15, output: 0.6}}",
        check=_budget_without_price,
    ),
    Rule(
        code="W393",
        severity="warning",
        title="a price per token",
        why="Prices are USD per million tokens; a millionth of it makes every budget endless.",
        example="prices: {bot: {input: 0.00000015, output: 0.0000006}}",
        instead="prices: {bot: {input: 0.15, output: 0.6}}",
        check=_per_token,
    ),
)
