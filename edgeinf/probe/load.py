"""The open loop: requests leave when they are due, whether or not earlier ones have been answered.

Latency counts from the scheduled instant, so a stalled server shows in every request that was due meanwhile.
One target after the other, never two at once.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from time import perf_counter_ns

import msgspec

from edgeinf.core.stats import quantile
from edgeinf.probe.request import Request
from edgeinf.probe.run import Run
from edgeinf.probe.values import Attempt, Instants

__all__ = ["MAX_IN_FLIGHT", "Load", "run_load"]

MAX_IN_FLIGHT = 256
_SLOW_LAG_NS = 10_000_000  # beyond that the prober itself was late
_SWITCH_S = 0.0005
_AWAKE_NS = 200_000


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What the open loop did to one target. ``lag_ms_p99`` is how late requests left."""

    target: str
    rate: float
    scheduled: int
    sent: int
    dropped: int
    connections_opened: int
    seconds: float
    max_in_flight: int
    lag_ms_p99: float | None
    client_bound: bool


def run_load(run: Run, name: str, rate: float, *, in_flight: int = MAX_IN_FLIGHT) -> Load:
    """Send ``plan.rounds`` requests at ``rate`` per second to one target; record each as it ends."""
    client = run.clients[name]
    client.keep = in_flight
    client.prepare(min(in_flight, _connections(run, name, rate)))
    opened_before, total = client.opened, run.plan.rounds
    lock, active, peak, dropped = threading.Lock(), 0, 0, 0
    lags: list[int] = []
    threads: list[threading.Thread] = []

    def send(request: Request, number: int, scheduled: int) -> None:
        nonlocal active
        attempt = client.attempt(request, round=number, phase="warm", scheduled=scheduled)
        with lock:
            active -= 1
            lags.append(attempt.instants.start - scheduled)
            run.take(attempt)

    switch = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    busy, begun = time.process_time(), perf_counter_ns()
    try:
        for number in range(total):
            due, request = begun + int(number * 1e9 / rate), run.request(name)
            _wait_until(due)
            if run.stopped:
                break
            with lock:
                if active >= in_flight:
                    dropped += 1
                    run.take(_dropped(name, number, due))
                    continue
                active += 1
                peak = max(peak, active)
            thread = threading.Thread(target=send, args=(request, number, due), daemon=True)
            threads.append(thread)
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    seconds = (perf_counter_ns() - begun) / 1e9
    late = quantile(lags, 0.99) if lags else None
    full = any(a.full_reads for a in run.attempts if a.target == name)
    return Load(
        target=name,
        rate=rate,
        scheduled=total,
        sent=len(threads),
        dropped=dropped,
        connections_opened=client.opened - opened_before,
        seconds=round(seconds, 3),
        max_in_flight=peak,
        lag_ms_p99=round(late / 1e6, 3) if late is not None else None,
        client_bound=(late or 0) > _SLOW_LAG_NS or full or (time.process_time() - busy) / seconds > 0.8,
    )


def _dropped(name: str, number: int, due: int) -> Attempt:
    """Return the record of a request that was never sent: it counts as a failure, or a stall could hide in it."""
    return Attempt(
        target=name,
        round=number,
        phase="warm",
        at=time.time(),
        instants=Instants(scheduled=due, start=due),
        error="dropped",
        detail="too many requests were in flight",
        open_loop=True,
    )


def _wait_until(due: int) -> None:
    """Sleep, then look at the clock: a sleeping thread wakes too late to be punctual."""
    if (wait_ns := due - perf_counter_ns() - _AWAKE_NS) > 0:
        time.sleep(wait_ns / 1e9)
    while perf_counter_ns() < due:
        pass


def _connections(run: Run, name: str, rate: float) -> int:
    """Return how many connections the load will need, by what the check took (Little's law and half as much)."""
    checks: list[Attempt] = [a for a in run.attempts if a.target == name and a.ok]
    if not checks:
        return 1
    at = checks[-1].instants
    seconds = ((at.done or at.start) - (at.request_start or at.start)) / 1e9
    return max(1, math.ceil(rate * seconds * 1.5))
