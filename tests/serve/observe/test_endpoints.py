"""The operator's paths: who may see them, and that they say what happened."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from edgeinf.core.config.schema import Admin, Auth, Dashboard, Listen
from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.metrics import FAMILIES
from tests.serve.running import Proxy, config_for, running

PATHS = ["/metrics", "/_edgeinf/", "/_edgeinf/api/stats", "/_edgeinf/api/events"]
ADMIN = "ek-admin-0123456789abcdef"
AUTH = Auth(admin=Admin(sha256=hashlib.sha256(ADMIN.encode()).hexdigest()))
# As from afar: what a reverse proxy on this machine adds.
AFAR = {"x-forwarded-for": "203.0.113.9"}


async def samples(proxy: Proxy) -> dict[str, list[Any]]:
    answer = await proxy.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


async def purge(proxy: Proxy, **what: Any) -> dict[str, Any]:
    answer = await proxy.client.post("/_edgeinf/api/purge", json=what)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", PATHS)
async def test_this_machine_may_see_it(origin: MockOrigin, tmp_path: Path, path: str) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        assert (await proxy.client.get(path)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-for": "127.0.0.1"},
        {"forwarded": "for=127.0.0.1"},
        {"via": "1.1 proxy"},
        {"x-real-ip": "127.0.0.1"},
        {"host": "rebound.example"},
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
    ],
    ids=lambda headers: next(iter(headers)),
)
@pytest.mark.parametrize("path", PATHS)
async def test_nobody_else_may(origin: MockOrigin, tmp_path: Path, path: str, headers: dict[str, str]) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        assert (await proxy.client.get(path, headers=headers)).status_code == 403


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"authorization": f"Bearer {ADMIN}"}, 200),
        ({"authorization": "", "x-api-key": ADMIN}, 200),
        ({"authorization": f"Bearer {ADMIN}x"}, 401),
        ({"authorization": ""}, 401),
    ],
    ids=["bearer", "x-api-key", "wrong", "none"],
)
async def test_the_admin_key_opens_it_from_afar(
    origin: MockOrigin, tmp_path: Path, sent: dict[str, str], status: int
) -> None:
    async with running(config_for(tmp_path, origin.url, auth=AUTH)) as proxy:
        answer = await proxy.client.get("/_edgeinf/api/stats", headers={**AFAR, **sent})
        assert answer.status_code == status


async def test_the_page_without_figures_is_open_where_a_key_guards_them(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url, auth=AUTH)) as proxy:
        assert (await proxy.client.get("/_edgeinf/", headers=AFAR)).status_code == 200
        assert (await proxy.client.get("/_edgeinf/", headers={"host": "rebound.example"})).status_code == 403


async def test_a_name_that_is_allowed_reaches_it(origin: MockOrigin, tmp_path: Path) -> None:
    listen = Listen(allowed_hosts=("edge.example",))
    async with running(config_for(tmp_path, origin.url, listen=listen)) as proxy:
        answer = await proxy.client.get("/_edgeinf/api/stats", headers={"host": "edge.example:80"})
        assert answer.status_code == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_form_cannot_purge(origin: MockOrigin, tmp_path: Path, content_type: str) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        answer = await proxy.client.post(
            "/_edgeinf/api/purge", content=b'{"all": true}', headers={"content-type": content_type}
        )
        assert answer.status_code == 415


async def test_a_switched_off_dashboard_leaves_metrics_and_purge(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url, dashboard=Dashboard(enabled=False))) as proxy:
        assert (await proxy.client.get("/_edgeinf/")).status_code == 404
        assert (await proxy.client.get("/_edgeinf/api/stats")).status_code == 404
        assert (await proxy.client.get("/metrics")).status_code == 200
        assert await purge(proxy, all=True) == {"schema_version": 1, "purged": 0, "elsewhere": 0}


async def test_metrics_parse_and_count_what_happened(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        for content in ("a", "a", "b"):
            await proxy.ask(content, stream=True)
        await proxy.ask("a", model='quo"te\nd\\')
        found = await samples(proxy)
        outcomes = {
            s.labels["cache"]: s.value for s in found["edgeinf_requests_total"] if s.labels["model"] == "mock-small"
        }
        assert outcomes == {"hit": 1, "miss": 2}
        assert {s.labels["model"] for s in found["edgeinf_requests_total"]} == {"mock-small", 'quo"te\nd\\'}
        counts = {
            s.labels["cache"]: s.value for s in found["edgeinf_overhead_seconds_bucket"] if s.labels["le"] == "+Inf"
        }
        assert counts == {"hit": 1, "miss": 3}
        tokens = {s.labels["source"] for s in found["edgeinf_tokens_total"]}
        assert tokens == {"origin", "cache"}
        assert {s.labels["tier"] for s in found["edgeinf_tier_entries"]} == {"memory"}


async def test_every_metric_that_is_said_is_in_the_table_with_its_labels(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url, disk=True)) as proxy:
        for content in ("a", "a", "b"):
            await proxy.ask(content, stream=True)
        await proxy.client.post("/v1/chat/completions", content=b"{")
        text = (await proxy.client.get("/metrics")).text
        for family in text_string_to_metric_families(text):
            name = family.name if family.type != "counter" else f"{family.name}_total"
            assert FAMILIES[name].kind == family.type
            for sample in family.samples:
                assert set(sample.labels) - {"le"} == set(FAMILIES[name].labels)


async def test_overhead_leaves_nothing_out_but_the_origin(origin: MockOrigin, tmp_path: Path) -> None:
    origin.use({"ttft": "300ms"})
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await proxy.ask("a")
        found = await samples(proxy)
        duration = next(s.value for s in found["edgeinf_request_duration_seconds_sum"])
        overhead = next(s.value for s in found["edgeinf_overhead_seconds_sum"])
        assert duration >= 0.3
        assert 0 < overhead <= duration - 0.29


async def test_stats_say_what_the_metrics_say(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        for content in ("a", "a", "b", "a"):
            await proxy.ask(content)
        await proxy.client.post("/v1/chat/completions", content=b"{")
        stats = (await proxy.client.get("/_edgeinf/api/stats")).json()
        found = await samples(proxy)
        assert stats["schema_version"] == 1
        assert stats["totals"]["requests"] == sum(s.value for s in found["edgeinf_requests_total"]) == 5
        assert stats["totals"]["hits"] == 2
        assert stats["totals"]["errors"] == 1
        assert stats["totals"]["seconds_saved"] == sum(s.value for s in found["edgeinf_seconds_saved_total"])
        assert sum(stats["series"]["requests"]) == 5
        assert [region["name"] for region in stats["regions"]] == ["region"]
        assert stats["regions"][0]["requests"] == 2


async def test_each_request_says_why(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await proxy.ask("a")
        await proxy.ask("a", stream=True)
        await proxy.ask("a", temperature=0.5)
        await proxy.ask("a", store=True)
        await proxy.ask("a", headers={"cache-control": "no-store", "x-edgeinf-namespace": "x"})
        events = (await proxy.client.get("/_edgeinf/api/events")).json()["events"]
        assert [event["why"] for event in reversed(events)] == [
            "miss: first seen",
            "hit: memory, 0 s old",
            "miss: differs only in temperature",
            "not cacheable: store",
            "miss: the same question in another scope, namespace or level",
        ]
        explained = (await proxy.client.get(f"/_edgeinf/api/explain?id={events[2]['id']}")).json()
        verdicts = {part["path"]: part["verdict"] for part in explained["parts"]}
        assert verdicts == {
            "model": "same",
            "messages[0].role": "same",
            "messages[0].content": "same",
            "temperature": "only here",
        }


async def test_no_word_of_a_prompt_is_shown(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await proxy.ask("the-secret-of-the-prompt")
        await proxy.ask("the-secret-of-the-prompt", temperature=1)
        events = await proxy.client.get("/_edgeinf/api/events")
        first = events.json()["events"][0]["id"]
        explained = await proxy.client.get(f"/_edgeinf/api/explain?id={first}")
        stats = await proxy.client.get("/_edgeinf/api/stats")
        assert "the-secret" not in events.text + explained.text + stats.text
        assert "sk-of-a-test" not in events.text + explained.text + stats.text


@pytest.mark.parametrize("disk", [False, True], ids=["memory", "disk"])
async def test_purging_forgets_what_is_named_and_nothing_else(origin: MockOrigin, tmp_path: Path, disk: bool) -> None:
    async with running(config_for(tmp_path, origin.url, disk=disk)) as proxy:
        spaced = {"x-edgeinf-namespace": "red"}
        first = await proxy.ask("a")
        await proxy.ask("a", headers=spaced)
        await proxy.ask("a", model="mock-large")
        key = first.headers["cache-status"].partition('key="')[2].partition('"')[0]
        assert (await purge(proxy, key=key))["purged"] == 1
        assert (await proxy.ask("a")).headers["x-edgeinf-cache"] == "miss"
        assert (await purge(proxy, namespace="red"))["purged"] == 1
        assert (await proxy.ask("a", headers=spaced)).headers["x-edgeinf-cache"] == "miss"
        assert (await proxy.ask("a", model="mock-large")).headers["x-edgeinf-cache"] == "hit"
        assert (await purge(proxy, model="mock-large"))["purged"] == 1
        assert (await proxy.ask("a", model="mock-large")).headers["x-edgeinf-cache"] == "miss"
        assert (await purge(proxy, all=True))["purged"] == 3
        assert (await proxy.ask("a")).headers["x-edgeinf-cache"] == "miss"
