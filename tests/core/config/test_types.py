from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config import types as t
from edgeinf.core.config.scalar import Bad, Secret

BASE = Path("/etc/edgeinf")


def read(kind: Any, value: object) -> Any:
    return kind.__metadata__[0].read(value, BASE)


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (t.Duration, "500ms", 0.5),
        (t.Duration, 0, 0.0),
        (t.Duration, "inf", math.inf),
        (t.Size, "64KiB", 65536),
        (t.Rate, "100k/min", (100_000.0, 60.0)),
        (t.Percentage, "20%", 0.2),
        (t.Port, 0, 0),
        (t.Count, 3, 3),
        (t.Positive, 0.5, 0.5),
        (t.Url, "https://us.example.com/v1", "https://us.example.com/v1"),
        (t.Url, "http://[::1]:8000", "http://[::1]:8000"),
        (t.RedisUrl, "rediss://user:pw@h:6379/1", "rediss://user:pw@h:6379/1"),
        (t.RedisUrl, "unix:///run/redis.sock", "unix:///run/redis.sock"),
        (t.Origin, "http://localhost:3000", "http://localhost:3000"),
        (t.FilePath, "key.txt", BASE / "key.txt"),
        (t.FilePath, "/abs", Path("/abs")),
        (t.Cidr, "10.1.2.3/8", "10.0.0.0/8"),
        (t.Cidr, "::1", "::1/128"),
        (t.Pattern, "(?i)a+", "(?i)a+"),
        (t.Date, "2027-12-31", date(2027, 12, 31)),
        (t.SecretText, "abc", Secret("abc")),
        (t.HedgeDelay, "p95", "p95"),
        (t.HedgeDelay, "2s", 2.0),
        (t.LimitKey, "header:X-User", "header:X-User"),
        (t.RetryCause, "429", "429"),
        (t.Name, "support bot", "support bot"),
    ],
)
def test_what_people_write_becomes_what_the_program_uses(kind: Any, written: object, value: object) -> None:
    assert read(kind, written) == value


@pytest.mark.parametrize(
    ("kind", "written", "code"),
    [
        (t.Duration, 10, "E106"),
        (t.Duration, "10 parsecs", "E106"),
        (t.Duration, True, "E101"),
        (t.Duration, [], "E101"),
        (t.Size, "1 XB", "E106"),
        (t.Rate, "60", "E106"),
        (t.Percentage, "120%", "E106"),
        (t.Port, 65536, "E103"),
        (t.Port, "80", "E101"),
        (t.Port, 80.0, "E101"),
        (t.Count, 0, "E103"),
        (t.Count, True, "E101"),
        (t.Positive, math.inf, "E103"),
        (t.Positive, math.nan, "E103"),
        (t.Url, "api.example.com", "E107"),
        (t.Url, "ftp://h", "E107"),
        (t.Url, "htps://h", "E107"),
        (t.Url, "http://h:99999", "E107"),
        (t.Url, "http://h/v1?x=1", "E107"),
        (t.Url, "http://h h", "E107"),
        (t.RedisUrl, "http://h", "E107"),
        (t.Origin, "*", "E106"),
        (t.Origin, "http://h/path", "E106"),
        (t.FilePath, "", "E106"),
        (t.FilePath, "~nobody-at-all/x", "E106"),
        (t.Cidr, "10.0.0.0/64", "E106"),
        (t.Pattern, "(", "E106"),
        (t.Date, "31.12.2027", "E106"),
        (t.SecretText, "", "E202"),
        (t.SecretText, "a\n", "E106"),
        (t.SecretText, 5, "E101"),
        (t.Sha256, "abc", "E106"),
        (t.HeaderName, "X Team", "E106"),
        (t.HeaderValue, "a\r\nb", "E106"),
        (t.HedgeDelay, "p", "E106"),
        (t.LimitKey, "header:", "E106"),
        (t.RetryCause, "2xx", "E106"),
        (t.Name, " ", "E106"),
    ],
)
def test_what_cannot_be_meant_is_refused(kind: Any, written: object, code: str) -> None:
    with pytest.raises(Bad) as refused:
        read(kind, written)
    assert refused.value.code == code


def test_a_refused_credential_is_not_repeated() -> None:
    with pytest.raises(Bad) as refused:
        read(t.SecretText, "hunter2 ")
    assert "hunter2" not in str(refused.value)
