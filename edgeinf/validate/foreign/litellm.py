"""What is wrong with a LiteLLM proxy config: what it ignores in silence, and what fails at the first request."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Related, dotted
from edgeinf.core.config.source import Source
from edgeinf.core.redact import looks_like_secret
from edgeinf.validate.foreign.litellm_groups import group_faults
from edgeinf.validate.foreign.litellm_names import ENTRY, PARAMS, SECTIONS, STRATEGIES, TOP
from edgeinf.validate.foreign.note import Note, list_of, mapping

__all__ = ["check_litellm"]

_ENV = re.compile(r"os\.environ/([A-Za-z_][A-Za-z0-9_]*)")
_KNOWN_BARE = re.compile(
    r"(gpt-|o[134](-|$)|chatgpt-|text-embedding-|dall-e|whisper|tts-|claude-|gemini-|command|mistral-|omni-|computer-use)"
)
_NO_SECRET = re.compile(r"|sk-1234|anything|none|empty|fake(-key)?|dummy|na|not-needed|no-key", re.IGNORECASE)
_SECRET_KEYS = ("api_key", "master_key", "aws_secret_access_key", "client_secret", "redis_password", "password")


def check_litellm(source: Source, env: Mapping[str, str] | None) -> tuple[Diagnostic, ...]:
    """Return every finding by position. ``env`` None asks for no variables."""
    if source.broken:
        return source.faults
    notes = [
        *_unknown_keys(source.tree),
        *_entries(source.tree),
        *group_faults(source.tree),
        *_settings(source.tree),
        *_strings(source.tree, env),
    ]
    form = [fault for fault in source.faults if fault.code != "W004"]  # their reader is the YAML 1.1 one
    found = [*form, *(_located(note, source) for note in notes)]
    return tuple(sorted(found, key=lambda d: d.order))


def _located(note: Note, source: Source) -> Diagnostic:
    path = note.path
    while path and path not in source.sites:
        path = path[:-1]
    site = source.sites.get(path) if path else None
    exact = path == note.path and not note.at_key
    related = tuple(
        Related(message=message, span=source.sites[where].value if where in source.sites else None)
        for message, where in note.related
    )
    return Diagnostic(
        code=note.code,
        severity="error" if note.error else "warning",
        message=note.message,
        span=None if site is None else site.value if exact else site.key,
        path=note.path,
        label=note.label,
        help=note.help,
        related=related,
    )


def _meant(key: str, allowed: tuple[str, ...], cutoff: float = 0.6) -> str | None:
    near = difflib.get_close_matches(key.lower(), allowed, n=1, cutoff=cutoff)
    return f'did you mean "{near[0]}"?' if near else None


def _unknown_keys(tree: Mapping[str, Any]) -> Iterator[Note]:
    for key in tree:
        if key not in TOP:
            homes = [f"{name}" for name, keys in SECTIONS.items() if key in keys]
            label = f"{key} belongs under {' or '.join(homes)}" if homes else _meant(key, TOP)
            yield Note("L101", (key,), f'the key "{key}" at the top level is ignored', label=label, at_key=True)
    for name, keys in SECTIONS.items():
        for key in mapping(tree.get(name)):
            if key in keys:
                continue
            homes = [other for other, theirs in SECTIONS.items() if key in theirs and other != name]
            label = f"{key} belongs under {' or '.join(homes)}" if homes else _meant(key, keys, 0.8)
            if label is not None:  # sections take more names than are documented: speak only when sure
                yield Note("L102", (name, key), f'the key "{key}" in {name} is ignored', label=label, at_key=True)


def _entries(tree: Mapping[str, Any]) -> Iterator[Note]:
    models = tree.get("model_list")
    if models == [] or ("model_list" in tree and models is None):
        yield Note("L103", ("model_list",), "model_list is empty, so no model can be called", at_key=True)
    for path, entry in list_of(models, ("model_list",)):
        if not isinstance(entry, dict):
            yield Note("L104", path, f"{dotted(path)} must be a mapping with model_name and litellm_params")
            continue
        for key in entry:
            if key not in ENTRY:
                home = "litellm_params" if key in PARAMS else "model_info" if key == "access_groups" else None
                label = f"{key} belongs under {home}" if home else _meant(key, ENTRY)
                yield Note(
                    "L105", (*path, key), f'the key "{key}" beside model_name is ignored', label=label, at_key=True
                )
        misspelt = [key for key in entry if key not in ENTRY]
        if not isinstance(entry.get("model_name"), str) and not difflib.get_close_matches(
            "model_name", misspelt, 1, 0.6
        ):
            yield Note("L104", path, f"{dotted(path)} lacks model_name, the name that clients use", at_key=True)
        params = entry.get("litellm_params")
        if isinstance(params, dict):
            yield from _params(params, (*path, "litellm_params"))
        elif not difflib.get_close_matches("litellm_params", misspelt, 1, 0.6):
            yield Note("L104", path, f"{dotted(path)} lacks litellm_params: {{model: …}}", at_key=True)


def _params(params: Mapping[str, Any], path: KeyPath) -> Iterator[Note]:
    for key in params:
        if key not in PARAMS and (label := _meant(key, PARAMS, 0.8)):
            yield Note("L106", (*path, key), f'"{key}" is sent to the provider as it is', label=label, at_key=True)
    for key in ("rpm", "tpm", "max_parallel_requests"):
        if key in params and (not isinstance(params[key], int) or isinstance(params[key], bool)):
            yield Note("L107", (*path, key), f"{key} must be a whole number")
    model = params.get("model")
    if not isinstance(model, str):
        if not difflib.get_close_matches("model", [k for k in params if k not in PARAMS], 1, 0.7):
            yield Note("L104", path, f"{dotted(path)} lacks model, as provider/name", at_key=True)
        return
    if "/" not in model and not _KNOWN_BARE.match(model) and "custom_llm_provider" not in params:
        help = "an OpenAI-compatible server is openai/" if params.get("api_base") else "for example groq/, ollama_chat/"
        yield Note(
            "L201", (*path, "model"), f"{model!r} names no provider, so calls fail", help=f"write it in front: {help}"
        )
    base = params.get("api_base") or params.get("base_url")
    if isinstance(base, str) and not base.startswith("os.environ/"):
        yield from _base(base, model, (*path, "api_base" if "api_base" in params else "base_url"))


def _base(base: str, model: str, path: KeyPath) -> Iterator[Note]:
    if re.search(r"/(chat/completions|completions|embeddings|messages)/?$", base):
        yield Note("L202", path, "api_base ends in the path of a call, which is added to it", help="end it before that")
    elif model.startswith(("ollama/", "ollama_chat/")) and base.rstrip("/").endswith("/v1"):
        yield Note("L202", path, "Ollama's own API is not below /v1", help="end api_base before /v1, or write openai/…")
    elif model.startswith(("openai/", "hosted_vllm/")) and re.fullmatch(r"https?://[^/]+/?", base):
        yield Note(
            "L203",
            path,
            "an OpenAI-compatible server answers below /v1, and this address ends before it",
            help=f"write {base.rstrip('/')}/v1",
            error=False,
        )


def _settings(tree: Mapping[str, Any]) -> Iterator[Note]:
    router, general = mapping(tree.get("router_settings")), mapping(tree.get("general_settings"))
    strategy = router.get("routing_strategy")
    if strategy is not None and strategy not in STRATEGIES:
        yield Note(
            "L301",
            ("router_settings", "routing_strategy"),
            f"there is no routing strategy {strategy!r}",
            label=_meant(str(strategy), STRATEGIES),
            help=f"one of: {', '.join(STRATEGIES)}",
        )
    master = general.get("master_key")
    if isinstance(master, str) and not master.startswith(("sk-", "os.environ/")):
        yield Note(
            "L302", ("general_settings", "master_key"), "a master_key must start with sk-, or no key is accepted"
        )
    if master is None and "model_list" in tree and not general.get("custom_auth"):
        path: KeyPath = ("general_settings",) if "general_settings" in tree else ("model_list",)
        message = "without a master_key everybody who reaches the proxy spends your tokens"
        yield Note("L303", path, message, help="master_key: os.environ/LITELLM_MASTER_KEY", error=False, at_key=True)
    settings = mapping(tree.get("litellm_settings"))
    if "cache_params" in settings and settings.get("cache") is not True:
        where = ("litellm_settings", "cache_params")
        yield Note("L304", where, "cache_params without cache: true caches nothing", error=False, at_key=True)


def _strings(value: Any, env: Mapping[str, str] | None, path: KeyPath = ()) -> Iterator[Note]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, env, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, env, (*path, index))
    elif isinstance(value, str):
        yield from _string(value, env, path)


def _string(text: str, env: Mapping[str, str] | None, path: KeyPath) -> Iterator[Note]:
    found = _ENV.fullmatch(text)
    if found is not None:
        if env is not None and not env.get(found[1]):
            yield Note("L401", path, f"the variable {found[1]} is not set", help=f"export {found[1]}=…")
    elif "os.environ/" in text:
        yield Note("L402", path, "os.environ/NAME is replaced only where it is the whole value")
    elif re.fullmatch(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|os\.environ[\[.(].*", text):
        name = re.sub(r"^os\.environ\W*|\W", "", text)
        yield Note("L402", path, "this form of a variable is not replaced", help=f"write os.environ/{name}")
    elif _in_the_clear(text, path):
        message = f"{dotted(path)} holds a credential in the clear"
        yield Note("L403", path, message, help="os.environ/NAME", error=False)


def _in_the_clear(text: str, path: KeyPath) -> bool:
    if path[-1:] == ("master_key",):
        return bool(text)
    if _NO_SECRET.fullmatch(text):
        return False
    return looks_like_secret(text) or (bool(path) and path[-1] in _SECRET_KEYS)
