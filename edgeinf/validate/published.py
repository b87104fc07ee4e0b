"""The JSON Schema that editors read: what pydantic draws, with variables allowed wherever a scalar stands."""

from __future__ import annotations

import json
from typing import Any

from edgeinf.core.config.check import json_schema
from edgeinf.validate.words import WORDS

__all__ = ["URL", "published", "text"]

URL = "https://edgeinf.dev/edgeinf.schema.json"
_VARIABLE = {
    "type": "string",
    "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:?[-?].*)?\}",
    "description": "a variable: ${NAME}, ${NAME:-default}, ${NAME:?message}",
}


def published() -> dict[str, Any]:
    """Return the schema."""
    drawn = json_schema()
    definitions = drawn.pop("$defs", {})
    made = _walk(drawn)
    made["$defs"] = {name: _walk(definition) for name, definition in definitions.items()} | {"variable": _VARIABLE}
    made.pop("title", None)
    _describe("Config", made)
    for name, definition in made["$defs"].items():
        _describe(name, definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": URL,
        "title": "edgeinf.yaml",
        **made,
    }


def text() -> str:
    """Return the schema as the published file has it."""
    return json.dumps(published(), indent=2, ensure_ascii=False) + "\n"


def _describe(section: str, definition: dict[str, Any]) -> None:
    for key, child in definition.get("properties", {}).items():
        if f"{section}.{key}" in WORDS:
            child["description"] = WORDS[f"{section}.{key}"]


def _walk(node: Any) -> Any:
    if isinstance(node, list):
        return [_walk(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "oneOf" in node and "discriminator" in node:  # ByShape: a scalar or a mapping
        node = {"anyOf": node["oneOf"], **{k: v for k, v in node.items() if k not in ("oneOf", "discriminator")}}
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            out[key] = {name: _property(child) for name, child in value.items()}
        elif key in ("default", "enum", "const", "required", "description", "title", "pattern"):
            out[key] = value
        else:
            out[key] = _walk(value)
    return _or_variable(out)


def _property(child: Any) -> Any:
    made = _walk(child)
    if isinstance(made, dict):
        made.pop("title", None)  # pydantic's titles repeat the key
        if isinstance(made.get("default"), str) and made["default"].startswith(("/", "~")):
            made.pop("default")  # a path of the machine that drew the schema
    return made


def _or_variable(node: dict[str, Any]) -> dict[str, Any]:
    """Allow ``${NAME}`` where a scalar with a form of its own stands."""
    shaped = node.get("type") in ("integer", "number", "boolean") or (
        "pattern" in node and node.get("type") == "string"
    )
    if not (shaped or "enum" in node or "const" in node):
        return node
    notes: dict[str, Any] = {key: node[key] for key in ("default", "description", "title") if key in node}
    rest = {key: value for key, value in node.items() if key not in notes}
    return {"anyOf": [rest, {"$ref": "#/$defs/variable"}], **notes}
