"""Which level uses which rule. A level's version is part of every key it makes: raise it when a rule changes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from edgeinf.core.normalize import (
    closing,
    fences,
    lead,
    line_ends,
    lower_case,
    request_ids,
    spaces,
    timestamps,
    typography,
    unicode_nfc,
    uuids,
    width,
    zero_width,
)
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.passage import Passage

__all__ = ["DEFAULT_LEVEL", "DEFAULT_MASK", "LEVELS", "MASK_KINDS", "Level", "level"]

DEFAULT_LEVEL = "safe"
DEFAULT_MASK = ("timestamps", "request-ids")

_MASKS: dict[str, Rule] = {rule.name: rule for rule in (timestamps.RULE, uuids.RULE, request_ids.RULE)}
# What ``cache.mask`` takes: a kind masks system and developer messages and tool descriptions; with ``user:`` before
# it, user turns too.
MASK_KINDS = (*_MASKS, *(f"user:{kind}" for kind in _MASKS))

_NOTHING = Passage()
_ROUNDS = 4


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A way to look at a request: what it does to each kind of text."""

    name: str
    version: int
    user: Passage = _NOTHING
    system: Passage = _NOTHING
    descriptions: Passage = _NOTHING
    keep_properties_order: bool = True
    tag: str = ""  # the name that enters the key: with other masks than the default it is another level
    mask: tuple[str, ...] = ()  # the kinds masked, sorted; only at ``masked``

    @property
    def identity(self) -> bool:
        """Return whether this level leaves every text as it is."""
        return not self.user.text

    def content(self, role: str, content: Any) -> Any:
        """Return a message's content in normal form; parts other than text stay as they are.

        Roles: system, developer, user. A code fence that one part opens goes on in the next.
        """
        if self.identity:
            return content
        passage = self.user if role == "user" else self.system
        if isinstance(content, str):
            return passage.normal(content)
        if not isinstance(content, list) or not content:
            return content
        if len(content) == 1 and _is_plain_text(content[0]):
            return passage.normal(content[0]["text"])
        last = len(content) - 1
        fence = ""
        done = []
        for number, part in enumerate(content):
            if _is_text(part):
                text = part["text"]
                done.append({**part, "text": passage.normal(text, first=not number, last=number == last, fence=fence)})
                fence = fences.split_from(text, fence)[1]
            else:
                done.append(part)
        return done

    def tools(self, tools: Any) -> Any:
        """Return tool definitions in normal form: only their descriptions, and those only at ``masked``."""
        if not self.descriptions.text or not isinstance(tools, list):
            return tools
        return [self._tool(tool) for tool in tools]

    def _tool(self, tool: Any) -> Any:
        if not isinstance(tool, dict):
            return tool
        done = dict(tool)
        if isinstance(tool.get("description"), str):
            done["description"] = self.descriptions.normal(tool["description"], first=False, last=False)
        if isinstance(tool.get("function"), dict):
            done["function"] = self._tool(tool["function"])
        return done


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str)


def _is_plain_text(part: Any) -> bool:
    return _is_text(part) and len(part) == 2


_SAFE = (line_ends.RULE, unicode_nfc.RULE)
_LOOSE = (zero_width.RULE, width.RULE, typography.RULE, lower_case.RULE, spaces.RULE)


def _loose(*masks: Rule) -> Passage:
    return Passage(text=(*_SAFE, *masks, *_LOOSE), opening=(lead.RULE,), ending=(closing.RULE,), rounds=_ROUNDS)


def _masked(kinds: tuple[str, ...]) -> Level:
    user = [rule for kind, rule in _MASKS.items() if f"user:{kind}" in kinds]
    system = [rule for kind, rule in _MASKS.items() if kind in kinds]
    return Level(
        name="masked",
        version=1,
        tag="masked" if kinds == _sorted(DEFAULT_MASK) else f"masked:{','.join(kinds) or 'none'}",
        user=_loose(*user),
        system=_loose(*system),
        descriptions=Passage(text=tuple(system)),
        keep_properties_order=False,
        mask=kinds,
    )


def _sorted(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds in one order, each once; what is masked in user turns is masked everywhere."""
    return tuple(sorted({*kinds, *(kind.removeprefix("user:") for kind in kinds)}))


LEVELS: dict[str, Level] = {
    "exact": Level(name="exact", version=1, tag="exact"),
    "safe": Level(name="safe", version=1, tag="safe", user=Passage(text=_SAFE), system=Passage(text=_SAFE)),
    "loose": Level(name="loose", version=1, tag="loose", user=_loose(), system=_loose(), keep_properties_order=False),
    "masked": _masked(_sorted(DEFAULT_MASK)),
}


@lru_cache(maxsize=64)
def level(name: str, mask: tuple[str, ...] = DEFAULT_MASK) -> Level:
    """Return a level by name; ``mask`` matters to ``masked`` only. Raise KeyError on an unknown name or kind."""
    unknown = set(mask).difference(MASK_KINDS)
    if unknown:
        raise KeyError(f"unknown kind of mask {min(unknown)!r}: one of {', '.join(MASK_KINDS)}")
    kinds = _sorted(mask)
    return LEVELS[name] if name != "masked" or kinds == _sorted(DEFAULT_MASK) else _masked(kinds)
