from pathlib import Path

import pytest

from edgeinf.core.config.load import load
from edgeinf.probe.choose import rank, recommend
from edgeinf.probe.emit import emit_config
from tests.probe.made import run_of, target_of


def _emit(values: dict[str, list[float | None]], **targets) -> str:
    made = {name: run_of(v, name) for name, v in values.items()}
    known = {name: targets.get(name) or target_of(f"http://{name[0]}.example/v1", name=name) for name in values}
    ranking = rank(made, "ttft_ms", "warm", 60, 1)
    return emit_config(known, ranking, recommend(ranking), "2026-01-01T00:00:00+00:00")


def _loaded(text: str, tmp_path: Path, **environment: str):
    file = tmp_path / "edgeinf.yaml"
    file.write_text(text)
    return load(file, env=environment)


@pytest.mark.parametrize("far", [20.0, 10.0], ids=["told apart", "alike"])
def test_the_server_loads_it_as_it_is(far, tmp_path):
    near = [10 + n % 7 / 10 for n in range(60)]
    config = _loaded(_emit({"b": [far + n % 7 / 10 for n in range(60)], "a:x": near}), tmp_path)
    assert {r.name for r in config.regions} == {"a-x", "b"}
    assert config.routing.strategy == ("priority" if far > 10 else "latency")
    if far > 10:
        assert [(r.name, r.priority) for r in config.regions] == [("a-x", 0), ("b", 1)]


def test_a_key_stays_a_variable(tmp_path):
    target = target_of("https://a.example/v1", name="a", key="sk-secret12345678", key_env="A_KEY", location="us-east-1")
    text = _emit({"a": [10.0] * 9}, a=target)
    assert "sk-secret" not in text
    config = _loaded(text, tmp_path, A_KEY="sk-other12345678")
    assert config.regions[0].api_key.get_secret_value() == "sk-other12345678"
    assert config.regions[0].location == "us-east-1"


def test_what_did_not_answer_is_left_out(tmp_path):
    config = _loaded(_emit({"a": [10.0] * 9, "dead": [None] * 9}), tmp_path)
    assert [r.name for r in config.regions] == ["a"]


def test_a_key_file_and_the_families_of_a_config_are_kept(tmp_path):
    (tmp_path / "key.txt").write_text("sk-file-key1234567")
    target = target_of("https://a.example/v1", name="a", key="x", key_file="key.txt", serves=("openai", "anthropic"))
    config = _loaded(_emit({"a": [10.0] * 9}, a=target), tmp_path)
    assert config.regions[0].api_key_file is not None
    assert config.regions[0].serves == ("openai", "anthropic")


def test_a_key_of_unknown_origin_is_asked_for_by_name(tmp_path):
    text = _emit({"a-b": [10.0] * 9}, **{"a-b": target_of("https://a.example/v1", name="a-b", key="sk-secret12345678")})
    assert "sk-secret" not in text
    assert _loaded(text, tmp_path, A_B_KEY="sk-x12345678901").regions[0].api_key is not None


def test_few_rounds_still_make_a_config(tmp_path):
    config = _loaded(_emit({"a": [10.0] * 3, "b": [20.0] * 3}), tmp_path)
    assert [r.name for r in config.regions] == ["a", "b"]
    assert config.routing.strategy == "latency"
