"""Time-outs that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule
from edgeinf.core.units import format_duration

__all__ = ["RULES"]


def _cannot_fit(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        total = region.timeouts.total
        for name in ("connect", "ttft"):
            here, whole = (*path, "timeouts", name), (*path, "timeouts", "total")
            part = getattr(region.timeouts, name)
            if facts.given(here) and facts.given(whole) and part > total:
                yield Finding(
                    path=here,
                    message=f"timeouts.{name} {format_duration(part)} is longer than timeouts.total "
                    f"{format_duration(total)}",
                    help=f"make it shorter than {format_duration(total)}, or raise total",
                    related=(("total is here", whole),),
                    needs=(whole,),
                )


def _zero(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        for name in ("connect", "ttft", "idle", "total"):
            here = (*path, "timeouts", name)
            if getattr(region.timeouts, name) == 0 and facts.given(here):
                yield Finding(
                    path=here,
                    message=f"timeouts.{name} 0 would end every call at once",
                    help="write inf for no limit",
                )


RULES = (
    Rule(
        code="E321",
        severity="error",
        title="time-outs that cannot fit",
        why="The part can never run out before the whole does, so the line would have no effect.",
        example="regions: [{name: a, url: https://a.example.com, timeouts: {connect: 30s, total: 10s}}]",
        instead="regions: [{name: a, url: https://a.example.com, timeouts: {connect: 3s, total: 10s}}]",
        check=_cannot_fit,
    ),
    Rule(
        code="E322",
        severity="error",
        title="a time-out of zero",
        why="Zero is no time at all, not no limit.",
        example="regions: [{name: a, url: https://a.example.com, timeouts: {total: 0}}]",
        instead="regions: [{name: a, url: https://a.example.com, timeouts: {total: inf}}]",
        check=_zero,
    ),
)
