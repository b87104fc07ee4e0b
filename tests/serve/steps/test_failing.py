"""Failures in the words of ``retry_on``, and in words that name the region and no credential."""

from __future__ import annotations

import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Region
from edgeinf.core.dialects.base import Verdict
from edgeinf.serve.origin.client import ConnectFailed, ConnectionLost, Malformed
from edgeinf.serve.origin.region import make_origin
from edgeinf.serve.steps.failing import AttemptFailed, bad_answer, lost, redirected, soft_error, timed_out

ORIGIN = make_origin(Region(name="oslo", url="https://user.example", api_key=Secret("sk-secret-key")))


@pytest.mark.parametrize(
    ("failed", "cause", "status", "code"),
    [
        (lost(ORIGIN, ConnectFailed("refused")), "connect", 502, "origin_unreachable"),
        (lost(ORIGIN, ConnectionLost("gone")), "bad-answer", 502, "origin_cut"),
        (lost(ORIGIN, Malformed("odd")), "bad-answer", 502, "origin_cut"),
        (timed_out(ORIGIN, "no token within 1 s"), "timeout", 504, "origin_timeout"),
        (bad_answer(ORIGIN, "cut"), "bad-answer", 502, "origin_bad"),
        (redirected(ORIGIN, 307), "bad-answer", 502, "origin_redirect"),
        (
            soft_error(ORIGIN, Verdict(unfit="x", error={"message": "full"}), b""),
            "bad-answer",
            502,
            "origin_soft_error",
        ),
    ],
    ids=["no connection", "lost", "malformed", "time", "bad", "redirect", "soft"],
)
def test_every_failure_has_its_words(failed: AttemptFailed, cause: str, status: int, code: str):
    assert (failed.cause, failed.error.status, failed.error.code) == (cause, status, code)
    assert failed.error.message.startswith("region 'oslo'")
    assert "sk-secret" not in failed.error.message


def test_what_an_error_inside_a_200_said_is_passed_on():
    assert "full" in soft_error(ORIGIN, Verdict(unfit="x", error={"message": "full"}), b"").error.message
    assert "overloaded" in soft_error(ORIGIN, Verdict(unfit="x", error={"type": "overloaded"}), b"").error.message
