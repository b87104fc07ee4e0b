"""Entry point: hand the arguments to the command line, which imports only what they ask for."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from edgeinf.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before there was anything to end
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        # Python would end by the signal after all where the interrupt met code made from text, as dataclasses are:
        # it counts such an interrupt as never caught. What must happen at an end is done first.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
