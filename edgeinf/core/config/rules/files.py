"""Files that the config names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]

_MOST = 16_384  # no credential is longer


def _named(facts: Facts) -> Iterator[tuple[KeyPath, Path, bool]]:
    """Yield (path in the config, file, whether it may be a directory)."""
    tls = facts.config.listen.tls
    if tls is not None:
        yield ("listen", "tls", "cert"), tls.cert, False
        yield ("listen", "tls", "key"), tls.key, False
    for path, region in facts.items("regions"):
        if region.api_key_file is not None:
            yield (*path, "api_key_file"), region.api_key_file, False
    for path, rule in facts.items("prompt"):
        for part in ("prepend", "append"):
            for message_path, message in facts.below(path, getattr(rule, part), part):
                if message.content_file is not None:
                    yield (*message_path, "content_file"), message.content_file, False
        if rule.context is not None:
            yield (*path, "context", "source"), rule.context.source, True


def _missing(facts: Facts) -> Iterator[Finding]:
    for path, file, may_be_directory in _named(facts):
        if not facts.certain(path) or path in facts.assumed:
            continue
        try:
            problem = _problem(file, may_be_directory)
        except OSError as error:
            problem = (error.strerror or "cannot be read").lower()
        if problem:
            yield Finding(path=path, message=f"{file}: {problem}", help="relative paths start at the config file")


def _no_credential(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        here = (*path, "api_key_file")
        if region.api_key_file is None or not facts.certain(here) or here in facts.assumed:
            continue
        try:
            text = region.api_key_file.read_bytes()[:_MOST].decode("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError):
                continue  # the rule above says so
            text = ""
        if not text or not text.isprintable() or " " in text:
            yield Finding(
                path=here,
                message=f"{region.api_key_file} does not hold one credential",
                help="write the credential into it, on one line and nothing else",
            )


def _problem(file: Path, may_be_directory: bool) -> str | None:
    if not file.exists():
        return "there is no such file"
    if file.is_dir() and not may_be_directory:
        return "this is a directory, not a file"
    return None if os.access(file, os.R_OK) else "this user may not read it"


RULES = (
    Rule(
        code="E351",
        severity="error",
        title="a file that cannot be read",
        why="It would fail at the first call that needs it.",
        example="regions: [{name: a, url: https://a.example.com, api_key_file: kye.txt}]",
        instead="regions: [{name: a, url: https://a.example.com, api_key_file: key.txt}]",
        check=_missing,
    ),
    Rule(
        code="E352",
        severity="error",
        title="a credential file without a credential",
        why="What is in it would be sent as a header; several lines are not one.",
        example="regions: [{name: a, url: https://a.example.com, api_key_file: notes.txt}]",
        instead="regions: [{name: a, url: https://a.example.com, api_key_file: key.txt}]",
        check=_no_credential,
    ),
)
