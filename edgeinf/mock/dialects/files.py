"""Files and batches: what an account holds at its origin."""

from __future__ import annotations

import hashlib
from typing import Any

from edgeinf.mock.dialects.base import Memory, openai_error, whole_plan
from edgeinf.mock.dialects.multipart import read_form
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Keep, list, show and delete files; start and show batches."""
    kind = "batches" if "/batches" in ask.path else "files"
    identity, _, action = ask.path.partition(f"/{kind}")[2].strip("/").partition("/")
    if not identity:
        if ask.method == "POST":
            return whole_plan(_upload(ask, memory) if kind == "files" else _batch(ask, memory))
        rows = [_file(i, memory.files[i]) for i in memory.files] if kind == "files" else [*memory.batches.values()]
        return whole_plan({"object": "list", "data": rows, "has_more": False})
    if kind == "batches" and identity in memory.batches:
        batch = memory.batches[identity]
        batch["status"] = "cancelled" if action == "cancel" else "completed"
        return whole_plan(batch)
    if identity not in memory.files:
        body = error(404, f"no such {kind} object: {identity}", "invalid_request_error")
        return Plan(pieces=(Piece(Kind.WHOLE, body),), status=404)
    if ask.method == "DELETE":
        del memory.files[identity]
        return whole_plan({"id": identity, "object": "file", "deleted": True})
    if action == "content":
        data = memory.files[identity]
        return Plan(pieces=(Piece(Kind.WHOLE, data),), content_type="application/octet-stream")
    return whole_plan(_file(identity, memory.files[identity]))


def _upload(ask: Ask, memory: Memory) -> dict[str, Any]:
    form = read_form(ask)
    data = form.file if form is not None and form.file is not None else ask.body
    identity = "file-" + hashlib.blake2b(data, digest_size=8).hexdigest()
    memory.files[identity] = data
    return {**_file(identity, data), "filename": form.filename if form is not None else ""}


def _file(identity: str, data: bytes) -> dict[str, Any]:
    return {"id": identity, "object": "file", "bytes": len(data), "created_at": 1_700_000_000, "purpose": "batch"}


def _batch(ask: Ask, memory: Memory) -> dict[str, Any]:
    batch = {
        "id": f"batch_{ask.identity}",
        "object": "batch",
        "endpoint": ask.field("endpoint", ""),
        "input_file_id": ask.field("input_file_id", ""),
        "status": "validating",
        "created_at": ask.created,
    }
    memory.batches[batch["id"]] = batch
    return dict(batch)
