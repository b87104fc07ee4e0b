"""The forms of output by name; each is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from edgeinf.validate.report import Report

__all__ = ["FORMATS", "renderer"]

FORMATS = ("text", "concise", "json", "github", "sarif", "junit", "gitlab")


def renderer(name: str) -> Callable[[Report], str]:
    """Return the function that writes a report in the form ``name``, one of FORMATS."""
    return cast(Callable[[Report], str], importlib.import_module(f"edgeinf.validate.render.{name}").render)
