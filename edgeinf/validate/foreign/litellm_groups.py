"""Model groups of a LiteLLM config: fallbacks, aliases, and deployments that are one and the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.validate.foreign.note import Note, at, list_of, mapping

__all__ = ["fallback_links", "group_faults"]

_LISTS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks")


def group_faults(tree: Mapping[str, Any]) -> Iterator[Note]:
    """Yield what is wrong between groups."""
    names = _names(tree)
    if names is None:
        return
    aliases = {**mapping(at(tree, "router_settings", "model_group_alias"))}
    known = [*names, *aliases]
    yield from _fallbacks(tree, known)
    yield from _circles(tree)
    yield from _aliases(tree, names)
    yield from _same(tree)


def _names(tree: Mapping[str, Any]) -> list[str] | None:
    found = []
    for _, entry in list_of(tree.get("model_list"), ()):
        name = mapping(entry).get("model_name")
        if not isinstance(name, str):
            return None
        found.append(name)
    return found or None


def _is_known(name: str, known: list[str]) -> bool:
    return any(name == one or ("*" in one and fnmatchcase(name, one)) for one in known)


def fallback_links(tree: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Yield (path, list, from, to) for every fallback that is written as it should be."""
    for section in ("litellm_settings", "router_settings"):
        for name in _LISTS:
            for path, item in list_of(at(tree, section, name), (section, name)):
                for source, targets in mapping(item).items():
                    for where, target in list_of(targets, (*path, source)):
                        if isinstance(target, str):
                            yield where, name, source, target


def _fallbacks(tree: Mapping[str, Any], known: list[str]) -> Iterator[Note]:
    for section in ("litellm_settings", "router_settings"):
        for name in _LISTS:
            value = at(tree, section, name)
            if value is not None and not isinstance(value, list):
                message = f"{name} must be a list of mappings: [{{model: [other]}}]"
                yield Note("L501", (section, name), message, at_key=True)
            for path, item in list_of(value, (section, name)):
                if not isinstance(item, dict) or not all(isinstance(to, list) for to in item.values()):
                    yield Note("L501", path, "a fallback is a mapping from a model to a list: {model: [other]}")
    seen: set[KeyPath] = set()
    for path, _, source, target in fallback_links(tree):
        parent = path[:-1]
        if parent not in seen and not _is_known(source, known):
            yield _unknown(parent, source, known, at_key=True)
        seen.add(parent)
        if not _is_known(target, known):
            yield _unknown(path, target, known)
        elif source == target:
            yield Note("L503", path, f"the model {target!r} falls back to itself")


def _unknown(path: KeyPath, name: str, known: list[str], *, at_key: bool = False) -> Note:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return Note(
        "L502",
        path,
        f"there is no model {name!r} in model_list",
        label=f'did you mean "{near[0]}"?' if near else None,
        help=f"models: {', '.join(dict.fromkeys(known[:8]))}",
        at_key=at_key,
    )


def _circles(tree: Mapping[str, Any]) -> Iterator[Note]:
    links: dict[tuple[str, str], list[tuple[str, KeyPath]]] = {}
    for path, name, source, target in fallback_links(tree):
        if source != target:
            links.setdefault((name, source), []).append((target, path))
    for (name, start), first in links.items():
        todo, seen = list(first), {start}
        while todo:
            target, path = todo.pop()
            if target == start:
                if path[:-1] == first[0][1][:-1] or start <= min(seen):  # one report per circle
                    yield Note("L504", path, f"fallbacks go in a circle through {start!r}", error=False)
                break
            if target not in seen:
                seen.add(target)
                todo += links.get((name, target), [])


def _aliases(tree: Mapping[str, Any], names: list[str]) -> Iterator[Note]:
    path: KeyPath = ("router_settings", "model_group_alias")
    for alias, target in mapping(at(tree, *[str(p) for p in path])).items():
        goal = mapping(target).get("model") if isinstance(target, dict) else target
        if isinstance(goal, str) and not _is_known(goal, names):
            yield _unknown((*path, alias), goal, names)
        if alias in names:
            yield Note(
                "L505", (*path, alias), f"the alias {alias!r} hides the model of that name", error=False, at_key=True
            )


def _same(tree: Mapping[str, Any]) -> Iterator[Note]:
    seen: dict[str, KeyPath] = {}
    for path, entry in list_of(tree.get("model_list"), ("model_list",)):
        params = mapping(mapping(entry).get("litellm_params"))
        what = repr((mapping(entry).get("model_name"), sorted(params.items(), key=str)))
        if params and what in seen:
            yield Note(
                "L506",
                path,
                "this deployment is an earlier one again: balancing between them changes nothing",
                related=(("the same is here", seen[what]),),
                error=False,
                at_key=True,
            )
        seen.setdefault(what, path)
