"""``edgeinf validate``: everything that is wrong or doubtful about a config, at once."""

from __future__ import annotations

import difflib
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli import output

if TYPE_CHECKING:
    from edgeinf.core.config.load import Inspection
    from edgeinf.validate.report import Report

__all__ = ["app"]


class _App(typer.Typer):
    """Take ``--online=required``: the argument parser knows no option whose value may be left out."""

    def __call__(self, *rest: Any, args: Sequence[str] | None = None, **options: Any) -> Any:
        words = {"--online=required": "--online-required", "--online=optional": "--online"}
        collecting = gc.isenabled()
        gc.disable()  # what it imports and reads stays until it ends: looking for cycles takes a twentieth of the time
        try:
            return super().__call__(*rest, args=[words.get(a, a) for a in args or []], **options)
        finally:
            if collecting:
                gc.enable()


app = _App(add_completion=False, rich_markup_mode=None)


@app.command()
def validate(
    files: Annotated[list[str] | None, typer.Argument(help="files, globs, - for stdin; else the config in use")] = None,
    format: Annotated[str, typer.Option(help="text, concise, json, github, sarif, junit, gitlab")] = "text",
    json: Annotated[bool, typer.Option("--json", help="the same as --format json")] = False,
    fail_on: Annotated[str, typer.Option(help="exit 1 from this on: error, warning")] = "error",
    select: Annotated[list[str] | None, typer.Option(help="only these warnings: W301, or W3 for a family")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="not these warnings")] = None,
    explain: Annotated[str | None, typer.Option(help="print the page of a code, or of all")] = None,
    kind: Annotated[str | None, typer.Option(help="edgeinf, litellm; else found from the file")] = None,
    env_file: Annotated[Path | None, typer.Option(help="NAME=value lines, beneath the environment")] = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="ask for no variables: a check without secrets")] = False,
    print_effective: Annotated[
        bool, typer.Option("--print-effective", help="what holds, and where it is from")
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="ask each region (=required: exit 5 where one cannot be asked)")
    ] = False,
    online_required: Annotated[
        bool, typer.Option("--online-required", hidden=True, help="what --online=required is read as")
    ] = False,
) -> int:
    """Say everything that is wrong or doubtful about a config; valid means that serve would start.

    edgeinf validate edgeinf.yaml

    edgeinf validate --no-env --format github --fail-on warning edgeinf.yaml
    """
    from edgeinf.core.errors import UsageError
    from edgeinf.validate.check import KINDS, Options, codes
    from edgeinf.validate.render.registry import FORMATS

    format = "json" if json else format
    _one_of("--format", format, list(FORMATS))
    if explain is not None:
        _explain(explain, format)
        return 0
    if print_effective and format != "text":
        raise UsageError(f"--print-effective writes YAML, not {format}", hint="leave out the one or the other")
    _one_of("--fail-on", fail_on, ["error", "warning"])
    if kind is not None:
        _one_of("--kind", kind, list(KINDS))
    if no_env and env_file is not None:
        raise UsageError("--no-env asks for no variables", hint="leave out --env-file or --no-env")
    options = Options(
        env=None if no_env else _environment(env_file),
        kind=kind,
        only=codes(_split(select)),
        ignored=codes(_split(ignore)),
    )
    report, seen = _check(files, options, online=online or online_required)
    failing = bool(report.count("error") or (fail_on == "warning" and report.count("warning")))
    if print_effective:
        _print_effective(report, seen, failing=failing)
    else:
        _print(report, format)
    if failing:
        return 1
    unasked = report.count("unknown") or any(each is None for each in seen)  # another tool's regions
    return 5 if online_required and unasked else 0


def _one_of(flag: str, value: str, allowed: list[str]) -> None:
    from edgeinf.core.errors import UsageError

    if value not in allowed:
        near = difflib.get_close_matches(value, allowed, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else f"one of: {', '.join(allowed)}"
        raise UsageError(f"{flag} cannot be {value!r}", hint=hint)


def _split(words: list[str] | None) -> list[str]:
    return [code.strip().upper() for word in words or [] for code in word.split(",") if code.strip()]


def _environment(file: Path | None) -> Mapping[str, str]:
    if file is None:
        return os.environ
    from edgeinf.core.config.interpolate import read_env_file
    from edgeinf.core.errors import UsageError

    try:
        return {**read_env_file(file.read_text(encoding="utf-8")), **os.environ}
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"cannot read --env-file {file}") from None


def _check(files: list[str] | None, options: object, *, online: bool) -> tuple[Report, list[Inspection | None]]:
    from edgeinf.core.config.load import find
    from edgeinf.core.errors import UsageError
    from edgeinf.validate.check import Options, check
    from edgeinf.validate.read import expand, read
    from edgeinf.validate.report import Report

    assert isinstance(options, Options)
    names = expand(files or [])
    if not files:
        found = find(None, os.environ, Path())
        if found is None:
            raise UsageError("there is no config here", hint="name one, or write one with edgeinf init")
        names = [str(found)]
    reports, inspections = [], []
    for name in names:
        base = Path() if name == "-" else Path(name).parent
        report, seen = check(read(name), "stdin" if name == "-" else name, base=base.resolve(), options=options)
        if online and seen is not None and seen.config is not None:
            from edgeinf.validate.online import with_online

            report = with_online(report, seen, options)
        elif online:
            output.note(
                f"{report.name}: regions are not asked: " + ("it has errors" if seen else "it is another tool's")
            )
        reports.append(report)
        inspections.append(seen)
    return Report(files=tuple(reports)), inspections


def _print(report: Report, format: str) -> None:
    from edgeinf.validate.render.registry import renderer

    if format == "text":
        from edgeinf.validate.render import text

        sys.stdout.write(text.render(report, colour=output.colour_wanted(sys.stdout)))
        return
    sys.stdout.write(renderer(format)(report))
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if format == "github" and target:
        from edgeinf.validate.render import github

        try:
            with open(target, "a", encoding="utf-8") as file:
                file.write(github.summary(report))
        except OSError as error:
            output.note(f"the step summary cannot be written: {error.strerror}")


def _explain(code: str, format: str) -> None:
    from edgeinf.validate.explain import document, explain

    if format == "json":
        output.print_json(document(code))
    else:
        sys.stdout.write(explain(code))


def _print_effective(report: Report, inspections: list[Inspection | None], *, failing: bool) -> None:
    from edgeinf.validate.effective import effective
    from edgeinf.validate.render import text

    if failing:
        sys.stderr.write(text.render(report, colour=output.colour_wanted(sys.stderr)))
    for file, seen in zip(report.files, inspections, strict=True):
        if seen is None:
            output.note(f"{file.name}: another tool's config; only ours can be printed")
        elif seen.config is not None and not seen.errors:
            sys.stdout.write(effective(seen))
        else:
            output.note(f"{file.name}: nothing holds while there are errors")
