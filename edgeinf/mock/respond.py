"""From a request to a planned answer: the ordered steps."""

from __future__ import annotations

import time
from collections.abc import Callable

from edgeinf.core.errors import UsageError
from edgeinf.mock.dialects.base import Dialect, Memory, sse_plan
from edgeinf.mock.dialects.table import dialect_of
from edgeinf.mock.faults.context import Context
from edgeinf.mock.faults.table import apply, reshape
from edgeinf.mock.plan import schedule
from edgeinf.mock.script import Script, Shape
from edgeinf.mock.select import Choice, Selector
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["Responder"]

_FIXED_TIME = 1_700_000_000


class Responder:
    """Answers by one script, and remembers what the API remembers between calls."""

    def __init__(
        self,
        script: Script,
        *,
        memory: Memory | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.script = script
        self.memory = memory or Memory()
        self.memory.models = script.models
        self._selector = Selector(script, clock)

    def plan(self, ask: Ask) -> tuple[Plan, tuple[str, ...]]:
        """Plan the answer; also return the names of the faults in it."""
        ask.read()
        dialect = dialect_of(ask.path)
        refused = self._refused(ask, dialect)
        if refused is not None:
            return refused, ()
        try:
            choice = self._selector.choose(ask)
        except UsageError as error:
            return _error(dialect, 400, f"{error.message}; {error.hint or ''}"), ()
        self._identify(ask, choice)
        shape = reshape(choice.shape, choice.faults) if choice.faults else choice.shape
        plan = dialect.answer(ask, shape, self.memory) if not shape.raw else _raw_plan(ask, shape)
        standard = (("x-request-id", f"req_{ask.number:06d}"), ("x-mock-region", ask.region))
        plan.headers = [*standard, *plan.headers, *choice.headers]
        if choice.faults:
            apply(Context(plan, ask, shape, dialect, self._selector.rng), choice.faults)
        schedule(plan, choice.timing, shape, self._selector.rng)
        return plan, tuple(fault.kind for fault in choice.faults)

    def _refused(self, ask: Ask, dialect: type[Dialect]) -> Plan | None:
        if self.script.strict_models and ask.model and not self._known(ask.model):
            return _error(dialect, 404, f"the model {ask.model!r} does not exist", "not_found_error")
        key = self.script.api_key
        if key is None or f"Bearer {key}" == ask.header(b"authorization") or key == ask.header(b"x-api-key"):
            return None
        return _error(dialect, 401, "incorrect API key provided", "authentication_error")

    def _known(self, model: str) -> bool:
        return model in self.script.models or model in self.memory.adapters

    def _identify(self, ask: Ask, choice: Choice) -> None:
        ask.region = self.script.name
        if choice.shape.sampled:
            ask.read(sampled=True)
        if self.script.fixed_ids:
            ask.identity, ask.created = f"{ask.digest:016x}", _FIXED_TIME
        else:
            ask.identity, ask.created = f"{ask.region}{ask.number:06d}{ask.digest:016x}", int(time.time())


def _raw_plan(ask: Ask, shape: Shape) -> Plan:
    if ask.stream:
        return sse_plan(Piece(Kind.TOKEN, text.encode(), 1) for text in shape.raw)
    return Plan(pieces=(Piece(Kind.WHOLE, "".join(shape.raw).encode()),))


def _error(dialect: type[Dialect], status: int, message: str, kind: str = "invalid_request_error") -> Plan:
    return Plan(pieces=(Piece(Kind.WHOLE, dialect.error(status, message, kind)),), status=status)
