"""The dashboard asks for metrics that the server says, by labels that they have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from edgeinf.serve.observe.metrics import FAMILIES
from tests.recipes.kit import FOLDER
from tests.recipes.running import recipe

_DASHBOARD = json.loads((FOLDER / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
_EXPRESSIONS = [target["expr"] for panel in _DASHBOARD["panels"] for target in panel["targets"]]
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def family_of(name: str) -> Any:
    return FAMILIES.get(name) or FAMILIES.get(_SUFFIX.sub("", name))


@pytest.mark.parametrize("expression", _EXPRESSIONS)
def test_every_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    names = re.findall(r"\bedgeinf_[a-z_]+", expression)
    assert names
    families = [family_of(name) for name in names]
    assert None not in families
    labels = {label for family in families for label in family.labels} | {"job", "le"}
    selected = re.findall(r"[{,]\s*([a-z_]+)\s*=~?", expression)
    grouped = [label.strip() for by in re.findall(r"by \(([^)]*)\)", expression) for label in by.split(",")]
    assert set(selected) | set(grouped) <= labels


def test_the_config_runs_and_says_what_the_dashboard_asks_for(tmp_path: Path) -> None:
    with recipe("grafana", tmp_path) as run:
        for _ in range(2):
            assert run.chat("hello", authorization="Bearer sk-of-a-client-0123").status_code == 200
        answer = httpx.get(f"{run.url}/metrics", timeout=30)
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    outcomes = {s.labels["cache"]: s.value for s in families["edgeinf_requests"].samples}
    assert outcomes == {"miss": 1, "hit": 1}


def test_counters_are_shown_as_rates() -> None:
    bare = [
        expression
        for expression in _EXPRESSIONS
        for name in re.findall(r"\bedgeinf_[a-z_]+_total\b", expression)
        if not re.search(rf"(rate|increase)\({name}", expression)
    ]
    assert bare == []


def test_panels_do_not_overlap() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in _DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_prometheus_is_told_where_and_with_which_key() -> None:
    (job,) = yaml.safe_load((FOLDER / "grafana" / "prometheus.yaml").read_text(encoding="utf-8"))["scrape_configs"]
    assert job["authorization"]["credentials_file"]
    assert job["static_configs"][0]["targets"]
