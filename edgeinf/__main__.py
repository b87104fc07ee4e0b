"""Entry point: hand the arguments to the command line, which imports only what they ask for."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    from edgeinf.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
