"""One analysis from its inputs to its findings; reads as a table of contents."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import msgspec

from edgeinf.analyze import heap, scan
from edgeinf.analyze.columns import ANSWERED, ELIGIBLE, SAMPLED
from edgeinf.analyze.curves import Curves, warmup
from edgeinf.analyze.curving import Curving
from edgeinf.analyze.gateway_hits import GatewayHits, gateway_hits
from edgeinf.analyze.levels import LevelRun, run_level
from edgeinf.analyze.log import Log, gather
from edgeinf.analyze.misses import Comparing, Misses, compare_misses
from edgeinf.analyze.options import Options
from edgeinf.analyze.prefix import Prefix, load_rules, prefix
from edgeinf.analyze.priced import fill_costs, input_price
from edgeinf.analyze.questions import labels
from edgeinf.analyze.readers import sniff
from edgeinf.analyze.readers.base import sample_of
from edgeinf.analyze.repeats import Repeats, Top, repeats, top
from edgeinf.analyze.risk import Risk, risks
from edgeinf.analyze.scopes import Scoped, scoped
from edgeinf.analyze.segments import Segment, ineligible, segments
from edgeinf.analyze.settle import settle
from edgeinf.analyze.source import Sources, open_sources
from edgeinf.analyze.warn import warnings_of
from edgeinf.analyze.whatif import WhatIf, read_probe, whatif
from edgeinf.core.errors import UsageError
from edgeinf.core.pricing import Prices

__all__ = ["Analysis", "Report", "analyze", "read", "study"]

Report = Callable[[str, int, int], None]  # what is being done, how much of it is done, how much there is


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found, for the writers of reports."""

    options: Options
    sources: Sources
    format: str
    log: Log
    levels: dict[str, LevelRun | None]
    eligible: int
    reasons: dict[str, int]
    repeats: Repeats | None
    curves: dict[str, Curves]
    warmup: list[tuple[int, float, float]]
    segments: dict[str, list[Segment] | None]
    top: list[tuple[Top, str | None]]
    sampled: dict[str, tuple[int, int]]
    misses: Misses | None
    risk: dict[str, Risk | None]
    prefix: Prefix | None
    gateways: list[GatewayHits]
    whatif: WhatIf | None
    priced: int
    warnings: list[str]
    took_s: float

    @property
    def default(self) -> LevelRun | None:
        """Return the level that the proxy would use."""
        return self.levels.get(self.options.level)

    @property
    def has_answers(self) -> bool:
        """Return whether the log holds answers."""
        return bool(self.log.has(ANSWERED).any())

    @property
    def from_events(self) -> bool:
        """Return whether the log is edgeinf's own events."""
        return self.format == "edgeinf-events"


def analyze(
    options: Options,
    *,
    progress: Report | None = None,
    then: Callable[[Analysis], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Analysis:
    """Read the log and work out everything. ``then`` gets the result while the log can still be read again.

    Raise UsageError where there is nothing to work on.
    """
    started = clock()
    say = progress or (lambda what, done, total: None)
    with ExitStack() as stack:
        sources = open_sources(options.files, stack, progress=lambda done: say("unpacking", done, 0))
        with _crew(options, sources) as crew:
            found = study(_read(crew, options, say), options, sources, say, clock, started, crew)
        if then is not None:
            then(found)
        return found


def study(
    log: Log,
    options: Options,
    sources: Sources,
    say: Report,
    clock: Callable[[], float],
    started: float | None = None,
    crew: scan.Crew | None = None,
) -> Analysis:
    """Work out everything of a log that was read; its files must still be there. ``crew`` helps if it is at hand."""
    started = clock() if started is None else started
    rules = load_rules(options.prefix_rules)
    probe = None if options.probe is None else read_probe(options.probe)
    prices = Prices(options.prices)
    priced = fill_costs(log, prices)
    scope = scoped(log, options.scope)
    crew = crew or scan.Crew(log.plan, 1)
    levels, repeated, best, comparing = _levels(log, scope, options, say, crew)
    default = levels.get(options.level)
    with Curving(log, options) as curving:
        for run in levels.values():
            if run is not None:
                curving.begin(run)
        say("why equal questions miss", 0, 0)
        misses = None if comparing is None else comparing.misses()
        crew.dismiss()
        say("risk", 0, 0)
        risk = risks(log, levels)
        heap.give_back()
        say("what it would bring", 0, 0)
        expected = whatif(log, default, options, probe) if default is not None else None
        heap.give_back()
        say("curves", 0, 0)
        curves = curving.curves()
    say("the provider's prefix cache", 0, 0)
    said = labels(log, [t.row for t in best])
    allowed = log.has(ELIGIBLE) if scope.allowed is None else log.has(ELIGIBLE) & scope.allowed
    return Analysis(
        options=options,
        sources=sources,
        format=log.plan.format,
        log=log,
        levels=levels,
        eligible=int(allowed.sum()),
        sampled=_sampled(log, default, allowed),
        reasons=ineligible(log, scope),
        repeats=repeated,
        curves=curves,
        warmup=warmup(log, default) if default is not None else [],
        segments=segments(log, default) if default is not None else {},
        top=[(t, said.get(t.row)) for t in best],
        misses=misses,
        risk=risk,
        prefix=prefix(log, rules, input_price(prices)),
        gateways=gateway_hits(log, options.policy.ttl_s),
        whatif=expected,
        priced=priced,
        warnings=warnings_of(log),
        took_s=clock() - started,
    )


def _levels(
    log: Log, scope: Scoped, options: Options, say: Report, crew: scan.Crew
) -> tuple[dict[str, LevelRun | None], Repeats | None, list[Top], Comparing | None]:
    """Run each level, and let go of its keys.

    The level that leads comes first, so that its misses are compared while this process does the others.
    """
    levels: dict[str, LevelRun | None] = dict.fromkeys(options.levels)
    repeated: Repeats | None = None
    best: list[Top] = []
    comparing: Comparing | None = None
    for name in sorted(options.levels, key=lambda name: name != options.level) if log.has_content else ():
        if log.unknown_levels[name] or name not in log.keys:
            continue
        say(f"level {name}", 0, 0)
        run = levels[name] = run_level(log, name, scope, options)
        heap.give_back()
        if name == options.level:
            comparing = compare_misses(log, run, name, scope, crew)
            heap.give_back()
            everybody = _shared(log, options, scope, run)
            heap.give_back()
            repeated = repeats(log, everybody)
            del everybody
            heap.give_back()
            best = top(log, run)
            heap.give_back()
        del log.keys[name]
    return levels, repeated, best, comparing


def _sampled(log: Log, default: LevelRun | None, allowed: Any) -> dict[str, tuple[int, int]]:
    """Return (requests, hits) of deterministic and of sampled calls; empty where the log has no content."""
    if default is None or not log.keys_known:
        return {}
    drawn = log.has(SAMPLED) & allowed
    fixed = ~log.has(SAMPLED) & allowed
    return {
        name: (int(chosen.sum()), int((chosen & default.hit).sum()))
        for name, chosen in (("deterministic", fixed), ("sampled", drawn))
    }


def read(options: Options, sources: Sources, say: Report) -> Log:
    """Read every file into columns. Raise UsageError where there is no request in them."""
    with _crew(options, sources) as crew:
        return _read(crew, options, say)


def _crew(options: Options, sources: Sources) -> scan.Crew:
    format_name = "mapped" if options.mapping else options.format
    if format_name == "auto":
        first = next((n for n, size in enumerate(sources.sizes) if size), 0)
        format_name = sniff(sample_of(sources.names[first], sources.paths[first])).name
    plan = scan.ScanPlan(
        sources=sources,
        format=format_name,
        mapping=options.mapping,
        policy=options.policy,
        levels=options.levels,
        masks=options.masks,
        gateways=options.gateways,
        coarse=True,
    )
    return scan.Crew(plan, options.workers or scan.default_workers())


def _read(crew: scan.Crew, options: Options, say: Report) -> Log:
    plan = crew.plan
    log = gather(plan, scan.batches(crew, lambda done: say("reading", done, plan.sources.size)))
    if log.rows:
        settle(log, options, crew)
        heap.give_back()
        return log
    seen = ", ".join(f"{count} {reason}" for reason, count in log.skipped.most_common(3))
    raise UsageError(
        f"no request in {', '.join(plan.sources.names)}" + (f" ({seen})" if seen else ""),
        hint="name the format with --format or map fields with --map",
    )


def _shared(log: Log, options: Options, scope: Scoped, default: LevelRun) -> LevelRun:
    """Return the default level as if everybody shared, which is what repeats are counted on."""
    everybody = scoped(log, "shared")
    if scope.equals(everybody):
        return default
    return run_level(log, options.level, everybody, options)
