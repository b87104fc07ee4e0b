"""edgeinf's own events: no prompts, but the keys that say which requests were the same question."""

from __future__ import annotations

import msgspec

from edgeinf.analyze.readers.base import Sample
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.core.dialects import dialects
from edgeinf.core.events import REFRESH, decode

__all__ = ["READER", "UNTIMED"]

UNTIMED = -1.0  # stands for ``at`` in a shared log whose origin has no times


class EdgeinfEvents:
    """Reads what ``serve`` writes to ``events.file``."""

    name = "edgeinf-events"

    def sniff(self, sample: Sample) -> float:
        return 0.99 * sample.share("v", "keys", "scope", "cache")

    def read_line(self, line: bytes) -> Record:
        try:
            event = decode(line)
        except msgspec.DecodeError as error:
            raise Damaged("cut off" if "truncated" in str(error) else "not an event") from None
        except UnicodeDecodeError:
            raise Damaged("not UTF-8") from None
        except RecursionError:
            raise Damaged("nested too deeply") from None
        if event.reason == REFRESH:
            raise NotARequest("a refresh that no client asked for")
        dialect = dialects().get(event.dialect)
        return Record(
            at=None if event.at == UNTIMED else event.at,
            tenant=event.tenant,
            team=event.team,
            key_id=event.key_id,
            user=event.user,
            session=event.session,
            route=event.route,
            model=event.model,
            path=min(dialect.paths) if dialect is not None else event.dialect,
            request=event.request if isinstance(event.request, dict) else None,
            answer=event.response,
            status=event.status or None,
            latency_ms=event.total_ms,
            ttft_ms=event.ttft_ms,
            input_tokens=event.input_tokens,
            cached_tokens=event.cached_tokens,
            cache_write_tokens=event.cache_write_tokens,
            output_tokens=event.output_tokens,
            usd=event.usd if event.usd is not None and event.cache != "hit" else _first(event.usd_saved, event.usd),
            cache=event.cache,
            keys=event.keys,
            scope=event.scope,
            reason=(event.reason or "bypassed") if event.cache == "bypass" else None,
            trace_id=event.trace_id,
            id=event.id or None,
        )


def _first(*values: float | None) -> float | None:
    return next((v for v in values if v is not None), None)


READER = EdgeinfEvents()
