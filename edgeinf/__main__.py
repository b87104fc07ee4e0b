"""Entry point: answer ``--version`` without importing a framework, hand everything else to the CLI."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        from edgeinf import __version__

        print(f"edgeinf {__version__}")
        return 0
    from edgeinf.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
