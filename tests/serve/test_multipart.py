"""Reading one field of a multipart body while it passes."""

from __future__ import annotations

import pytest

from edgeinf.core.errors import CallError
from edgeinf.serve.multipart import FieldWatch, boundary_of

BODY = (
    b'preamble\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n--bogus\r\n-\r\n--\r\n\r\n'
    b'--b\r\ncontent-disposition: form-data;\r\n name="model"\r\nContent-Type: text/plain\r\n\r\nsmall\r\n'
    b"--b\r\nContent-Disposition: form-data; name=other\r\n\r\nx\r\n--b--\r\nepilogue"
)
DATA = b'preamble\r\n--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n'
PART = b'Content-Disposition: form-data; name="%b"\r\n\r\n'


def watch(pieces: list[bytes], boundary: bytes = b"b") -> tuple[bytes, list[str]]:
    """Feed pieces and return what passed and what was seen."""
    seen: list[str] = []
    watcher = FieldWatch(boundary, b"model", seen.append)
    passed = b"".join(watcher.feed(piece) for piece in pieces)
    watcher.finish()
    return passed, seen


@pytest.mark.parametrize("at", range(1, len(BODY)))
def test_every_split_passes_the_same_bytes_and_sees_the_field(at: int) -> None:
    with pytest.raises(CallError, match="begins like a boundary"):
        watch([BODY[:at], BODY[at:]])
    plain = BODY.replace(b"--bogus", b"bogus")
    assert watch([plain[:at], plain[at:]]) == (plain, ["small"])


def test_byte_by_byte_is_the_same() -> None:
    plain = BODY.replace(b"--bogus", b"bogus")
    assert watch([bytes([byte]) for byte in plain]) == (plain, ["small"])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"--b\r\n" + PART % b"x" + b"1\n--b\r\n" + PART % b"model" + b"large\r\n--b--", id="bare-feed"),
        pytest.param(
            b'--b\r\nContent-Disposition: form-data; name="x"; name="model"\r\n\r\nl\r\n--b--', id="two-names"
        ),
        pytest.param(b'--b\r\nX: y\nContent-Disposition: form-data; name="model"\r\n\r\nl\r\n--b--', id="feed-in-head"),
        pytest.param(b'--b\r\nContent-Disposition: form-data; name="mo\\del"\r\n\r\nl\r\n--b--', id="escape"),
        pytest.param(b"--b\r\nContent-Disposition: form-data; name*=utf-8''model\r\n\r\nl\r\n--b--", id="extended"),
        pytest.param(b"--b\r\n" + PART % b"model" + b"small\r\n", id="cut"),
        pytest.param(b"no boundary at all", id="none"),
        pytest.param(b"--b\r\nX: " + b"y" * 20_000, id="endless-head"),
        pytest.param(b"--b\r\n" + PART % b"model" + b"y" * 20_000, id="endless-value"),
    ],
)
def test_what_two_readers_could_read_differently_is_refused_before_its_end_passes(body: bytes) -> None:
    watcher = FieldWatch(b"b", b"model", lambda _: None)
    passed = b""
    with pytest.raises(CallError):  # noqa: PT012 - either call may refuse it
        passed = watcher.feed(body)
        watcher.finish()
    assert len(passed) < len(body)


def test_the_end_does_not_pass_where_the_field_is_missing() -> None:
    def absent() -> None:
        raise CallError("none")

    watcher = FieldWatch(b"b", b"model", lambda _: None, absent)
    with pytest.raises(CallError, match="none"):
        watcher.feed(b"--b\r\n" + PART % b"x" + b"1\r\n--b--\r\n")


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        (b"multipart/form-data; boundary=abc", b"abc"),
        (b'multipart/form-data; charset=x; Boundary="a b"', b"a b"),
        (b"multipart/form-data", None),
    ],
)
def test_the_boundary_is_read_as_named(content_type: bytes, boundary: bytes | None) -> None:
    assert boundary_of(content_type) == boundary


def texts(pieces: list[bytes]) -> tuple[bytes, list[str]]:
    """Feed pieces to a watch that doubles each text, and return what passed and what was read."""
    said: list[str] = []

    def double(text: str) -> str:
        said.append(text)
        return 2 * text

    watcher = FieldWatch(b"b", b"model", lambda _: None, text=double)
    passed = b"".join(watcher.feed(piece) for piece in pieces)
    watcher.finish()
    return passed, said


FORM = (
    b'--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\nfile\r\n--b\r\n'
    + PART % b"model"
    + b"m\r\n--b\r\n"
    b"X: y\r\n\r\nnameless\r\n--b\r\n" + PART % b"empty" + b"\r\n--b\r\n" + PART % b"p" + b"\xff \r\n-\r\n--b--"
)


@pytest.mark.parametrize("at", [*range(1, len(FORM)), 0])
def test_every_value_but_files_and_the_field_is_read_and_replaced_at_every_split(at: int) -> None:
    pieces = [FORM[:at], FORM[at:]] if at else [bytes([byte]) for byte in FORM]
    passed, said = texts(pieces)
    assert said == ["nameless", "", "\udcff \r\n-"]
    assert passed == FORM.replace(b"nameless", b"namelessnameless").replace(b"\xff \r\n-", 2 * b"\xff \r\n-")


@pytest.mark.parametrize("step", [1000, 10**6], ids=["in-pieces", "at-once"])
def test_a_value_too_long_to_be_read_is_refused(step: int) -> None:
    body = b"--b\r\n" + PART % b"p" + b"x" * 80_000 + b"\r\n--b--"
    with pytest.raises(CallError) as refused:
        texts([body[at : at + step] for at in range(0, len(body), step)])
    assert refused.value.status == 413
