"""What a reader of the report must know before believing it."""

from __future__ import annotations

from edgeinf.analyze.columns import ANSWERED, REDACTED, SERVED
from edgeinf.analyze.log import Log

__all__ = ["warnings_of"]

_FEW, _DAY_S, _LENGTH_SHARE = 1_000, 86_400.0, 0.02


def warnings_of(log: Log) -> list[str]:
    """Return the doubts that the log itself raises."""
    found = []
    if log.damaged:
        found.append(f"{log.damaged} of {log.damaged + log.rows} lines could not be read and are left out")
    if log.rows < _FEW:
        found.append(f"only {log.rows} requests: a log under {_FEW} says little of the rate to expect")
    if log.at is None:
        found.append("no times in the log: no expiry, no curves over time, no coalescing can be worked out")
    else:
        if log.at[-1] - log.at[0] < _DAY_S:
            found.append("the log covers less than a day: repeats from day to day are not in it")
        if log.untimed:
            found.append(f"{log.untimed} requests have no time and were taken to follow the one before them")
        if not log.was_sorted:
            found.append("the log was not in order of time; it was sorted")
    if log.lengths:
        length, times = log.lengths.most_common(1)[0]
        if times >= max(20, _LENGTH_SHARE * log.rows) and times > 3 * _second(log):
            found.append(
                f"{times} questions are exactly {length} characters long: prompts that a logger cut at one length "
                "look equal when they are not"
            )
    if not bool(log.has(ANSWERED).any()):
        found.append("no answers in the log: the risk of merging questions cannot be estimated")
    if log.repeated_ids:
        found.append(f"{log.repeated_ids} requests carry an id seen before: rows may be counted twice")
    served = int(log.has(SERVED).sum())
    if served:
        found.append(f"{served} requests were served by a cache already: latencies and costs of the origin are too low")
    redacted = int(log.has(REDACTED).sum())
    if redacted > 0.05 * log.rows:
        found.append(f"{redacted} requests contain redacted text: different questions may look equal")
    return found


def _second(log: Log) -> int:
    common = log.lengths.most_common(2)
    return common[1][1] if len(common) > 1 else 0
