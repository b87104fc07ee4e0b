"""Beside the calls: documents embedded as they change. It follows a reload, looking at the generation each second."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["tend_documents"]

_log = logging.getLogger("edgeinf.context")

_TICK_S = 1.0


async def tend_documents(runtime: Runtime) -> None:
    """Have documents embedded for ever."""
    while True:
        assembler = runtime.generation.assembler
        if assembler is not None:
            try:
                await assembler.tend(runtime.client)
            except Exception:
                _log.exception("a bug while embedding documents")
        await asyncio.sleep(_TICK_S)
