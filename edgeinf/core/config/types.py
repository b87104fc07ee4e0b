"""Scalars of the config: each reads what people write and holds what the program uses.

Durations are seconds, sizes bytes, rates (count, period in seconds), percentages fractions.
"""

from __future__ import annotations

import math
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from edgeinf.core import units
from edgeinf.core.config.scalar import Bad, Scalar, Secret

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Cidr",
    "Count",
    "Date",
    "Duration",
    "FilePath",
    "HeaderName",
    "HeaderValue",
    "HedgeDelay",
    "Latitude",
    "LimitKey",
    "Longitude",
    "Name",
    "Natural",
    "Origin",
    "Pattern",
    "Percentage",
    "Port",
    "Positive",
    "Rate",
    "RedisUrl",
    "RetryCause",
    "SecretText",
    "Sha256",
    "Size",
    "Url",
    "Weight",
]


def _show(value: object) -> str:
    if value is None:
        return "an empty value"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value)


def _text(value: object, what: str, example: str) -> str:
    if not isinstance(value, str):
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise Bad(f"{_show(value)} is not {what}", help=f"write it as text, such as {example}")
        raise Bad(f"{_show(value)} is not {what}", code="E101", help=f"for example {example}")
    return value


def _unit(parse: Callable[[str], Any], what: str, example: str, unit: str) -> Callable[[Any, Path], Any]:
    def read(value: Any, base: Path) -> Any:
        if value == 0 and isinstance(value, int) and not isinstance(value, bool) and unit:
            return parse("0")
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise Bad(f"{value} has no unit", help=f"write {value}{unit}, if that is what you mean")
        text = _text(value, what, example)
        try:
            return parse(text)
        except ValueError:
            raise Bad(f"{text!r} is not {what}", help=f"for example {example}") from None

    return read


def _number(low: float, high: float | None, whole: bool) -> Callable[[Any, Path], Any]:
    what = "a whole number" if whole else "a number"

    def read(value: Any, base: Path) -> Any:
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            hint = None
            if isinstance(value, str) and re.fullmatch(r"\d[\d_]*|\d+(\.\d+)?[eE]\d+", value):
                hint = "write digits only, without quotes"
            raise Bad(f"{_show(value)} is not {what}", code="E101", help=hint)
        if not math.isfinite(value) or not value >= low or (high is not None and not value <= high):
            bounds = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
            raise Bad(f"{value} is out of range", code="E103", help=f"{what} {bounds}")
        return value

    return read


def _numeric(low: float, high: float | None = None, *, whole: bool = True) -> Scalar:
    schema: dict[str, Any] = {"type": "integer" if whole else "number", "minimum": low}
    if high is not None:
        schema["maximum"] = high
    return Scalar(_number(low, high, whole), schema, max(low, 1))


def _matching(pattern: str, what: str, example: str) -> Callable[[Any, Path], str]:
    compiled = re.compile(pattern)

    def read(value: Any, base: Path) -> str:
        text = _text(value, what, example)
        if compiled.fullmatch(text) is None:
            raise Bad(f"{text!r} is not {what}", help=f"for example {example}")
        return text

    return read


_HOST = r"(?:\w(?:[\w.-]*\w)?\.?|\[[0-9A-Fa-f:.]+(?:%25[A-Za-z0-9]+)?\])"
_AUTHORITY = rf"(?:[^@/?#\s]*@)?{_HOST}(?::(?P<port>\d{{1,5}}))?"
_HTTP = re.compile(rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://{_AUTHORITY}(?P<rest>[/?#][^\s]*)?")
_REDIS_MANY = rf"rediss?\+(?:cluster://(?:[^@/\s]*@)?{_HOST}(?::\d+)?(?:,{_HOST}(?::\d+)?)*/?|sentinel://(?:[^@/\s]*@)?"
_REDIS_MANY += rf"{_HOST}(?::\d+)?(?:,{_HOST}(?::\d+)?)*/[^/\s?]+(?:/\d+)?)"
_REDIS = re.compile(rf"(?:{_REDIS_MANY}|rediss?://{_AUTHORITY}(?:/\d*)?|unix://(?:[^@/\s]*@)?/[^\s?]+)(?:\?[^\s#]*)?")


def _url(value: Any, base: Path) -> str:
    example = "https://api.example.com/v1"
    text = _text(value, "a URL", example)
    found = _HTTP.fullmatch(text)
    if found is None:
        raise Bad(f"{text!r} is not a URL", code="E107", help=f"for example {example}")
    if found["scheme"].lower() not in ("http", "https"):
        raise Bad(f"{found['scheme']!r} is not a scheme of a region", code="E107", help="one of: http, https")
    if found["port"] and not 0 < int(found["port"]) < 65536:
        raise Bad(f"port {found['port']} is out of range", code="E107", help="from 1 to 65535")
    if "?" in (found["rest"] or "") or "#" in (found["rest"] or ""):
        raise Bad(f"{text!r} carries a query or a fragment", code="E107", help="end it with its path")
    return text


def _redis(value: Any, base: Path) -> str:
    example = "redis://127.0.0.1:6379/0"
    text = _text(value, "a Redis URL", example)
    if _REDIS.fullmatch(text) is None:
        raise Bad(f"{text!r} is not a Redis URL", code="E107", help=f"for example {example}")
    return text


def _origin(value: Any, base: Path) -> str:
    example = "https://chat.example.com"
    text = _text(value, "a web origin", example)
    if text == "*":
        raise Bad("'*' would let every web page spend your tokens", help=f"name each origin: {example}")
    if re.fullmatch(rf"[a-z][a-z0-9+.-]*://{_HOST}(?::\d{{1,5}})?", text) is None:
        raise Bad(f"{text!r} is not a web origin", help=f"scheme and host without a path: {example}")
    return text


def _file(value: Any, base: Path) -> Path:
    text = _text(value, "a path", "~/edgeinf/key.txt")
    if not text or "\0" in text:
        raise Bad("the path is empty" if not text else "a path cannot hold a zero byte")
    try:
        return base / Path(text).expanduser()
    except RuntimeError:  # no such user's home
        raise Bad(f"{text!r} names a home directory that does not exist") from None


def _cidr(value: Any, base: Path) -> str:
    text = _text(value, "an address or network", "10.0.0.0/8")
    import ipaddress

    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise Bad(f"{text!r} is not an address or network", help="for example 10.0.0.0/8 or ::1") from None


def _pattern(value: Any, base: Path) -> str:
    text = _text(value, "a regular expression", "'(?i)ignore all'")
    import regex

    try:
        regex.compile(text)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise Bad(f"the regular expression does not compile: {error}", help="see docs.python.org/library/re") from None
    return text


def _date(value: Any, base: Path) -> date:
    text = _text(value, "a date", '"2027-12-31"')
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Bad(f"{text!r} is not a date", help='for example "2027-12-31"') from None


def _secret(value: Any, base: Path) -> Secret:
    if not isinstance(value, str):
        raise Bad("a credential must be text", code="E101", help="put it in quotes, or name a variable: ${API_KEY}")
    if not value.strip():
        raise Bad("the credential is empty", code="E202", help="name a variable that is set, or leave the line out")
    if value != value.strip() or "\n" in value or not value.isprintable():
        raise Bad("the credential holds white space or control characters", help="check the variable for a line end")
    return Secret(value)


def _hedge(value: Any, base: Path) -> float | str:
    if isinstance(value, str) and re.fullmatch(r"p\d{1,2}(\.\d+)?", value):
        return value
    seconds: float = _unit(units.parse_duration, "a duration or percentile", "800ms or p95", "s")(value, base)
    return seconds


_STRING = {"type": "string"}
_DURATION_RE = r"^\s*(\d+(\.\d+)?\s*(ms|s|m|min|h|d)|0(\.0+)?|inf)\s*$"
_DURATION_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "string", "pattern": _DURATION_RE}, {"const": 0}]}


def _pattern_schema(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


_SIZE_RE = r"^\s*(\d+(\.\d+)?\s*([KMGT]i?)?B|0)\s*$"
_RATE_RE = r"^\s*\d+(\.\d+)?[kKM]?\s*/\s*(s|sec|m|min|h|hour|d|day)\s*$"

Duration = Annotated[
    float,
    Scalar(_unit(units.parse_duration, "a duration", "500ms, 10s, 5m, 24h, 30d", "s"), _DURATION_SCHEMA, 1.0),
]
Size = Annotated[
    int,
    Scalar(
        _unit(units.parse_size, "a size", "64KiB, 256MiB, 2GiB", "MiB"),
        {"anyOf": [{"type": "string", "pattern": _SIZE_RE}, {"const": 0}]},
        1,
    ),
]
Rate = Annotated[
    tuple[float, float],
    Scalar(
        _unit(units.parse_rate, "a rate", "60/min, 100k/h", "/min"),
        _pattern_schema(_RATE_RE),
        (1.0, 60.0),
    ),
]
Percentage = Annotated[
    float,
    Scalar(
        _unit(units.parse_percentage, "a percentage", "20%", "%"),
        _pattern_schema(r"^\s*(100(\.0+)?|\d{1,2}(\.\d+)?)\s*%\s*$"),
        0.1,
    ),
]
Natural = Annotated[int, _numeric(0)]
Count = Annotated[int, _numeric(1)]
Port = Annotated[int, _numeric(0, 65535)]
Positive = Annotated[float, _numeric(0, whole=False)]
Weight = Annotated[float, _numeric(0, 1_000_000, whole=False)]
Latitude = Annotated[float, _numeric(-90, 90, whole=False)]
Longitude = Annotated[float, _numeric(-180, 180, whole=False)]
_NAME_RE = r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?"
Name = Annotated[
    str,
    Scalar(_matching(_NAME_RE, "a name", "support-bot"), {"type": "string", "minLength": 1}, "unset"),
]
HeaderName = Annotated[
    str,
    Scalar(
        _matching(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "a header name", "X-Team"),
        {"type": "string", "pattern": r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},
        "X-Unset",
    ),
]
HeaderValue = Annotated[
    str,
    Scalar(_matching(r"[^\r\n\x00]*", "a header value", "search"), _STRING, "unset"),
]
Url = Annotated[str, Scalar(_url, _pattern_schema(r"^https?://[^\s?#]+$"), "http://unset.invalid")]
RedisUrl = Annotated[
    str, Scalar(_redis, _pattern_schema(r"^(rediss?(\+(sentinel|cluster))?|unix)://\S+$"), "redis://unset.invalid")
]
Origin = Annotated[str, Scalar(_origin, _pattern_schema(r"^[a-z][a-z0-9+.-]*://[^/\s]+$"), "http://unset.invalid")]
FilePath = Annotated[Path, Scalar(_file, {"type": "string", "minLength": 1}, Path("/dev/null"))]
Cidr = Annotated[str, Scalar(_cidr, _STRING, "192.0.2.0/24")]
Pattern = Annotated[str, Scalar(_pattern, _STRING, "(?!)")]
Date = Annotated[date, Scalar(_date, _pattern_schema(r"^\d{4}-\d{2}-\d{2}$"), date.max)]
SecretText = Annotated[Secret, Scalar(_secret, {"type": "string"}, Secret("unset"))]
Sha256 = Annotated[
    str,
    Scalar(
        _matching(r"[0-9a-fA-F]{64}", "a SHA-256 (64 hex digits)", "what `edgeinf keys hash` prints"),
        _pattern_schema("^[0-9a-fA-F]{64}$"),
        "0" * 64,
    ),
]
RetryCause = Annotated[
    str,
    Scalar(
        _matching(r"connect|timeout|bad-answer|[45](?:xx|\d\d)", "a cause to retry on", 'connect, timeout, "429", 5xx'),
        {"type": "string", "pattern": r"^(connect|timeout|bad-answer|[45](xx|\d\d))$"},
        "connect",
    ),
]
LimitKey = Annotated[
    str,
    Scalar(
        _matching(
            r"key|team|session|ip|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+",
            "something to count by",
            "key, team, session, ip, header:X-User",
        ),
        {"type": "string", "pattern": r"^(key|team|session|ip|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+)$"},
        "key",
    ),
]
HedgeDelay = Annotated[
    float | str,
    Scalar(
        _hedge,
        {"anyOf": [*_DURATION_SCHEMA["anyOf"], {"type": "string", "pattern": r"^p\d{1,2}(\.\d+)?$"}]},
        "p95",
    ),
]
