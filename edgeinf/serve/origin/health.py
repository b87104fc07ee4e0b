"""Is a region fit to be asked? Judged by what its answers were; time is a parameter, so all of it can be simulated.

A region is *closed* (in use), *open* (left out until a deadline) or *due* (the deadline has passed: one trial call
may find out, while other regions carry the traffic). Apart from that it *rests* for as long as the origin itself
asked by ``Retry-After``, for the model and the credential that it said so to. What a client did wrong (4xx) says
nothing about a region.
"""

from __future__ import annotations

from collections import deque

from edgeinf.core.config.schema import Health as Policy

__all__ = ["CLOSED", "DUE", "OPEN", "Health", "Rest", "is_fault"]

CLOSED, OPEN, DUE = "closed", "open", "due"

# So many failures in a row open a region whatever the ratio; at a tenth of failures that is one chance in 100,000.
_CONSECUTIVE = 5
_BUCKETS = 12
# A trial that is never heard of again is given up after this many cooldowns, and at least so many seconds.
_LEASE_COOLDOWNS, _LEASE_S = 4.0, 20.0
# How long a region that came back is brought in again, so that it is not run over.
_RAMP_COOLDOWNS = 2.0
_RAMP_START = 0.1
_MAX_RESTS = 1024


class Rest:
    """Until when, and whether the origin asked for it (``firm``) or we only prefer others."""

    __slots__ = ("firm", "status", "until")

    def __init__(self, until: float, status: int, *, firm: bool) -> None:
        self.until = until
        self.status = status
        self.firm = firm


def is_fault(cause: str) -> bool:
    """Return whether a failure with this cause is the region's doing; a client's 4xx and a full quota are not."""
    return not cause.isdigit() or cause[0] == "5"


class Health:
    """What one region's answers were, and what follows. Times are monotonic seconds."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self._buckets: deque[list[float]] = deque()  # [start, answered, failed]
        self.consecutive = 0
        self.open_until: float | None = None
        self._opened_at = 0.0
        self._trial_until: float | None = None
        self._checked_at: float | None = None  # when an active check last passed while open
        self._ramp_from: float | None = None
        self._rests: dict[tuple[str, str], Rest] = {}

    # --- what happened ---

    def succeed(self, now: float, *, started: float, trial: bool = False) -> None:
        """Take note of an answer to a call that was sent at ``started``."""
        self._count(now, failed=False)
        self.consecutive = 0
        if self.open_until is not None and (trial or started >= self._opened_at):
            self._close(now)

    def fail(self, now: float, *, trial: bool = False) -> None:
        """Take note of a failure that was the region's; open it where that is one too many."""
        self._count(now, failed=True)
        self.consecutive += 1
        if trial:
            self._trial_until = None
        if self.open_until is not None or self._too_many(now):
            # A failure while open sets a fresh deadline; it never brings an earlier one.
            self._open(now)

    def heard(self, now: float, *, trial: bool = False) -> None:
        """Take note of a refusal that is the client's: the region is there, and no more is said."""
        self.consecutive = 0
        if trial and self.open_until is not None:
            self._close(now)

    def check(self, now: float, *, passed: bool) -> None:
        """Take note of an active check. A pass does not close a region, it lets a trial call do so."""
        if passed:
            if self.open_until is not None:
                self._checked_at = now
                self.open_until = min(self.open_until, now)
            return
        self.fail(now)

    def rest(self, now: float, model: str, credential: str, status: int, after_s: float | None) -> None:
        """Leave the region alone for as long as it asked; without a time, only prefer others for a second."""
        name = (model, credential)
        known = self._rests.get(name)
        until = now + (1.0 if after_s is None else after_s)
        if known is not None and known.until > now and (known.until >= until or known.firm > (after_s is not None)):
            return  # a deadline only ever moves away
        if len(self._rests) >= _MAX_RESTS:
            self._rests = {n: r for n, r in self._rests.items() if r.until > now}
            if len(self._rests) >= _MAX_RESTS:
                self._rests.clear()
        self._rests[name] = Rest(until, status, firm=after_s is not None)

    # --- what follows ---

    def state(self, now: float) -> str:
        """Return ``closed``, ``open`` or ``due``."""
        if self.open_until is None:
            return CLOSED
        if now < self.open_until or (self._trial_until is not None and now < self._trial_until):
            return OPEN
        if self.policy.active is not None and self._checked_at is None:
            return OPEN  # the check finds out first, at nobody's cost
        return DUE

    def begin_trial(self, now: float) -> None:
        """Reserve the one trial; until it ends, or its lease does, the region is open to all others."""
        self._trial_until = now + max(_LEASE_S, _LEASE_COOLDOWNS * self.policy.cooldown)

    def end_trial(self) -> None:
        """Give a trial back that came to nothing: the client left, or there was no room."""
        self._trial_until = None

    def resting(self, now: float, model: str, credential: str) -> Rest | None:
        """Return the rest that holds for a model and a credential."""
        if not self._rests:
            return None
        name = (model, credential)
        found = self._rests.get(name) or self._rests.get((model, ""))
        if found is None:
            return None
        if found.until <= now:
            self._rests = {n: r for n, r in self._rests.items() if r.until > now}
            return None
        return found

    def share(self, now: float) -> float:
        """Return which share of its traffic a region may have: 1, and less just after it came back."""
        if self._ramp_from is None:
            return 1.0
        ramp_s = max(_RAMP_COOLDOWNS * self.policy.cooldown, 1e-9)
        done = (now - self._ramp_from) / ramp_s
        if done >= 1.0:
            self._ramp_from = None
            return 1.0
        return _RAMP_START + (1.0 - _RAMP_START) * done

    def error_ratio(self, now: float) -> float:
        """Return the share of failures within the window; 0 where nothing was asked."""
        answered, failed = self.counts(now)
        return failed / (answered + failed) if answered + failed else 0.0

    def counts(self, now: float) -> tuple[float, float]:
        """Return how many calls were answered and how many failed within the window."""
        self._forget(now)
        return sum(b[1] for b in self._buckets), sum(b[2] for b in self._buckets)

    # --- the inside ---

    def _count(self, now: float, *, failed: bool) -> None:
        width = self.policy.window / _BUCKETS
        if not self._buckets or now - self._buckets[-1][0] >= width:
            self._buckets.append([now, 0, 0])
            self._forget(now)
        self._buckets[-1][2 if failed else 1] += 1

    def _forget(self, now: float) -> None:
        while self._buckets and now - self._buckets[0][0] >= self.policy.window:
            self._buckets.popleft()

    def _too_many(self, now: float) -> bool:
        if self.consecutive >= _CONSECUTIVE:
            return True
        answered, failed = self.counts(now)
        total = answered + failed
        return total >= self.policy.min_requests and failed > self.policy.max_error_ratio * total

    def _open(self, now: float) -> None:
        if self.open_until is None:
            self._opened_at = now
        self._checked_at = None
        self._ramp_from = None
        self.open_until = max(self.open_until or 0.0, now + self.policy.cooldown)

    def _close(self, now: float) -> None:
        self.open_until = self._trial_until = self._checked_at = None
        self.consecutive = 0
        self._buckets.clear()  # what opened it is over; the next failure must not open it again by itself
        self._ramp_from = now
