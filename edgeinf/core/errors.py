"""The error tree. Each class knows its exit code and may carry a hint.

::

    EdgeinfError              3   a bug in edgeinf, unless a subclass says otherwise
    ├── UsageError            2   wrong usage, unreadable input
    │   └── ConfigError       2   a config that ``serve`` refuses (``validate`` exits 1 for its findings)
    ├── FindingError          1   ran fine and found something
    │   └── InconclusiveError 4   a gate with too few samples
    ├── RemoteError           5   a remote that is needed was unreachable or refused
    └── CallError             2   one request that cannot be served, with the HTTP status to answer
"""

from __future__ import annotations

__all__ = [
    "CallError",
    "ConfigError",
    "EdgeinfError",
    "FindingError",
    "InconclusiveError",
    "RemoteError",
    "UsageError",
    "again",
]


class EdgeinfError(Exception):
    """An error to show to a person: what happened (where), and what to do about it."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(EdgeinfError):
    """The command was called wrongly or an input cannot be read."""

    exit_code = 2


class ConfigError(UsageError):
    """The config cannot be used; ``diagnostics`` holds every fault that was found."""

    def __init__(self, message: str, *, hint: str | None = None, diagnostics: tuple[object, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.diagnostics = diagnostics


class FindingError(EdgeinfError):
    """The command ran and what it found is a failure by the user's own rule."""

    exit_code = 1


class InconclusiveError(FindingError):
    """There are too few samples for a verdict."""

    exit_code = 4


class RemoteError(EdgeinfError):
    """A remote that is needed was unreachable or refused."""

    exit_code = 5


class CallError(EdgeinfError):
    """A request that cannot be served: ``status`` is the HTTP status, ``code`` a stable name for scripts."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str = "invalid_request",
        param: str | None = None,
        hint: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.param = param
        self.headers = headers


def again(error: CallError) -> CallError:
    """Return a fresh copy of an error that was kept: raising the kept one would gather every caller's traceback."""
    return CallError(
        error.message,
        status=error.status,
        code=error.code,
        param=error.param,
        hint=error.hint,
        headers=error.headers,
    )
