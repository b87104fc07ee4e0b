"""Tools that the origin itself runs: their answers hang on live data or have side effects, so such calls bypass.

A tool of a type that nobody here knows may be one of them, so it bypasses too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from edgeinf.core.dialects.base import as_object
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["hosted_tools", "live_model", "live_search"]

# Tools that the client runs, by the start of their type; a tool without a type is the client's own.
_CLIENTS = ("function", "custom", "bash_", "text_editor", "memory_", "apply_patch", "namespace", "additional_tools")
# Tools that the origin runs, by what their type contains, and the reason under which they bypass.
_HOSTED = (
    ("web_search", "web-search"),
    ("browser_search", "web-search"),
    ("browser", "computer-use"),
    ("live_search", "web-search"),
    ("x_search", "web-search"),
    ("google_search", "web-search"),
    ("web_fetch", "web-fetch"),
    ("url_context", "web-fetch"),
    ("tool_search", "tool-search"),
    ("file_search", "file-search"),
    ("collections_search", "file-search"),
    ("code_interpreter", "code-execution"),
    ("code_execution", "code-execution"),
    ("programmatic_tool_calling", "code-execution"),
    ("computer", "computer-use"),
    ("image_generation", "image-generation"),
    ("advisor", "advisor"),
    ("mcp", "mcp"),
    ("shell", "shell"),
)
_SEARCHING = ("-search-preview", "-search-api")


def hosted_tools(tools: Any) -> list[str]:
    """Return why these tools make a call bypass, each reason once, in order."""
    reasons: list[str] = []
    for tool in tools if isinstance(tools, list) else ():
        tool = as_object(tool)
        kind = tool.get("type")
        if isinstance(kind, str) and not kind.startswith(_CLIENTS):
            reasons.append(next((reason for part, reason in _HOSTED if part in kind), "hosted-tool"))
        # a function whose name begins with $ is the provider's own
        if str(as_object(tool.get("function")).get("name", "")).startswith("$"):
            reasons.append("hosted-tool")
        if isinstance(tool.get("tools"), list):
            reasons += hosted_tools(tool["tools"])
    return list(dict.fromkeys(reasons))


@lru_cache(maxsize=1024)
def live_model(model: str) -> bool:
    """Return whether a model searches the web by its name alone."""
    own = model.split("/")[-1]
    return own.endswith(":online") or any(part in own for part in _SEARCHING) or own.startswith(("sonar", "compound"))


def live_search(body: JsonObject) -> bool:
    """Return whether a field of a call turns a search of the web on."""
    return "web_search_options" in body or bool(body.get("enable_search"))
