from __future__ import annotations

from pathlib import Path

import pytest

from tests.recipes.running import Running, recipe


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> object:
    with recipe("nearest-of-five", tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.mark.parametrize(
    ("place", "region"),
    [
        ("us-east-2", "virginia"),
        ("us-west-1", "oregon"),
        ("eu-west-3", "frankfurt"),
        ("sa-east-1", "saopaulo"),
        ("ap-northeast-2", "tokyo"),
    ],
)
def test_a_client_is_served_from_nearby(run: Running, place: str, region: str) -> None:
    answer = run.chat(f"from {place}", X_Client_Region=place)
    assert (answer.status_code, answer.headers["x-edgeinf-region"]) == (200, region)


def test_when_the_nearest_is_down_another_answers(tmp_path: Path) -> None:
    with recipe("nearest-of-five", tmp_path, scripts={"tokyo": {"rules": [{"fault": "503"}]}}) as run:
        answer = run.chat("hello", X_Client_Region="ap-northeast-1")
        assert answer.status_code == 200
        assert answer.headers["x-edgeinf-region"] != "tokyo"
