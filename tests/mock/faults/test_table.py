"""The table of faults, its arguments and the order in which faults apply."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock import MockOrigin
from edgeinf.mock.faults.table import FAULTS, checked
from tests.mock.http_client import ask, chat

NEEDS = {"redirect": "redirect;to=http://127.0.0.1:9/x"}


@pytest.mark.parametrize("kind", [kind for kind in FAULTS if kind not in ("stall", "down")])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_every_fault_answers_or_ends_and_the_origin_lives_on(origin: MockOrigin, kind: str, stream: bool) -> None:
    origin.use({"fault": NEEDS.get(kind, f"{kind};for=10ms" if kind == "freeze" else kind)})
    await ask(origin, "/v1/chat/completions", chat(stream=stream))
    await origin.until_idle()
    origin.use({})

    assert origin.calls[0].faults == (kind,)
    assert origin.calls[0].outcome in ("done", "cut", "reset")
    assert (await ask(origin, "/v1/chat/completions", chat())).complete


@pytest.mark.parametrize(
    ("kind", "given", "typed"),
    [
        ("cut", {"after": "3"}, {"after": 3}),
        ("stall", {"for": "2s"}, {"for_s": 2.0}),
        ("stall", {"for": "inf"}, {"for_s": -1.0}),
        ("stall", {"for": 1.5}, {"for_s": 1.5}),
        ("close", {"said": ""}, {"said": True}),
        ("fields", {"id": "false"}, {"id": False}),
        ("status", {"retry-after-ms": "20"}, {"retry_after_ms": 20}),
        ("429", {}, {"status": 429}),
    ],
    ids=["int", "duration", "endless", "seconds", "flag", "false", "hyphens", "number"],
)
def test_arguments_are_typed(kind: str, given: dict[str, Any], typed: dict[str, Any]) -> None:
    assert checked(kind, given).arguments == typed


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("cutt", {}, "there is no fault 'cutt'"),
        ("399", {}, "there is no fault '399'"),
        ("cut", {"afer": 1}, "has no argument 'afer'"),
        ("cut", {"after": "soon"}, "after='soon' does not fit"),
        ("close", {"said": "maybe"}, "said='maybe' does not fit"),
        ("redirect", {}, "needs 'to'"),
    ],
    ids=["kind", "status", "argument", "number", "flag", "missing"],
)
def test_what_does_not_fit_is_refused(kind: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        checked(kind, given)


async def test_faults_combine(origin: MockOrigin) -> None:
    origin.use({"fault": ["gzip", "crlf", "finish;reason=length", "comment"], "answer": {"tokens": 2}})

    reply = await ask(origin, "/v1/chat/completions", chat(stream=True))

    # crlf is applied after gzip was asked for first: compressed bytes are left as they are by the order given.
    assert reply.headers["content-encoding"] == "gzip"
    assert reply.complete
