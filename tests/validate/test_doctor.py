from __future__ import annotations

import socket
from pathlib import Path

import pytest

from edgeinf.mock import ThreadedOrigin
from edgeinf.validate.doctor import Check, examine


def found(tmp_path: Path, text: str | None, *, network: bool = False, **env: str) -> dict[str, Check]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    if text is not None:
        (tmp_path / "edgeinf.yaml").write_text(text)
    checks = examine(None, env={"HOME": str(home), **env}, cwd=tmp_path, network=network)
    return {check.name: check for check in checks}


FREE = "listen: {port: 0}\ncache: {disk: {path: c}}\nevents: {file: e/events.jsonl}\n"


def test_a_good_machine_is_fine(tmp_path: Path) -> None:
    checks = found(tmp_path, FREE)
    assert {name: check.outcome for name, check in checks.items() if check.outcome == "fail"} == {}
    assert {"python", "packages", "config", "port", "cache folder", "event log", "open files", "proxies"} <= set(checks)


def test_a_bad_config_is_said_with_the_way_to_see_why(tmp_path: Path) -> None:
    check = found(tmp_path, "listen: {prot: 1}\n")["config"]
    assert check.outcome == "fail"
    assert check.advice is not None
    assert "validate" in check.advice


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        check = found(tmp_path, f"listen: {{port: {held.getsockname()[1]}}}\n")["port"]
    assert check.outcome == "fail"
    assert "in use" in check.found


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    check = found(tmp_path, FREE.replace("path: c", "path: edgeinf.yaml/c"))["cache folder"]
    assert check.outcome == "fail"


def test_regions_are_tried(tmp_path: Path) -> None:
    with ThreadedOrigin() as origin:
        text = f"{FREE}regions: [{{name: up, url: '{origin.url}'}}, {{name: down, url: 'http://127.0.0.1:1'}}]\n"
        checks = found(tmp_path, text, network=True)
    assert checks["region up"].outcome == "ok"
    assert checks["region down"].outcome == "warn"


def test_a_proxys_password_is_not_shown(tmp_path: Path) -> None:
    check = found(tmp_path, FREE, HTTPS_PROXY="http://me:hunter2@proxy:3128")["proxies"]
    assert "hunter2" not in check.found
    assert "proxy:3128" in check.found


def test_a_missing_config_that_is_named_fails(tmp_path: Path) -> None:
    checks = examine("nothing.yaml", env={}, cwd=tmp_path, network=False)
    assert [check.outcome for check in checks if check.name == "config"] == ["fail"]


def test_the_errors_of_a_config_are_counted(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("listen: {prot: 1}\n")
    checks = examine(str(tmp_path / "bad.yaml"), env={}, cwd=tmp_path, network=False)
    assert next(check.found for check in checks if check.name == "config").endswith("bad.yaml: 1 error")


@pytest.mark.parametrize("extra", ["redis", "otel", "vectors", "parquet"])
def test_extras_are_listed(extra: str, tmp_path: Path) -> None:
    assert found(tmp_path, None)[f"extra {extra}"].outcome == "ok"
