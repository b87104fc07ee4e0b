"""The report as a page in a real browser: right numbers, nothing fetched, nothing complained of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edgeinf.analyze.report import summary, tree
from edgeinf.analyze.run import Analysis
from edgeinf.analyze.synthetic import Cause, LogPlan, Template, write_log
from edgeinf.core.report.html import to_html
from edgeinf.core.report.tree import Section, Table, Text
from tests.analyze.making import ask, run, write
from tests.programs import need

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1100,2400",
)  # fmt: skip


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    path = tmp_path_factory.mktemp("report") / "log.jsonl"
    with path.open("wb") as file:
        templates = (Template(name="faq"), Template(name="app", cause=Cause(kind="clock"), system_chars=3000))
        write_log(LogPlan(requests=1_200, templates=templates, intents=60), file)
    return run(path, gateways=("litellm",))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[WebDriver]:
    chromium, driver = need("chromium"), need("chromedriver")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = chromium
    for flag in (*QUIET, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = Chrome(options=options, service=ChromeService(driver))
    try:
        yield made
    finally:
        made.quit()


@pytest.mark.needs_program
def test_the_page_shows_the_numbers_and_asks_nothing_of_anyone(
    analysis: Analysis, browser: WebDriver, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(to_html(tree(analysis)), "utf-8")
    browser.get("about:blank")
    browser.get_log("performance")  # what the browser's own first page asked
    browser.get(page.as_uri())
    shown = browser.find_element("tag name", "main").text
    assert analysis.default is not None
    assert analysis.misses is not None
    assert f"{analysis.default.worth.request_rate:.1%}".replace("%", " %") + " of 1,200 requests repeat" in shown
    assert f"{100 * analysis.misses.causes[0].gain:.1f} points: a clock or date in the system prompt" in shown
    for level_run in analysis.levels.values():
        assert level_run is not None
        assert f"{level_run.hits:,}" in shown
    charts = browser.find_elements("css selector", "svg path.line")
    assert len(charts) >= 6  # a line for each level, and both of the warm-up
    assert all(chart.size["width"] > 100 for chart in charts)
    assert browser.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:", "about:", "chrome:"))] == []


def _texts(section: Section) -> str:
    said = []
    for part in section.parts:
        if isinstance(part, Text):
            said.append(part.text)
        elif isinstance(part, Section):
            said.append(_texts(part))
        elif isinstance(part, Table):
            said.append(part.title)
    return "\n".join(said)


def test_every_assumption_of_the_what_if_is_listed(analysis: Analysis) -> None:
    assert analysis.whatif is not None
    said = _texts(tree(analysis))
    assert [a for a in analysis.whatif.assumptions if a not in said] == []


def test_a_log_without_content_says_so_instead_of_a_rate(tmp_path: Path) -> None:
    rows = [{"timestamp": n, "input_length": 600, "output_length": 1, "hash_ids": [0, n]} for n in range(5)]
    found = run(write(tmp_path / "log", rows))
    assert "no hit rate can be told" in _texts(tree(found))
    assert "The provider's prefix cache" in [p.title for p in tree(found).parts if isinstance(p, Section)]


def test_the_summary_is_short(tmp_path: Path) -> None:
    assert len(summary(run(write(tmp_path / "log", [ask(at=0), ask(at=1)]))).parts) <= 5


def test_every_hour_is_shown_and_of_many_tenants_it_is_said_that_some_are_not(tmp_path: Path) -> None:
    rows = [ask(f"Q {n}", at=3600.0 * n, tenant=f"t{n}") for n in range(24)]
    where = next(
        p for p in tree(run(write(tmp_path / "log", rows))).parts if getattr(p, "title", None) == "Where the hits are"
    )
    found = {table.title: table for table in where.parts}
    assert [row[0] for row in found["by hour"].rows] == list(range(24))
    assert len(found["by tenant, the 20 with most requests"].rows) == 20
