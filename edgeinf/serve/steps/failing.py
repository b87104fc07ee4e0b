"""An attempt that failed, in the words of the config and in words for people."""

from __future__ import annotations

from edgeinf.core.dialects.base import Verdict
from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import ConnectFailed, OriginFailure
from edgeinf.serve.origin.region import Origin

__all__ = ["AttemptFailed", "Beaten", "bad_answer", "lost", "redirected", "soft_error", "timed_out"]


class AttemptFailed(Exception):
    """One attempt at one origin did not bring an answer, and nothing of it was passed on.

    ``cause`` is the word that ``routing.failover.retry_on`` takes: connect, timeout, a status, bad-answer.
    ``elsewhere`` says that this region cannot serve the call at all, though nothing is wrong with it.
    """

    def __init__(
        self,
        cause: str,
        error: CallError,
        *,
        headers: Headers | None = None,
        body: bytes = b"",
        elsewhere: bool = False,
    ) -> None:
        super().__init__(error.message)
        self.cause = cause
        self.error = error
        self.headers = headers or []
        self.body = body
        self.elsewhere = elsewhere


class Beaten(Exception):
    """Another attempt at the same call has answered first."""


def lost(origin: Origin, error: OriginFailure) -> AttemptFailed:
    """The connection did not come about, or ended before the answer."""
    cause = "connect" if isinstance(error, ConnectFailed) else "bad-answer"
    code = "origin_unreachable" if cause == "connect" else "origin_cut"
    return AttemptFailed(cause, CallError(f"region {origin.name!r}: {error}", status=502, code=code))


def timed_out(origin: Origin, what: str) -> AttemptFailed:
    """It took too long."""
    return AttemptFailed("timeout", CallError(f"region {origin.name!r}: {what}", status=504, code="origin_timeout"))


def bad_answer(origin: Origin, what: str) -> AttemptFailed:
    """What came is no answer."""
    return AttemptFailed("bad-answer", CallError(f"region {origin.name!r}: {what}", status=502, code="origin_bad"))


def redirected(origin: Origin, status: int) -> AttemptFailed:
    """A redirect came, which could carry a credential elsewhere."""
    error = CallError(
        f"region {origin.name!r} answered {status}, a redirect, which is never followed with a credential",
        status=502,
        code="origin_redirect",
        hint="set the region's url to where it points",
    )
    return AttemptFailed("bad-answer", error)


def soft_error(origin: Origin, verdict: Verdict, body: bytes) -> AttemptFailed:
    """A 200 came with an error inside."""
    inside = verdict.error or {}
    said = inside.get("message") or inside.get("type") or "an error"
    error = CallError(
        f"region {origin.name!r} answered 200 with an error inside: {said}", status=502, code="origin_soft_error"
    )
    return AttemptFailed("bad-answer", error, body=body)
