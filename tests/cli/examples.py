"""The examples that a command's help begins with."""

from __future__ import annotations

import importlib
import inspect
import shlex

__all__ = ["examples"]


def examples(name: str) -> list[list[str]]:
    """Return the commands in a command's docstring, as arguments."""
    command = getattr(importlib.import_module(f"edgeinf.cli.{name}"), name)
    lines = (line.strip() for line in inspect.getdoc(command).splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("edgeinf ")]
