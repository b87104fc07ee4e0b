"""``edgeinf demo``: everything at once on this machine, without a key or a network."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from edgeinf.core.config.schema import Region

__all__ = ["app", "demo_regions"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

# name, place, time to first token: what a client in Frankfurt sees of three regions.
_REGIONS = (
    ("frankfurt", "eu-central-1", "60ms"),
    ("virginia", "us-east-1", "160ms"),
    ("singapore", "ap-southeast-1", "240ms"),
)


def demo_regions(stack: ExitStack) -> tuple[Region, ...]:
    """Start the scripted regions on threads, to be ended by ``stack``, and return them as the config has regions."""
    from edgeinf.core.config.schema import Region
    from edgeinf.mock import ThreadedOrigin

    regions = []
    for name, location, ttft in _REGIONS:
        script: dict[str, Any] = {"name": name, "ttft": ttft, "tpot": "2ms", "answer": {"tokens": 24}}
        origin = stack.enter_context(ThreadedOrigin(script))
        families: Any = ("openai", "anthropic", "rerank")
        regions.append(Region(name=name, url=origin.url, passthrough=True, location=location, serves=families))
    return tuple(regions)
