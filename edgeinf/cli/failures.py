"""Turn what a command raises into a message and an exit code, in one place."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgeinf.cli import output
from edgeinf.core.errors import EdgeinfError

__all__ = ["Outcome", "Terminated", "translated"]


# Where output goes, there is no room for it.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Terminated(BaseException):
    """SIGTERM arrived; raised by commands that install a handler to leave nothing behind."""


_SIGNALS: dict[type[BaseException], signal.Signals] = {
    KeyboardInterrupt: signal.SIGINT,
    Terminated: signal.SIGTERM,
}
_AGAIN_S = 0.02


class Outcome:
    """The exit code a command ends with."""

    def __init__(self) -> None:
        self.code = 0


@contextmanager
def translated() -> Iterator[Outcome]:
    """Run the body; print its failure as ``error:`` and ``hint:`` and record the exit code."""
    outcome = Outcome()
    before = sys.unraisablehook
    sys.unraisablehook = _hearing(before)
    if sys.stdout is None:  # the caller has closed it
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        yield outcome
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except SystemExit as leaving:
        # The argument parser's own way of ending when the pipe is closed, with a code that would say "found something".
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        _silence_stdout()
    except (KeyboardInterrupt, Terminated) as interrupt:
        outcome.code = 143 if isinstance(interrupt, Terminated) else 130
    except EdgeinfError as error:
        output.print_error(error.message, error.hint)
        outcome.code = error.exit_code
        if os.environ.get("EDGEINF_DEBUG") == "1":
            raise
    except Exception as error:
        outcome.code = _foreign(error)
    finally:
        sys.unraisablehook = before


def _hearing(before: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], None]:
    """Return a hook that raises an interrupt again which fell where Python drops exceptions: imports have such places.

    What else is dropped is left to ``before``.
    """

    def hear(dropped: sys.UnraisableHookArgs) -> None:
        number = _SIGNALS.get(dropped.exc_type)
        if number is None:
            before(dropped)
            return
        import threading

        threading.Timer(_AGAIN_S, os.kill, (os.getpid(), number)).start()  # here it would only be dropped once more

    return hear


def _foreign(error: Exception) -> int:
    """Print an exception that is not ours: the argument parser's is wrong usage, any other is a bug."""
    import typer.exceptions

    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help itself
        sys.stderr.write(str(error.args[0] if error.args else error).rstrip() + "\n")
        return 2
    if isinstance(error, typer.exceptions.TyperException):
        ctx = getattr(error, "ctx", None)
        where = f" ({ctx.command_path})" if ctx is not None else ""
        message = error.format_message().rstrip(".")
        output.print_error(message[:1].lower() + message[1:] + where, f"{ctx.command_path} --help" if ctx else None)
        return 2
    if isinstance(error, typer.exceptions.Exit):
        return error.exit_code
    if isinstance(error, typer.exceptions.Abort):
        return 130
    if isinstance(error, OSError) and error.errno in _FULL:
        where = f" ({error.filename})" if error.filename else ""
        output.print_error(f"cannot write: {(error.strerror or str(error)).lower()}{where}")
        _silence_stdout()
        return 2
    if os.environ.get("EDGEINF_DEBUG") == "1":
        raise error
    output.print_error(f"a bug in edgeinf: {type(error).__name__}: {error}", "EDGEINF_DEBUG=1 shows where it happened")
    return 3


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit stays quiet too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
