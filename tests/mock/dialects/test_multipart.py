"""Reading forms."""

from __future__ import annotations

import pytest

from edgeinf.mock.dialects.multipart import read_form
from edgeinf.mock.values import Ask

BODY = (
    b'--xx\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper\r\n'
    b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n'
    b"\x00\r\n\r\n\xff\r\n--xx--\r\n"
)


def test_fields_and_the_file_are_told_apart() -> None:
    form = read_form(Ask("POST", "/", "", [(b"content-type", b'multipart/form-data; boundary="xx"')], BODY))

    assert form is not None
    assert (form.fields, form.filename, form.file) == ({"model": "whisper"}, "a.wav", b"\x00\r\n\r\n\xff")


@pytest.mark.parametrize("kind", [b"application/json", b"multipart/form-data", b"text/plain; boundary=xx"])
def test_what_is_no_form_is_none(kind: bytes) -> None:
    assert read_form(Ask("POST", "/", "", [(b"content-type", kind)], BODY)) is None
