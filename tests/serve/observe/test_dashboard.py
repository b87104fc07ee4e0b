"""The dashboard in a real browser, with live traffic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.dashboard import page
from tests.programs import need
from tests.serve.running import Proxy, config_for, running

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

WAIT_S = 20.0


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[WebDriver]:
    """Chromium without a window, recording its console and every request it makes."""
    chromium, driver = need("chromium"), need("chromedriver")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,1400",
    ):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path / 'profile'}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = Chrome(options=options, service=ChromeService(driver))
    made.set_script_timeout(20)
    try:
        yield made
    finally:
        made.quit()


async def traffic(proxy: Proxy) -> None:
    for number in range(6):
        await proxy.ask(f"question {number % 3}", stream=number % 2 == 0)
    await proxy.ask("question 0", temperature=0.5)
    await proxy.client.post("/v1/chat/completions", content=b"{")
    await proxy.ask("live", store=True)


async def in_browser(script: str, browser: WebDriver, *arguments: Any) -> Any:
    return await asyncio.to_thread(browser.execute_script, script, *arguments)


async def until(browser: WebDriver, condition: str) -> None:
    async with asyncio.timeout(WAIT_S):
        while not await in_browser(f"return Boolean({condition})", browser):  # noqa: ASYNC110 - a page tells nobody
            await asyncio.sleep(0.05)


async def shown(browser: WebDriver) -> dict[str, str]:
    return await in_browser(_CARDS, browser)  # type: ignore[no-any-return]


def summed(text: str, name: str, **labels: str) -> float:
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


async def test_figures_equal_the_metrics_and_nothing_goes_wrong_or_out(
    origin: MockOrigin, tmp_path: Path, browser: WebDriver
) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await traffic(proxy)
        await asyncio.to_thread(browser.get, f"{proxy.url}/_edgeinf/")
        await until(browser, "document.querySelectorAll('#rows tbody tr').length >= 9")
        cards = await shown(browser)
        metrics = (await proxy.client.get("/metrics")).text
        requests, hits = (
            summed(metrics, "edgeinf_requests_total"),
            summed(metrics, "edgeinf_requests_total", cache="hit"),
        )
        assert requests == 9
        assert cards["card-requests"] == f"{requests:.0f}"
        assert cards["card-hit-rate"] == f"{100 * hits / requests:.1f} %"
        assert cards["card-errors"] == f"{summed(metrics, 'edgeinf_requests_total', status='400'):.0f}"
        assert cards["card-seconds-saved"] == f"{summed(metrics, 'edgeinf_seconds_saved_total'):.1f} s"

        await proxy.ask("asked while somebody looks")
        await until(browser, "document.getElementById('card-requests').firstChild.textContent === '10'")
        assert await _console(browser) == []
        assert {url for url in await _requests(browser) if not url.startswith((proxy.url, "data:", "chrome:"))} == set()


async def test_a_request_is_explained_from_the_keyboard(origin: MockOrigin, tmp_path: Path, browser: WebDriver) -> None:
    from selenium.webdriver.common.keys import Keys

    async with running(config_for(tmp_path, origin.url)) as proxy:
        await traffic(proxy)
        await asyncio.to_thread(browser.get, f"{proxy.url}/_edgeinf/")
        await until(browser, "document.querySelectorAll('#rows tbody tr').length >= 9")
        filtered = await asyncio.to_thread(browser.find_element, "id", "filter")
        await asyncio.to_thread(filtered.send_keys, "differs temperature")
        await until(browser, "document.querySelectorAll('#rows tbody tr').length === 1")
        button = await asyncio.to_thread(browser.find_element, "css selector", "#rows tbody button")
        await asyncio.to_thread(button.send_keys, Keys.ENTER)
        await until(browser, "document.querySelectorAll('#drawer-body table').length === 2")
        text = await in_browser("return document.getElementById('drawer').innerText", browser)
        assert "differs only in temperature" in text
        assert "only here" in text
        assert await in_browser("return document.activeElement.closest('dialog') !== null", browser)
        await asyncio.to_thread(button.parent.switch_to.active_element.send_keys, Keys.ESCAPE)
        await until(browser, "!document.getElementById('drawer').open")
        assert await _console(browser) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_text_is_readable_in_both_themes(
    origin: MockOrigin, tmp_path: Path, browser: WebDriver, theme: str
) -> None:
    """Contrast of at least 4.5 to 1 (WCAG 2.2, 1.4.3), names on every control, one heading of the first level."""
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await traffic(proxy)
        await asyncio.to_thread(
            browser.execute_cdp_cmd,
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": theme}]},
        )
        await asyncio.to_thread(browser.get, f"{proxy.url}/_edgeinf/")
        await until(browser, "document.querySelectorAll('#rows tbody tr').length >= 9")
        assert await in_browser(_CONTRAST, browser) == []
        assert await in_browser(_NAMELESS, browser) == []
        assert await in_browser("return document.querySelectorAll('h1').length", browser) == 1
        dark = await in_browser("return getComputedStyle(document.body).backgroundColor === 'rgb(16, 20, 24)'", browser)
        assert dark == (theme == "dark")
        await asyncio.to_thread(browser.save_screenshot, str(tmp_path / f"{theme}.png"))
        assert (tmp_path / f"{theme}.png").stat().st_size > 20_000


async def test_a_script_of_somebody_else_does_not_run(origin: MockOrigin, tmp_path: Path, browser: WebDriver) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await proxy.ask("<img src=x onerror='document.title=1'>", model="<script>document.title=1</script>")
        await asyncio.to_thread(browser.get, f"{proxy.url}/_edgeinf/")
        await until(browser, "document.querySelectorAll('#rows tbody button').length >= 1")
        ran = await in_browser(
            "const s = document.createElement('script');"
            "try { s.textContent = 'window.ran = 1' } catch (e) { return 'refused' }"
            "document.body.append(s); return window.ran === 1",
            browser,
        )
        assert ran in ("refused", False)
        assert await in_browser("return document.title", browser) == "edgeinf"


async def _console(browser: WebDriver) -> list[str]:
    log = await asyncio.to_thread(browser.get_log, "browser")
    return [entry["message"] for entry in log]


async def _requests(browser: WebDriver) -> list[str]:
    log = await asyncio.to_thread(browser.get_log, "performance")
    messages = [json.loads(entry["message"])["message"] for entry in log]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


_CARDS = """
return Object.fromEntries([...document.querySelectorAll('#cards dd')].map((d) => [d.id, d.firstChild.textContent]));
"""

_CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
const poor = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || ['SCRIPT', 'STYLE', 'OPTION'].includes(e.tagName) || e.closest('[hidden], dialog:not([open])')) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(e.tagName + ' ' + e.textContent.trim().slice(0, 30));
}
return poor;
"""

_NAMELESS = """
return [...document.querySelectorAll('button, input, select, meter, svg, table')]
  .filter((e) => !e.closest('[hidden], dialog:not([open])'))
  .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))
  .map((e) => e.outerHTML.slice(0, 80));
"""


def test_the_page_names_no_outside_address() -> None:
    _, body = page()
    text = body.decode().replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in text
    assert "https:" not in text


def test_the_policy_allows_the_pages_own_parts_by_their_hash_only() -> None:
    headers, _ = page()
    policy = dict(headers)[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert policy.count("'sha256-") == 2
