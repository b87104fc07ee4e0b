"""The installation's secret: names events and seeds keys; made once, readable by its owner only."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from pathlib import Path

from edgeinf.core.config.schema import Config

__all__ = ["event_secret"]

_log = logging.getLogger("edgeinf.serve")


def event_secret(config: Config) -> bytes:
    """Return 32 bytes: from ``events.key_secret``, else kept beside the events, else for this process only."""
    configured = config.events.key_secret
    if configured is not None:
        return hashlib.blake2b(configured.get_secret_value().encode(), digest_size=32).digest()
    folder = config.events.file.parent if config.events.file is not None else None
    if folder is None and config.cache.disk is not None:
        folder = config.cache.disk.path
    if folder is None:
        return secrets.token_bytes(32)
    try:
        return _kept(folder / "key_secret")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        _log.warning("the secret in %s cannot be kept: %s; this process makes one up", folder / "key_secret", why)
        return secrets.token_bytes(32)


def _kept(path: Path) -> bytes:
    """Return the secret in a file, making the file where there is none; safe when several processes start at once."""
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process made it first
    finally:
        fresh.unlink()
    return _read(path)


def _read(path: Path) -> bytes:
    kept = path.read_bytes()
    if len(kept) != 32:
        raise OSError("not a secret of edgeinf")
    return kept
