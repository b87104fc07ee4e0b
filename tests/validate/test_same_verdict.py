"""``serve`` refuses exactly what ``validate`` calls an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.load import load
from edgeinf.core.errors import ConfigError
from edgeinf.validate.check import Options, check
from edgeinf.validate.rules.registry import ALL
from tests.core.config.kit import ENV as EXAMPLE_ENV
from tests.recipes.kit import ENV, config_of
from tests.recipes.running import command
from tests.validate.planting import KINDS
from tests.validate.test_planted import plants_of


def _verdicts(file: Path, env: dict[str, str]) -> tuple[bool, bool]:
    """Return whether validate finds an error and whether serve's loader refuses."""
    report, _ = check(file.read_bytes(), str(file), base=file.parent, options=Options(env=env))
    try:
        load(file, env=env)
    except ConfigError:
        return any(d.severity == "error" for d in report.diagnostics), True
    return any(d.severity == "error" for d in report.diagnostics), False


@given(kind=st.sampled_from(sorted(KINDS)), draw=st.data())
@settings(max_examples=150, deadline=None)
def test_planted_faults(kind: str, draw: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    recipe, plant = draw.draw(st.sampled_from(plants_of(kind)))
    folder = tmp_path_factory.mktemp("planted")
    for beside in config_of(recipe).parent.iterdir():
        if beside.name != "edgeinf.yaml":
            (folder / beside.name).symlink_to(beside)
    (folder / "edgeinf.yaml").write_text(plant.text, encoding="utf-8")
    found, refused = _verdicts(folder / "edgeinf.yaml", {**ENV, "HOME": "/nonexistent"})
    assert found == refused == (plant.code[0] == "E")


@pytest.mark.parametrize("code", [code for code, rule in ALL.items() if rule.example and code[0] != "L"])
def test_examples_of_rules(code: str, tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("k")
    (tmp_path / "notes.txt").write_text("two\nlines\n")
    for text, fine in ((ALL[code].example, code[0] != "E"), (ALL[code].instead, True)):
        (tmp_path / "edgeinf.yaml").write_text(text, encoding="utf-8")
        found, refused = _verdicts(tmp_path / "edgeinf.yaml", EXAMPLE_ENV)
        assert found == refused == (not fine)


def test_the_commands_agree_and_name_the_same_places(tmp_path: Path) -> None:
    (tmp_path / "edgeinf.yaml").write_text("listen: {prot: 1}\ncache: {ttl: 10}\nregions: []\n")
    checked = command("validate", "--format", "concise", home=tmp_path, cwd=tmp_path)
    served = command("serve", home=tmp_path, cwd=tmp_path)
    assert (checked.returncode, served.returncode) == (1, 2)
    places = [line.split(": error")[0] for line in checked.stdout.splitlines() if ": error" in line]
    assert len(places) == 3
    assert all(place in served.stderr for place in places)
    assert "Traceback" not in served.stderr
