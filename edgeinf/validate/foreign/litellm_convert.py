"""Write our config for a LiteLLM proxy config, and say what has no counterpart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeinf.validate.detect import PROVIDERS
from edgeinf.validate.foreign.litellm_groups import fallback_links
from edgeinf.validate.foreign.note import at, list_of, mapping
from edgeinf.validate.published import URL

__all__ = ["Converted", "convert"]

_LOCAL = {"ollama": "http://127.0.0.1:11434/v1", "ollama_chat": "http://127.0.0.1:11434/v1"}
_COMPATIBLE = (
    "openai",
    "hosted_vllm",
    "vllm",
    "custom_openai",
    "text-completion-openai",
    "lm_studio",
    "llamafile",
    "azure",
)
_ALIASES = {"together_ai": "together", "fireworks_ai": "fireworks", "xai": "xai", "text-completion-openai": "openai"}
_STRATEGIES = {
    "simple-shuffle": "weighted",
    "least-busy": "least-loaded",
    "latency-based-routing": "latency",
    "usage-based-routing": "least-loaded",
    "usage-based-routing-v2": "least-loaded",
}


@dataclass(slots=True)
class _Region:
    name: str
    url: str
    key: str | None
    serves: str
    weight: float | None = None


@dataclass(slots=True)
class _Model:
    upstream: dict[str, str] = field(default_factory=dict)
    fallback: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Our config as text, and what a person has to look at."""

    text: str
    notes: tuple[str, ...]


def convert(tree: Mapping[str, Any]) -> Converted:
    """Return our config. No credential is copied: each becomes a variable's name."""
    return _Conversion(tree).run()


class _Conversion:
    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._tree = tree
        self._regions: dict[tuple[str, str | None], _Region] = {}
        self._models: dict[str, _Model] = {}
        self._notes: list[str] = []

    def run(self) -> Converted:
        for _, entry in list_of(self._tree.get("model_list"), ()):
            self._entry(mapping(entry))
        for _, _, source, target in fallback_links(self._tree):
            if source in self._models and target in self._models and target != source:
                links = self._models[source].fallback
                if target not in links and not self._reaches(target, source):
                    links.append(target)
        lines = [f"# yaml-language-server: $schema={URL}", "version: 1"]
        lines += self._region_lines() + self._model_lines() + self._routing_lines() + self._cache_lines()
        self._left_over()
        if not self._regions:
            self._notes.append("no deployment was found, so no region is named: the default origins hold")
        return Converted(text="\n".join(lines) + "\n", notes=tuple(dict.fromkeys(self._notes)))

    def _reaches(self, start: str, goal: str) -> bool:
        todo, seen = [start], set()
        while todo:
            name = todo.pop()
            if name == goal:
                return True
            if name not in seen and name in self._models:
                seen.add(name)
                todo += self._models[name].fallback
        return False

    def _entry(self, entry: Mapping[str, Any]) -> None:
        name, params = entry.get("model_name"), mapping(entry.get("litellm_params"))
        model = params.get("model")
        if not isinstance(name, str) or not isinstance(model, str):
            self._notes.append("a deployment without model_name or model is left out")
            return
        provider, _, upstream = model.rpartition("/") if model.count("/") == 1 else model.partition("/")
        if not upstream or not provider:
            provider, upstream = ("anthropic" if model.startswith("claude") else "openai"), model
        region = self._region(provider, params, name)
        if region is None:
            return
        for rate in ("rpm", "tpm"):
            if rate in params:
                self._notes.append(f"{rate} of {name!r} holds per region: see regions[].max_concurrency, or limits")
        if isinstance(params.get("weight"), int | float):
            region.weight = float(params["weight"])
        if "*" in name or "*" in upstream:
            self._notes.append(f"{name!r} is a wildcard: every model's name is passed on without an entry")
            return
        group = self._models.setdefault(name, _Model())
        if group.upstream.get(region.name, upstream) != upstream:
            self._notes.append(f"{name!r} has two models in {region.name}: the first is kept")
            return
        group.upstream[region.name] = upstream

    def _region(self, provider: str, params: Mapping[str, Any], model: str) -> _Region | None:
        base = params.get("api_base") or params.get("base_url")
        provider = _ALIASES.get(provider, provider)
        known = next((p for p in PROVIDERS if p.name == provider), None)
        if isinstance(base, str):
            url = self._variable(base) or base
            if provider.startswith("ollama") and not url.rstrip("/").endswith("/v1") and "${" not in url:
                url = url.rstrip("/") + "/v1"
            if provider == "azure" and "/openai/" not in url:
                url = url.rstrip("/") + "/openai/v1"
        elif known is not None:
            url = known.url
        elif provider in _LOCAL:
            url = _LOCAL[provider]
        else:
            self._notes.append(f"{model!r} is at {provider}, whose API is not spoken here: left out")
            return None
        if known is None and provider not in _COMPATIBLE and provider not in _LOCAL:
            self._notes.append(f"{model!r} is at {provider}: make sure that {url} speaks the OpenAI API")
        named = known is not None or provider in _LOCAL or "://" not in url
        label = _slug(provider.removesuffix("_chat")) if named else _host(url) or _slug(provider)
        key = self._key(params.get("api_key"), label, known.variables[0] if known is not None else None)
        found = self._regions.get((url, key))
        if found is None:
            taken = {region.name for region in self._regions.values()}
            name, turn = label, 1
            while name in taken:
                turn += 1
                name = f"{label}-{turn}"
            serves = known.serves if known is not None else "openai"
            found = self._regions[url, key] = _Region(name, url.rstrip("/"), key, serves)
        return found

    def _key(self, value: Any, label: str, usual: str | None) -> str | None:
        if isinstance(value, str) and value:
            variable = self._variable(value)
            if variable is not None:
                return variable
            if re.fullmatch(r"(?i)(none|empty|fake(-key)?|dummy|na|anything|not-needed|no-key)", value):
                return None
            name = usual or re.sub(r"\W", "_", label).upper() + "_API_KEY"
            self._notes.append(f"a credential stands in the file in the clear: put it into {name}, and replace it")
            return f"${{{name}}}"
        return f"${{{usual}}}" if usual is not None else None

    @staticmethod
    def _variable(value: str) -> str | None:
        found = re.fullmatch(r"os\.environ/([A-Za-z_][A-Za-z0-9_]*)", value)
        return f"${{{found[1]}}}" if found else None

    def _region_lines(self) -> list[str]:
        if not self._regions:
            return []
        timeout = at(self._tree, "litellm_settings", "request_timeout") or at(self._tree, "router_settings", "timeout")
        lines = ["", "regions:"]
        for region in self._regions.values():
            lines += [f"  - name: {_word(region.name)}", f"    url: {_word(region.url)}"]
            if region.key is not None:
                lines.append(f"    api_key: {region.key}")
            if region.serves != "openai":
                lines.append(f"    serves: [{region.serves}]")
            if region.weight is not None and self._strategy() == "weighted":
                lines.append(f"    weight: {region.weight:g}")
            if isinstance(timeout, int | float) and timeout > 0:
                lines.append(f"    timeouts: {{total: {timeout:g}s}}")
        return lines

    def _model_lines(self) -> list[str]:
        if not self._models:
            return []
        lines = ["", "models:"]
        for name, model in self._models.items():
            upstream = ", ".join(f"{_word(region)}: {_word(one)}" for region, one in model.upstream.items())
            lines += [f"  - name: {_word(name)}", f"    upstream: {{{upstream}}}"]
            lines.append(f"    regions: [{', '.join(_word(region) for region in model.upstream)}]")
            if model.fallback:
                lines.append(f"    fallback: [{', '.join(_word(one) for one in model.fallback)}]")
        return lines

    def _strategy(self) -> str | None:
        return _STRATEGIES.get(str(at(self._tree, "router_settings", "routing_strategy")))

    def _routing_lines(self) -> list[str]:
        retries = at(self._tree, "router_settings", "num_retries")
        retries = at(self._tree, "litellm_settings", "num_retries") if retries is None else retries
        parts = [f"  strategy: {self._strategy()}"] if self._strategy() else []
        if isinstance(retries, int) and not isinstance(retries, bool) and retries >= 0:
            parts.append(f"  failover: {{attempts: {retries + 1}}}")
        return ["", "routing:", *parts] if parts else []

    def _cache_lines(self) -> list[str]:
        settings = mapping(self._tree.get("litellm_settings"))
        params = mapping(settings.get("cache_params"))
        if settings.get("cache") is not True:
            return ["", "cache: {max_temperature: null}  # answers are cached here by default; see edgeinf analyze"]
        lines = ["", "cache:", "  max_temperature: null"]
        ttl = params.get("ttl")
        if isinstance(ttl, int | float) and not isinstance(ttl, bool) and ttl > 0:
            lines.append(f"  ttl: {ttl:g}s")
            if ttl < 3600:
                lines.append("  stale_if_error: 0s")
        if str(params.get("type", "redis")).startswith("redis"):
            host, port = params.get("host", "127.0.0.1"), params.get("port", 6379)
            url = f"redis://{host}:{port}/0" if isinstance(host, str) and re.fullmatch(r"[\w.-]+", host) else None
            lines.append(f'  shared: {{url: "{url or "${REDIS_URL}"}"}}')
            if params.get("password") is not None:
                self._notes.append("the Redis password: give the whole address in a variable, as cache.shared.url")
        if "semantic" in str(params.get("type", "")):
            self._notes.append("a semantic cache has no counterpart: see cache.level for what may be merged safely")
        return lines

    def _left_over(self) -> None:
        general = mapping(self._tree.get("general_settings"))
        if "master_key" in general:
            self._notes.append("master_key: make keys with edgeinf keys new, and put their hashes under auth")
        for name in ("database_url", "alerting", "custom_auth", "enable_jwt_auth", "pass_through_endpoints"):
            if name in general:
                self._notes.append(f"general_settings.{name} has no counterpart")
        for name in ("guardrails", "mcp_servers", "credential_list", "include", "vector_store_registry"):
            if self._tree.get(name):
                self._notes.append(f"{name} is left out")
        for name in ("success_callback", "failure_callback", "callbacks"):
            if at(self._tree, "litellm_settings", name):
                self._notes.append(f"{name}: see events.file and events.otlp")
        if at(self._tree, "router_settings", "routing_strategy") == "cost-based-routing":
            self._notes.append("cost-based-routing has no counterpart: use priority")
        if at(self._tree, "router_settings", "model_group_alias"):
            self._notes.append("model_group_alias: add a model of that name with the same upstream")


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.") or "region"


def _host(url: str) -> str:
    found = re.match(r"[a-z]+://([^/?#]+)", url)
    return _slug(found[1].rpartition("@")[2]) if found else ""


def _word(text: str) -> str:
    return (
        text
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9._/-]*(:/[A-Za-z0-9._/:-]+)?", text) and text.lower() not in _ODD
        else json.dumps(text)
    )


_ODD = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})
