from __future__ import annotations

import pytest

from edgeinf.core import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.EdgeinfError, 3),
        (errors.UsageError, 2),
        (errors.ConfigError, 2),
        (errors.FindingError, 1),
        (errors.InconclusiveError, 4),
        (errors.RemoteError, 5),
        (errors.CallError, 2),
    ],
)
def test_each_kind_knows_its_exit_code_and_carries_a_hint(kind: type[errors.EdgeinfError], code: int) -> None:
    error = kind("it broke", hint="mend it")
    assert (error.exit_code, error.message, error.hint, str(error)) == (code, "it broke", "mend it", "it broke")


def test_a_call_error_carries_what_the_answer_needs() -> None:
    error = errors.CallError("no", status=429, code="limit", param="n", headers=(("retry-after", "1"),))
    assert (error.status, error.code, error.param, error.headers) == (429, "limit", "n", (("retry-after", "1"),))
