from __future__ import annotations

import pytest

from edgeinf.core.config.schema import Adapter, Model, Region
from edgeinf.serve.origin.model_map import ModelMap
from edgeinf.serve.origin.region import make_origin

ORIGINS = tuple(
    make_origin(Region(name=name, url=f"http://{name}/v1", serves=serves))
    for name, serves in (("a", ("openai",)), ("b", ("openai", "anthropic")), ("c", ("anthropic",)))
)


def sent(model: Model | None, family: str = "openai", asked: str = "bot") -> list[list[tuple[str, str]]]:
    models = ModelMap([] if model is None else [model], ORIGINS)
    return [[(t.origin.name, t.sent) for t in stage] for stage in models.stages(family, asked)]


@pytest.mark.parametrize(
    ("model", "stages"),
    [
        (None, [[("a", "bot"), ("b", "bot")]]),
        (Model(name="bot"), [[("a", "bot"), ("b", "bot")]]),
        (Model(name="bot", upstream="x"), [[("a", "x"), ("b", "x")]]),
        (Model(name="bot", upstream={"a": "x", "b": "y"}), [[("a", "x"), ("b", "y")]]),
        (Model(name="bot", upstream={"b": "y"}), [[("b", "y")]]),
        (Model(name="bot", regions=("b",)), [[("b", "bot")]]),
        (Model(name="bot", upstream="base", adapter="lora"), [[("a", "lora"), ("b", "lora")]]),
        (Model(name="bot", regions=("c",)), []),
        (Model(name="bot", fallback=("small",)), [[("a", "bot"), ("b", "bot")], [("a", "small"), ("b", "small")]]),
    ],
    ids=["unknown", "itself", "one name", "names", "where named", "regions", "adapter", "no such family", "fallback"],
)
def test_what_each_region_is_asked_for(model: Model | None, stages: list[list[tuple[str, str]]]):
    assert sent(model) == stages


def test_only_fallbacks_are_marked_as_such():
    stages = ModelMap([Model(name="bot", fallback=("small",))], ORIGINS).stages("openai", "bot")
    assert [[t.fallback for t in stage] for stage in stages] == [[False, False], [True, True]]


@pytest.mark.parametrize(
    "other",
    [
        Model(name="bot", upstream="y"),
        Model(name="bot", upstream="x", adapter="lora"),
        Model(name="bot", upstream="x", adapter=Adapter(name="lora", path="/p")),
    ],
    ids=["name", "adapter", "adapter's path"],
)
def test_whatever_may_change_the_answer_changes_the_parts(other: Model):
    def parts(model: Model) -> list[list[object]]:
        return [target.parts() for target in ModelMap([model], ORIGINS).stages("openai", "bot")[0]]

    assert parts(Model(name="bot", upstream="x")) == parts(Model(name="bot", upstream="x"))
    assert parts(other) != parts(Model(name="bot", upstream="x"))


def test_names_that_clients_invent_do_not_fill_the_memory():
    models = ModelMap([], ORIGINS)
    for number in range(10_000):
        models.stages("openai", f"model {number}")
    assert len(models._known) <= 4096
