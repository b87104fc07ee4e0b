"""Find the command, import only that, run it, and turn whatever happens into an exit code."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence

from edgeinf.cli import failures, output

__all__ = ["COMMANDS", "run"]

# name -> one line for the overview. The command itself is ``app`` in edgeinf/cli/<name>.py.
COMMANDS: dict[str, str] = {
    "demo": "see it work: mock regions, the proxy, replayed traffic; no key, no network",
    "serve": "put the layer in front of an inference endpoint",
    "analyze": "replay a log and say what a cache would bring, and what keeps equal questions apart",
    "explain": "say why two request bodies do or do not share a key",
    "replay": "send a log at a running server, in order",
    "probe": "measure regions with honest uncertainty, gate a release on it, recommend one",
    "validate": "say everything that is wrong or doubtful about a config",
    "init": "write a commented config, from what the machine has or from another tool's",
    "schema": "print the JSON Schema of the config, for editors",
    "doctor": "check this machine: config, port, folders, limits, what is reachable",
    "top": "watch a running server in the terminal",
    "cache": "see and change what is stored",
    "keys": "make virtual keys, and hash them for the config",
    "index": "index documents for prompts, and ask them something",
    "mock": "run a scripted origin with regions, delays and faults",
}

_OVERVIEW = """\
The layer in front of any LLM inference endpoint, and an honest measure of what it is worth.

  edgeinf demo
  edgeinf serve --upstream https://api.openai.com

"""


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code. Never raises, except a bug under ``EDGEINF_DEBUG=1``."""
    arguments = output.take_global_flags(list(argv))
    with failures.translated() as outcome:
        if not arguments or arguments[0] in ("--help", "-h", "help"):
            sys.stdout.write(_overview())
        elif arguments[0] == "--version":
            from edgeinf import __version__

            sys.stdout.write(f"edgeinf {__version__}\n")
        else:
            outcome.code = _run_command(arguments[0], arguments[1:])
    return outcome.code


def _run_command(name: str, arguments: list[str]) -> int:
    from edgeinf.core.errors import UsageError

    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(COMMANDS)}"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    app = importlib.import_module(f"edgeinf.cli.{name}").app
    code = app(args=arguments, prog_name=f"edgeinf {name}", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = "".join(f"  {name:<{width}}  {line}\n" for name, line in COMMANDS.items())
    return (
        f"usage: edgeinf COMMAND [ARGUMENTS]\n\n{_OVERVIEW}commands\n{rows}\n"
        "  edgeinf COMMAND --help says more; --quiet, --no-color and --version are understood everywhere\n"
    )
