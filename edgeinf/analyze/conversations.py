"""Data sets of conversations: ShareGPT, LMSYS-Chat-1M, WildChat. Each user turn becomes a request with its history."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.record import CHAT, Record

__all__ = ["turns"]

_ROLES = {"human": "user", "gpt": "assistant", "bing": "assistant", "chatgpt": "assistant", "user": "user",
          "assistant": "assistant", "system": "system"}  # fmt: skip


def turns(
    said: Any, *, model: str | None, session: str | None, at: float | None = None, user: str | None = None
) -> list[Record]:
    """Return one request per user turn, with everything that was said before it.

    Only the conversation's last turn has the time, if there is one: it is the only one that such data state.
    """
    history: list[dict[str, str]] = []
    found: list[Record] = []
    for turn in said if isinstance(said, list) else ():
        if not isinstance(turn, dict):
            continue
        role = _ROLES.get(str(turn.get("role") or turn.get("from")), "user")
        content = turn.get("content", turn.get("value"))
        content = content if isinstance(content, str) else ""
        if role == "assistant" and found and found[-1].answer is None:
            found[-1].answer = content
        history.append({"role": role, "content": content})
        if role == "user":
            request = {"model": model or "unknown", "messages": list(history)}
            found.append(Record(user=user, session=session, model=model, path=CHAT, request=request))
    if found:
        found[-1].at = at
    return found
