"""``edgeinf probe``: measure targets, judge gates, recommend one."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeinf.cli import output
from edgeinf.cli.probe_write import Wanted, print_definitions, write, write_diff
from edgeinf.core.errors import UsageError

if TYPE_CHECKING:
    from edgeinf.core.config.schema import Config
    from edgeinf.probe.cost import Estimate
    from edgeinf.probe.gate import Slo
    from edgeinf.probe.plan import Plan
    from edgeinf.probe.run import Run
    from edgeinf.probe.values import Attempt, Target

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

_ASK_ABOVE_USD = 0.10


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def probe(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TARGET]...", help="URL, NAME=URL, a list (aws, bedrock, azure, gcp, api) or an API."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Measure the regions of this config.")] = None,
    model: Annotated[str, typer.Option(help="Model to ask; may be left out where only one is served.")] = "",
    dialect: Annotated[str | None, typer.Option(help="chat, responses, anthropic or embeddings.")] = None,
    key_env: Annotated[
        list[str] | None,
        typer.Option(help="Variable with the key, or TARGET=VARIABLE; it goes to no other host."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds, 20 unless given; p95 needs 59.")] = None,
    slo: Annotated[
        list[str] | None, typer.Option(help="Gate, as 'ttft_ms.p50 < 400' or 'success_rate >= 99%'.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="An inconclusive gate fails.")] = False,
    cold: Annotated[bool, typer.Option("--cold", help="A new connection for every attempt.")] = False,
    idle: Annotated[str | None, typer.Option(help="Silence before each attempt, as 10m: what a cold start costs.")] = (
        None
    ),
    ping: Annotated[bool, typer.Option("--ping", help="Only the network; no completion, no credential.")] = False,
    rate: Annotated[
        float | None, typer.Option(help="Open loop: requests per second; latency from the scheduled instant.")
    ] = None,
    cached: Annotated[bool, typer.Option("--cached", help="Send the same prompt each time, so that caches hit.")] = (
        False
    ),
    prompt: Annotated[str | None, typer.Option(help="Ask this instead.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Output tokens, 16 unless given.")] = None,
    family: Annotated[int | None, typer.Option(help="4 or 6; the system's first address unless given.")] = None,
    proxy: Annotated[str | None, typer.Option(help="http://HOST:PORT, or env for the environment's; else none.")] = (
        None
    ),
    ca: Annotated[Path | None, typer.Option(help="Certificate authorities to trust instead.")] = None,
    timeout: Annotated[str, typer.Option(help="Until the first token.")] = "120s",
    seed: Annotated[int, typer.Option(help="Order of the targets and of the bootstrap.")] = 1,
    save: Annotated[Path | None, typer.Option(help="Write the run with its samples, for diff and --baseline.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="Compare with a saved run; 1 if something got worse.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until interrupted, with a live table.")] = False,
    agent_steps: Annotated[int, typer.Option(min=1, help="Calls in sequence that an agent makes.")] = 15,
    best: Annotated[bool, typer.Option("--best", help="Print only the best target's name.")] = False,
    emit_config: Annotated[bool, typer.Option("--emit-config", help="Print a config for serve.")] = False,
    budget_usd: Annotated[float | None, typer.Option(min=0, help="Stop when this much is spent.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a run that costs.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print the formula of every figure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="One line per attempt, with its instants.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One row per target, phase and figure.")] = False,
    as_prometheus: Annotated[bool, typer.Option("--prometheus", help="A Prometheus textfile.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the report as a page to this file.")] = None,
) -> int:
    """Measure how long targets take to answer, and say how sure that is.

    \b
      edgeinf probe --ping aws:eu-* --rounds 10
      edgeinf probe http://127.0.0.1:8787/v1 --model gpt-4o-mini --slo 'ttft_ms.p50 < 400' --json

    \b
    edgeinf probe diff A B compares two runs written with --save.
    Exit codes: 0 fine, 1 a gate failed, 2 wrong usage, 4 a gate is inconclusive, 5 nothing was reachable.
    """
    words = targets or []
    forms = {"json": as_json, "jsonl": as_jsonl, "csv": as_csv, "prometheus": as_prometheus}
    form = _one_of({**forms, "best": best, "emit-config": emit_config}, "text")
    if words[:1] == ["diff"]:
        return write_diff(words[1:], form, html)
    if explain and not words and config is None:
        return print_definitions(form)
    from edgeinf.core.pricing import Prices
    from edgeinf.core.units import parse_duration
    from edgeinf.probe.cost import estimate, price_of
    from edgeinf.probe.diff import check_shared, read_saved
    from edgeinf.probe.gate import check_targets, parse_slo
    from edgeinf.probe.plan import Plan
    from edgeinf.probe.request import FEW_TOKENS, PROMPT, Asked
    from edgeinf.probe.run import Run
    from edgeinf.probe.session import Session, with_model
    from edgeinf.probe.transport import Route
    from edgeinf.probe.values import Timeouts

    mode = _one_of({"cold": cold, "ping": ping, "idle": idle is not None}, "both")
    _check(dialect, family, rate, mode, watch=watch)
    output.check_writable(save, html)
    gates = [parse_slo(text) for text in slo or []]
    before = read_saved(baseline) if baseline is not None else None
    settings = _read_config(config, words)
    prices = Prices(settings[0].prices if settings else {})
    found = _targets(words, settings, dialect, model, key_env or [])
    check_targets(gates, [t.name for t in found])
    if before is not None:
        check_shared(before.samples, [t.name for t in found], str(baseline))
    asked = Asked(prompt=prompt or PROMPT, max_tokens=max_tokens or FEW_TOKENS, cached=cached)
    plan = Plan(
        rounds=rounds or 20,
        mode=mode,
        idle_s=_duration(parse_duration, idle, "--idle") if idle else 0.0,
        seed=seed,
        asked=asked,
    )
    route = Route(
        family=family,
        proxy=proxy,
        ca=str(ca) if ca else None,
        timeouts=Timeouts(first_s=_duration(parse_duration, timeout, "--timeout")),
    )
    found = found if mode == "ping" else [with_model(t, route) for t in found]
    run = Run(found, plan, route, prices=price_of({t.name: t for t in found}, prices), budget_usd=budget_usd)
    _say_needed(gates, plan, endless=watch and rounds is None)
    _say_cost(estimate(run, prices), budget_usd, yes=yes, endless=watch and rounds is None)
    session = Session(run, route)
    with _shown(run, watch=watch):
        session.go(itertools.count() if watch and rounds is None else iter(range(plan.rounds)), rate)
    if session.interrupted and not run.attempts:
        return 130
    code = write(
        session.outcome(gates, agent_steps),
        Wanted(
            form=form,
            html=html,
            save=save,
            baseline=before,
            best=best,
            emit=emit_config,
            explain=explain,
            strict=strict,
        ),
    )
    return 130 if session.interrupted else code


@contextlib.contextmanager
def _shown(run: Run, *, watch: bool) -> Iterator[None]:
    """Show what goes on, on stderr: a live table under ``--watch``, else the share that is done."""
    from edgeinf.core.report.live import LiveReport
    from edgeinf.probe.outcome import phase_of
    from edgeinf.probe.watch import live_line, live_section

    if not watch:
        total = len(run.targets) * (run.plan.completions or 2 * run.plan.rounds)
        progress = output.Progress("probe", total)
        run.on_attempt = lambda attempt: progress.update(min(total, len(run.attempts)))
        try:
            yield
        finally:
            progress.close()
        return
    figure, phase = ("ttfb_ms" if run.plan.mode == "ping" else "ttft_ms"), phase_of(run.plan)
    held: dict[str, list[Attempt]] = {name: [] for name in run.targets}
    with LiveReport(sys.stderr, colour=output.colour_wanted(sys.stderr)) as live:

        def show(attempt: Attempt) -> None:
            held[attempt.target].append(attempt)
            live.show(lambda: live_section(held, figure, phase), lambda: live_line(held, figure, phase))

        run.on_attempt = show
        yield


def _say_cost(cost: Estimate, budget_usd: float | None, *, yes: bool, endless: bool) -> None:
    """Say what the run may cost before it starts; on a terminal ask if it is more than a few cents."""
    if not cost.completions:
        return
    said = f"{cost.completions} completions, at most {cost.usd:.4f} USD"
    said += " in 20 rounds, and so on until interrupted" if endless else ""
    if cost.unknown:
        said += f", without {', '.join(cost.unknown)}, whose price is not known"
        if budget_usd is not None:
            raise UsageError(
                f"--budget-usd cannot be kept: the price of {', '.join(cost.unknown)} is not known",
                hint="set prices in the config, or leave the budget out",
            )
    output.note(said)
    most = cost.usd if budget_usd is None else min(cost.usd, budget_usd)
    if most > _ASK_ABOVE_USD and not yes and _is_asked() and not typer.confirm("go on?", err=True):
        raise typer.Abort


def _is_asked() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _read_config(file: Path | None, words: list[str]) -> tuple[Config, dict[str, str]] | None:
    """Return the config and its keys' variables; without targets the usual places are looked at."""
    from edgeinf.core.config.load import find, load
    from edgeinf.probe.targets import key_variables

    if words and file is None:
        return None
    path = find(file, os.environ, Path())
    if path is None:
        raise UsageError("nothing to measure", hint="name a target (a URL, aws, openai) or --config FILE")
    return load(path, env=os.environ), key_variables(path.read_bytes())


def _targets(
    words: list[str],
    settings: tuple[Config, dict[str, str]] | None,
    dialect: str | None,
    model: str,
    keys: list[str],
) -> list[Target]:
    from edgeinf.probe.targets import from_arguments, from_config, unique

    found = from_config(settings[0], dialect=dialect, model=model, variables=settings[1]) if settings else []
    if words:
        found += from_arguments(words, dialect=dialect, model=model, keys=keys, environment=os.environ)
    elif keys:
        raise UsageError("--key-env is for targets on the command line", hint="regions have their own api_key")
    if not found:
        raise UsageError("the config has no region that can be measured")
    return unique(found)


def _say_needed(gates: list[Slo], plan: Plan, *, endless: bool) -> None:
    """Say before the run which gates it cannot decide."""
    from edgeinf.probe.gate import rounds_needed

    for gate in gates:
        needed = rounds_needed(gate, plan)
        if endless:
            output.note(f"{gate.text}: needs {needed} rounds to be decided")
        elif needed > plan.rounds:
            output.note(f"{gate.text}: needs {needed} rounds to be decided, {plan.rounds} will be made")


def _one_of(flags: dict[str, bool], otherwise: str) -> str:
    chosen = [name for name, given in flags.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"only one of {', '.join('--' + name for name in chosen)} can hold")
    return chosen[0] if chosen else otherwise


def _duration(parse: Callable[[str], float], text: str, flag: str) -> float:
    try:
        found = parse(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from None
    if not math.isfinite(found):
        raise UsageError(f"{flag}: it has to end", hint="as 10m")
    return found


def _check(dialect: str | None, family: int | None, rate: float | None, mode: str, *, watch: bool) -> None:
    """Refuse what cannot go together or is not known."""
    from edgeinf.probe.request import DIALECTS

    if dialect is not None and dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {dialect!r}", hint=f"one of: {', '.join(DIALECTS)}")
    if family not in (None, 4, 6):
        raise UsageError(f"--family {family}", hint="one of: 4, 6")
    if rate is not None and not 0 < rate < math.inf:
        raise UsageError(f"--rate {rate:g}", hint="requests per second, above 0")
    if rate is not None and (mode != "both" or watch):
        raise UsageError("--rate goes with neither --cold, --ping, --idle nor --watch")
