"""One run from the first check to the result; what to show meanwhile is the caller's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from edgeinf.core.errors import UsageError
from edgeinf.probe.address import parse_url
from edgeinf.probe.calibrate import own_overhead_ms
from edgeinf.probe.gate import Slo
from edgeinf.probe.load import Load, run_load
from edgeinf.probe.outcome import Outcome, conclude
from edgeinf.probe.proxy import proxy_for
from edgeinf.probe.run import Run, list_models, run_rounds
from edgeinf.probe.transport import Route
from edgeinf.probe.trust import ca_in_use
from edgeinf.probe.values import Target

__all__ = ["Session", "with_model"]


class Session:
    """A run and what it leads to. An interrupt ends it early; what was measured until then counts."""

    def __init__(self, run: Run, route: Route) -> None:
        self.run = run
        self.route = route
        self.interrupted = False
        self._loads: list[Load] = []
        self._overhead_ms: float | None = None

    def go(self, rounds: Iterator[int], rate: float | None) -> None:
        """Check the targets, then measure: the given rounds one by one, or an open loop at ``rate`` per second."""
        try:
            self.run.check()
            self._overhead_ms = own_overhead_ms()
            if rate is None:
                run_rounds(self.run, rounds)
            else:
                for name in self.run.asked_again:
                    if not self.run.stopped:
                        self._loads.append(run_load(self.run, name, rate))
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.run.close()

    def outcome(self, slos: Sequence[Slo], steps: int) -> Outcome:
        """Return what the attempts say."""
        proxies = {name: proxy_for(parse_url(t.url), self.route.proxy) for name, t in self.run.targets.items()}
        return conclude(
            self.run,
            slos=slos,
            loads=self._loads,
            steps=steps,
            proxy={name: p.shown if p else None for name, p in proxies.items()},
            ca=ca_in_use(self.route.ca),
            overhead_ms=self._overhead_ms,
            rounds=max((a.round for a in self.run.attempts), default=0) + 1,
        )


def with_model(target: Target, route: Route) -> Target:
    """Return a target with a model to ask: its own, or the only one that it lists. Raise UsageError."""
    if target.model:
        return target
    models = list_models(target, route)
    if len(models) == 1:
        return msgspec.structs.replace(target, model=models[0])
    said = f"it serves {', '.join(sorted(models)[:8])}" if models else "it lists none"
    raise UsageError(f"{target.name} needs a model: {said}", hint="use --model M, or --ping for the network alone")
