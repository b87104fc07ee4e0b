"""Programs from the system's packages that some tests run for real."""

from __future__ import annotations

import shutil

import pytest

__all__ = ["need"]


def need(name: str) -> str:
    """Return the path of a program, or skip the test saying which package is missing."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/bin")
    if path is None:
        pytest.skip(f"needs the program {name}")
    return path
