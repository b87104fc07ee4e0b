"""One analysis from its inputs to its findings; reads as a table of contents."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import msgspec

from edgeinf.analyze import scan
from edgeinf.analyze.columns import ANSWERED, ELIGIBLE
from edgeinf.analyze.curves import Curves, level_curves, warmup
from edgeinf.analyze.levels import LevelRun, run_level
from edgeinf.analyze.log import Log, gather
from edgeinf.analyze.options import Options
from edgeinf.analyze.questions import labels
from edgeinf.analyze.readers import sniff
from edgeinf.analyze.readers.base import sample_of
from edgeinf.analyze.repeats import Repeats, Top, repeats, top
from edgeinf.analyze.scopes import Scoped, scoped
from edgeinf.analyze.segments import Segment, ineligible, segments
from edgeinf.analyze.source import Sources, open_sources
from edgeinf.analyze.warn import warnings_of
from edgeinf.core.errors import UsageError

__all__ = ["Analysis", "Report", "analyze", "read"]

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
    options: Options, *, progress: Report | None = None, clock: Callable[[], float] = time.perf_counter
) -> Analysis:
    """Read the log and work out everything. Raise UsageError where there is nothing to work on."""
    started = clock()
    say = progress or (lambda what, done, total: None)
    with ExitStack() as stack:
        sources = open_sources(options.files, stack, progress=lambda done: say("unpacking", done, 0))
        log = read(options, sources, say)
        scope = scoped(log, options.scope)
        levels: dict[str, LevelRun | None] = {}
        for level in options.levels:
            say(f"level {level}", 0, 0)
            levels[level] = None if log.unknown_levels[level] else run_level(log, level, scope, options)
        default = levels.get(options.level)
        shared = _shared(log, options, scope, default)
        say("curves", 0, 0)
        best = top(log, default) if default is not None else []
        said = labels(log, [t.row for t in best])
        allowed = log.has(ELIGIBLE) if scope.allowed is None else log.has(ELIGIBLE) & scope.allowed
        return Analysis(
            options=options,
            sources=sources,
            format=log.plan.format,
            log=log,
            levels=levels,
            eligible=int(allowed.sum()),
            reasons=ineligible(log, scope),
            repeats=None if shared is None else repeats(log, shared),
            curves={
                name: level_curves(run, options, table=name == options.level) for name, run in levels.items() if run
            },
            warmup=warmup(log, default) if default is not None else [],
            segments=segments(log, default) if default is not None else {},
            top=[(t, said.get(t.row)) for t in best],
            warnings=warnings_of(log),
            took_s=clock() - started,
        )


def read(options: Options, sources: Sources, say: Report) -> Log:
    """Read every file into columns. Raise UsageError where there is no request in them."""
    format_name = "mapped" if options.mapping else options.format
    if format_name == "auto":
        format_name = sniff(sample_of(sources.names[0], sources.paths[0])).name
    plan = scan.ScanPlan(
        sources=sources, format=format_name, mapping=options.mapping, policy=options.policy, levels=options.levels
    )
    workers = options.workers or scan.default_workers()
    log = gather(plan, scan.batches(plan, workers=workers, progress=lambda done: say("reading", done, sources.size)))
    if not log.rows:
        seen = ", ".join(f"{count} {reason}" for reason, count in log.skipped.most_common(3))
        raise UsageError(
            f"no request in {', '.join(sources.names)}" + (f" ({seen})" if seen else ""),
            hint="name the format with --format or map fields with --map",
        )
    return log


def _shared(log: Log, options: Options, scope: Scoped, default: LevelRun | None) -> LevelRun | None:
    """Return the default level as if everybody shared, which is what repeats are counted on."""
    if default is None:
        return None
    everybody = scoped(log, "shared")
    if scope.allowed is None and bool((everybody.key == scope.key).all()):
        return default
    return run_level(log, options.level, everybody, options)
