"""Keep secrets out of everything that is printed, logged or stored.

One function, :func:`redact`, through which every error, diagnostic and log line goes. The forms are those
that providers publish for their keys; a bearer token or a credential in a URL is cut whatever its form.
"""

from __future__ import annotations

import re

__all__ = ["KEY_FORMS", "MASK", "looks_like_secret", "redact", "redact_in_place"]

MASK = "***"

# Provider prefixes: OpenAI and Anthropic sk-, Groq gsk_, Google AIza, GitHub ghp_/github_pat_, Hugging Face hf_,
# AWS AKIA, Slack xox?-, Replicate r8_, xAI xai-, NVIDIA nvapi-, Perplexity pplx-, edgeinf's own ek-.
KEY_FORMS = (
    r"sk-[A-Za-z0-9_-]{8,}|gsk_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|hf_[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{12,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|r8_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,}|nvapi-[A-Za-z0-9_-]{16,}|pplx-[A-Za-z0-9]{16,}"
    r"|ek-[A-Za-z0-9_-]{16,}"
)
# A form as particular as these is a key also where it is glued to a word.
_GLUED_FORMS = r"sk-(?:proj|ant|svcacct|or-v1)-[A-Za-z0-9_-]{16,}"
_SECRET = re.compile(rf"(?<![A-Za-z0-9])(?:{KEY_FORMS})|{_GLUED_FORMS}")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}")
_USERINFO = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(@)")
_LABELLED = re.compile(
    r"(?i)((?:x-api-key|api[-_ ]?key|authorization|password|passwd|client_secret)[\"']?\s*[:=]\s*[\"']?)"
    r"(?!bearer\b)[^\s\"',;}{$*]{6,}"
)


def redact(text: str) -> str:
    """Return ``text`` with every credential in it replaced by ``***``. Idempotent."""
    text = _BEARER.sub(rf"\g<1>{MASK}", text)
    text = _USERINFO.sub(rf"\g<1>{MASK}\g<2>", text)
    text = _LABELLED.sub(rf"\g<1>{MASK}", text)
    return _SECRET.sub(MASK, text)


def redact_in_place(text: str) -> str:
    """Return ``text`` with every credential in it overwritten by as many ``*``, so that columns stay where they are."""

    def starred(found: re.Match[str]) -> str:
        groups = found.groups()
        head, tail = (groups[0], groups[1] if len(groups) > 1 else "") if groups else ("", "")
        return head + "*" * (len(found[0]) - len(head) - len(tail)) + tail

    for pattern in (_BEARER, _USERINFO, _LABELLED, _SECRET):
        text = pattern.sub(starred, text)
    return text


def looks_like_secret(value: str) -> bool:
    """Return whether ``value`` has the form of a provider's key."""
    return _SECRET.fullmatch(value.strip()) is not None
