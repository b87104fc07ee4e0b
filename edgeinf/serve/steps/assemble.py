"""The effective prompt: what the config's rules add. It is what is keyed, so that nothing added can be forgotten."""

from __future__ import annotations

import msgspec

from edgeinf.core.dialects.prompt_text import ADDABLE, add_messages, question
from edgeinf.serve.assembly import Assembler, digest
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.client import Client

__all__ = ["assemble"]


# What frames a message that is added, in tokens, at the most.
_FRAME = 8


async def assemble(x: Exchange, assembler: Assembler, client: Client) -> None:
    """Add to the call what its rules say, the first rule outermost. Raise CallError 400 where that cannot be.

    ``client`` reaches the region that embeds questions, where the config has one for that.
    """
    assert x.call is not None
    if x.call.dialect not in ADDABLE:
        return
    before: list[tuple[str, str]] = []
    after: list[tuple[str, str]] = []
    for addition in assembler.additions:
        if not addition.matches(x):
            continue
        before += [template.filled(x) for template in addition.prepend]
        if addition.context is not None:
            found = await addition.context.context_for(question(x.call.body), client)
            if found.text:
                before.append((addition.context.role, found.text))
            if not found.settled:
                x.memo_name = None  # the same bytes may find more as soon as the region answers again
        after = [*(template.filled(x) for template in addition.append), *after]
    if not before and not after:
        return
    body = add_messages(x.call.dialect, x.call.body, before, after)
    x.call = msgspec.structs.replace(x.call, body=body)
    x.rewritten = True
    added = (*before, *after)
    x.added = sum([len(text.encode()) + _FRAME for _, text in added])
    x.prompt = digest(added)
