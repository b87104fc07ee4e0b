"""Say why a text is not YAML, in the words of the parser that has the better ones."""

from __future__ import annotations

import re
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, Related, Span

__all__ = ["BREAK", "syntax_fault"]

BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Where the parser counts a new line."""

_PURE_LIMIT = 200_000  # code points; beyond, the slow parser's better message is not worth the wait


def syntax_fault(yaml: Any, error: Any, text: str) -> Diagnostic:
    """Return the fault of a text that does not parse, in the words of the parser that has the better ones."""
    if len(text) <= _PURE_LIMIT:
        try:
            for _ in yaml.parse(text, Loader=yaml.SafeLoader):
                pass
        except yaml.MarkedYAMLError as better:
            invented = "'\\t'" in str(better.problem) and "'\\t'" not in str(getattr(error, "problem", ""))
            if better.problem_mark is not None and not invented:
                error = better
        except (yaml.YAMLError, RecursionError, ValueError):
            pass  # the first parser's words then
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or "the text is not YAML")
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    context = getattr(error, "context_mark", None)
    related: tuple[Related, ...] = ()
    if context is not None and (context.line, context.column) != (line - 1, column - 1):
        span = Span(context.line + 1, context.column + 1, context.line + 1, context.column + 2)
        related = (Related(message=f"{error.context}: line {span.line}", span=span),)
    return Diagnostic(
        code="E002",
        severity="error",
        message=f"not YAML: {problem.replace(chr(10), ' ')}",
        span=Span(line, column, line, column + 1),
        help=_syntax_help(problem, text, line),
        related=related,
    )


def _syntax_help(problem: str, text: str, line: int) -> str | None:
    lines = BREAK.split(text)
    here = lines[line - 1] if line <= len(lines) else ""
    if "'\\t'" in problem or "\t" in here[: len(here) - len(here.lstrip())]:
        return "indent with spaces, not tabs"
    if re.search(r"[{,]\s*[\w.-]+\s*:\s*\$\{", here):
        return 'inside { } put a variable in quotes: "${NAME}"'
    if "mapping values are not allowed" in problem:
        return "put a value that contains ': ' in quotes, or check the indentation"
    if re.search(r":\s*[@`%]", here):
        return "put a value that starts with @, ` or % in quotes"
    return None
