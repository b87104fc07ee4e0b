"""Ask each region what only it knows: name, certificate, credential, models and adapters. Never a completion."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import httpx

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Severity
from edgeinf.core.config.load import Inspection
from edgeinf.core.config.rule import Facts, Finding, locate
from edgeinf.core.config.schema import Config, Region
from edgeinf.validate.check import Options
from edgeinf.validate.ignores import select
from edgeinf.validate.report import FileReport, safe_lines

__all__ = ["ask", "with_online"]

_TIMEOUT_S = 10.0
_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a region said: its models, or None and why not."""

    models: frozenset[str] | None = None
    findings: tuple[tuple[str, KeyPath, str, str | None], ...] = ()


def with_online(report: FileReport, seen: Inspection, options: Options) -> FileReport:
    """Return the report with what the regions say added."""
    if seen.config is None or seen.facts is None:
        return report
    found = asyncio.run(ask(seen.config, seen.facts))
    left = select(found, seen.source.lines(), only=options.only, ignored=options.ignored)
    together = tuple(sorted([*report.diagnostics, *left], key=lambda d: d.order))
    lines = safe_lines(seen.source, {d.span.line for d in together if d.span is not None})
    return replace(report, diagnostics=together, lines=lines)


async def ask(config: Config, facts: Facts) -> tuple[Diagnostic, ...]:
    """Return what all regions say, asked at once."""
    regions = list(facts.items("regions"))
    gate = asyncio.Semaphore(_AT_ONCE)
    async with httpx.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=False) as client:

        async def one(path: KeyPath, region: Region) -> _Answer:
            async with gate:
                return await _ask(client, path, region)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(path, region)) for path, region in regions]
    answers = {region.name: task.result() for (_, region), task in zip(regions, tasks, strict=True)}
    found = [finding for answer in answers.values() for finding in answer.findings]
    found += _groups(config, facts, answers)
    return tuple(_diagnostic(*finding, facts) for finding in found)


def _diagnostic(code: str, path: KeyPath, message: str, help: str | None, facts: Facts) -> Diagnostic:
    severity: Severity = "unknown" if code[0] == "U" else "error"
    return locate(code, severity, Finding(path=path, message=message, help=help), facts)


async def _ask(client: httpx.AsyncClient, path: KeyPath, region: Region) -> _Answer:
    url, name = (*path, "url"), region.name
    host = urlsplit(region.url).hostname or ""
    try:
        await asyncio.wait_for(asyncio.get_running_loop().getaddrinfo(host, None), _TIMEOUT_S)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            return _failed("U101", url, f"the name server could not be asked about {host!r}", None)
        return _failed("O101", url, f"the host {host!r} of the region {name!r} does not resolve", "check its spelling")
    except (TimeoutError, UnicodeError):
        return _failed("U101", url, f"the name server did not answer about {host!r}", None)
    try:
        response = await client.get(_models_url(region.url), headers=_headers(region))
    except httpx.ConnectError as error:
        reason = _certificate(error)
        if reason is not None:
            return _failed("O102", url, f"the certificate of the region {name!r} is refused: {reason}", None)
        return _failed("U101", url, f"the region {name!r} refused the connection", "is it running?")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return _failed("U101", url, f"the region {name!r} could not be asked: {type(error).__name__}", None)
    return _read(response, path, region)


def _failed(code: str, path: KeyPath, message: str, help: str | None) -> _Answer:
    return _Answer(findings=((code, path, message, help),))


def _certificate(error: BaseException) -> str | None:
    """Return why a certificate was refused, if that is behind ``error``."""
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, ssl.SSLCertVerificationError):
            return at.verify_message
        at = at.__cause__ or at.__context__
    found = re.search(r"certificate verify failed: ([^(]+)", str(error))
    return found[1].strip() if found else None


def _models_url(url: str) -> str:
    base = url.rstrip("/")
    return f"{base}/models" if re.search(r"/v\d+[a-z0-9]*(/|$)", urlsplit(base).path) else f"{base}/v1/models"


def _headers(region: Region) -> dict[str, str]:
    headers = dict(region.headers)
    key = region.api_key.get_secret_value() if region.api_key is not None else None
    if region.api_key_file is not None:
        key = region.api_key_file.read_text(encoding="utf-8").strip()
    if "anthropic" in region.serves:
        headers.setdefault("anthropic-version", "2023-06-01")
        if key:
            headers["x-api-key"] = key
    if key and set(region.serves) != {"anthropic"}:
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _read(response: httpx.Response, path: KeyPath, region: Region) -> _Answer:
    own = "api_key" if region.api_key is not None else "api_key_file" if region.api_key_file is not None else None
    if response.status_code in (401, 403):
        if own is None:
            message = f"the region {region.name!r} asks for a credential, and the config has none to ask with"
            return _failed("U102", (*path, "url"), message, None)
        message = f"the region {region.name!r} refuses the credential ({response.status_code})"
        return _failed("O103", (*path, own), message, "check the variable, and whether the key has expired")
    if response.status_code >= 300:
        message = f"the region {region.name!r} answers {response.status_code} instead of its models"
        return _failed("U102", (*path, "url"), message, None)
    try:
        data = response.json()["data"]
        models = frozenset(str(item["id"]) for item in data)
    except (ValueError, KeyError, TypeError):
        return _failed("U102", (*path, "url"), f"the region {region.name!r} has no list of models", None)
    return _Answer(models=models)


def _groups(config: Config, facts: Facts, answers: dict[str, _Answer]) -> list[tuple[str, KeyPath, str, str | None]]:
    """Say which region of a group lacks the model, or the adapter, that the others serve."""
    found: list[tuple[str, KeyPath, str, str | None]] = []
    for path, model in facts.items("models"):
        names = model.regions if model.regions is not None else tuple(answers)
        for name in names:
            served = answers[name].models if name in answers else None
            if served is None:
                continue
            upstream = model.upstream.get(name) if isinstance(model.upstream, dict) else model.upstream
            wanted = upstream or model.name
            if wanted not in served:
                where: KeyPath = (*path, "upstream") if model.upstream is not None else (*path, "name")
                where = (*where, name) if isinstance(model.upstream, dict) else where
                message = f"the region {name!r} does not serve {wanted!r} for {model.name!r}"
                found.append(("O104", where, message, f"it serves {_some(sorted(served))}"))
            adapter = model.adapter if isinstance(model.adapter, str) else model.adapter and model.adapter.name
            if adapter and adapter not in served and not _loadable(model.adapter):
                message = f"the region {name!r} does not have the adapter {adapter!r} of {model.name!r}"
                found.append(("O105", (*path, "adapter"), message, "load it there, or give its path"))
    return found


def _loadable(adapter: object) -> bool:
    """Return whether the adapter has a path from which a server may load it on demand."""
    return getattr(adapter, "path", None) is not None


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} … and {len(names) - 8} more" if len(names) > 8 else shown or "nothing"
