"""The forms of output by name."""

from __future__ import annotations

from collections.abc import Callable

from edgeinf.validate.render import concise, github, gitlab, json, junit, sarif, text
from edgeinf.validate.report import Report

__all__ = ["FORMATS"]

FORMATS: dict[str, Callable[[Report], str]] = {
    "text": text.render,
    "concise": concise.render,
    "json": json.render,
    "github": github.render,
    "sarif": sarif.render,
    "junit": junit.render,
    "gitlab": gitlab.render,
}
