"""Look at the machine that ``serve`` would run on: each check says what it found and what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from edgeinf import __version__
from edgeinf.core.config.load import Inspection, find, inspect
from edgeinf.core.config.schema import Config
from edgeinf.core.errors import UsageError
from edgeinf.core.redact import redact
from edgeinf.core.units import format_size

__all__ = ["Check", "examine"]

_LEAST_FREE = 200 * 2**20
_LEAST_FILES = 1024
_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: a stable name, its outcome, what was found and, unless all is well, what to do."""

    name: str
    outcome: Literal["ok", "warn", "fail"]
    found: str
    advice: str | None = None


def examine(config_path: str | None, *, env: Mapping[str, str], cwd: Path, network: bool = True) -> list[Check]:
    """Return all checks, in a fixed order. ``network`` False leaves out whether regions can be reached."""
    checks = [_python(), _packages(), *_extras()]
    made, seen = _config(config_path, env, cwd)
    checks.append(made)
    config = seen.config if seen is not None and seen.config is not None else Config()
    checks += [_port(config), *_folders(config), _open_files()]
    if network:
        checks += list(_reach(config))
    return [*checks, _proxies(env)]


def _python() -> Check:
    found = f"edgeinf {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check(name="python", outcome="ok", found=found)


def _packages() -> Check:
    """Compare what is installed with what the package asks for."""
    missing = []
    for line in importlib.metadata.requires("edgeinf") or []:
        if "extra ==" not in line and "sys_platform" not in line:
            name = line.split(";")[0]
            for mark in "<>=~![ ":
                name = name.split(mark)[0]
            try:
                importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                missing.append(name)
    if missing:
        found, advice = f"missing: {', '.join(missing)}", "pip install --force-reinstall edgeinf"
        return Check(name="packages", outcome="fail", found=found, advice=advice)
    return Check(name="packages", outcome="ok", found="all that is needed is installed")


_EXTRAS = {"redis": "redis", "otel": "opentelemetry.sdk", "vectors": "sqlite_vec", "parquet": "duckdb"}


def _extras() -> Iterator[Check]:
    for extra, module in _EXTRAS.items():
        try:
            there = importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:
            there = False
        found = "installed" if there else f"not installed (pip install 'edgeinf[{extra}]')"
        yield Check(name=f"extra {extra}", outcome="ok", found=found)


def _config(path: str | None, env: Mapping[str, str], cwd: Path) -> tuple[Check, Inspection | None]:
    try:
        file = find(path, env, cwd)
        if file is None:
            return Check(name="config", outcome="ok", found="none: the defaults hold"), None
        seen = inspect(file.read_bytes(), str(file), base=file.resolve().parent, env=env)
    except UsageError as error:
        return Check(name="config", outcome="fail", found=error.message, advice=error.hint), None
    except OSError as error:
        found = f"{path or 'the config'} cannot be read: {(error.strerror or '').lower()}"
        return Check(name="config", outcome="fail", found=found, advice="check its permissions"), None
    if seen.errors:
        found, advice = (
            f"{file}: {len(seen.errors)} error{'s' if len(seen.errors) > 1 else ''}",
            f"edgeinf validate {file}",
        )
        return Check(name="config", outcome="fail", found=found, advice=advice), seen
    return Check(name="config", outcome="ok", found=f"{file} is valid"), seen


def _port(config: Config) -> Check:
    host, port = config.listen.host, config.listen.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host.strip("[]"), port))
    except OSError as error:
        found = f"{host}:{port} cannot be listened on: {(error.strerror or str(error)).lower()}"
        return Check(
            name="port", outcome="fail", found=found, advice="choose another listen.port, or end what holds it"
        )
    return Check(name="port", outcome="ok", found=f"{host}:{port} is free")


def _folders(config: Config) -> Iterator[Check]:
    if config.cache.disk is not None:
        yield _folder("cache folder", config.cache.disk.path, config.cache.disk.max_size)
    if config.events.file is not None:
        yield _folder("event log", config.events.file.parent, 0)


def _folder(name: str, path: Path, wanted: int) -> Check:
    at = path
    while not at.exists() and at != at.parent:
        at = at.parent
    if not at.is_dir() or not os.access(at, os.W_OK | os.X_OK):
        found = f"{path}: this user may not write there"
        return Check(
            name=name, outcome="fail", found=found, advice="name another path, or give the folder to this user"
        )
    free = shutil.disk_usage(at).free
    found = f"{path}, {format_size(free)} free"
    if free < max(_LEAST_FREE, wanted // 10):
        return Check(name=name, outcome="warn", found=found, advice="free some space, or lower cache.disk.max_size")
    return Check(name=name, outcome="ok", found=found)


def _open_files() -> Check:
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError):
        return Check(name="open files", outcome="ok", found="not limited here")
    found = f"at most {soft} open files"
    if 0 <= soft < _LEAST_FILES:
        return Check(name="open files", outcome="warn", found=found, advice="ulimit -n 65536; each call holds two")
    return Check(name="open files", outcome="ok", found=found)


def _reach(config: Config) -> Iterator[Check]:
    for region in config.regions:
        parts = urlsplit(region.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        yield _connect(f"region {region.name}", host, port)
    for name, shared in (("cache.shared", config.cache.shared), ("limits_shared", config.limits_shared)):
        if shared is not None and not shared.url.startswith("unix:"):
            parts = urlsplit(shared.url)
            yield _connect(name, parts.hostname or "", parts.port or 6379)


def _connect(name: str, host: str, port: int) -> Check:
    try:
        with socket.create_connection((host, port), timeout=_TIMEOUT_S):
            return Check(name=name, outcome="ok", found=f"{host}:{port} answers")
    except socket.gaierror:
        found, advice = f"{host} does not resolve", "check its spelling and the name server"
    except OSError as error:
        found, advice = f"{host}:{port}: {(error.strerror or str(error)).lower()}", "is it running, is a proxy needed?"
    return Check(name=name, outcome="warn", found=found, advice=advice)


def _proxies(env: Mapping[str, str]) -> Check:
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
    found = [
        f"{name}={redact(env.get(name) or env[name.lower()])}"
        for name in names
        if env.get(name) or env.get(name.lower())
    ]
    return Check(name="proxies", outcome="ok", found=", ".join(found) or "none set")
