"""From the command's flags to scripts."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeinf.core.errors import UsageError
from edgeinf.mock.faults.table import FAULTS
from edgeinf.mock.load import read_document
from edgeinf.mock.regions import load_regions
from edgeinf.mock.script import Script

__all__ = ["describe_faults", "read_command"]


def read_command(
    path: Path | None, flags: Mapping[str, Any], faults: Sequence[str], *, port: int
) -> list[tuple[Script, int]]:
    """Return each region's script and port. Flags hold over the file; faults are added to its rules."""
    document: dict[str, Any] = read_document(path) if path is not None else {}
    given = {name: value for name, value in flags.items() if value is not None}
    tokens = given.pop("tokens", None)
    document = {**document, **given}
    if tokens is not None:
        document["answer"] = {**document.get("answer", {}), "tokens": tokens}
    if faults:
        document["rules"] = [*document.get("rules", ()), *map(_rule, faults)]
    return load_regions(document, port=port)


def _rule(text: str) -> dict[str, Any]:
    """Read ``KIND:RATE``; without a rate the fault is in every answer."""
    head, colon, rate = text.rpartition(":")
    if not colon:
        return {"fault": text}
    if not rate or not (rate[0].isdigit() or rate[0] == "."):
        raise UsageError(f"--fault {text!r} has no rate after the colon", hint="write it as cut:10% or 429:0.05")
    return {"when": {"rate": rate}, "fault": head}


def describe_faults() -> str:
    """Return a line for each kind of fault, with its arguments and their defaults."""
    lines = ["400 to 599: an error status; the arguments of status"]
    for kind, function in FAULTS.items():
        about = (inspect.getdoc(function) or "").splitlines()[0].rstrip(".")
        parameters = inspect.signature(function).parameters.values()
        options = [_option(p) for p in parameters if p.kind is p.KEYWORD_ONLY]
        lines.append(f"{kind}{''.join(f';{o}' for o in options)}: {about[:1].lower()}{about[1:]}")
    return "\n".join(lines)


def _option(parameter: inspect.Parameter) -> str:
    name = parameter.name.removesuffix("_s").replace("_", "-")
    if parameter.default in (parameter.empty, None, "") or parameter.default == -1:
        return f"{name}=…"
    unit = "s" if parameter.name.endswith("_s") else ""
    default = str(parameter.default).lower() if isinstance(parameter.default, bool) else f"{parameter.default}{unit}"
    return f"{name}={default}"
