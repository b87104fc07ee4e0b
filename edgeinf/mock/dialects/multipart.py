"""Read a multipart form, enough for uploads."""

from __future__ import annotations

import re

from edgeinf.mock.values import Ask

__all__ = ["Form", "read_form"]

_NAME = re.compile(rb'[; ]name="?([^";\r\n]*)"?')
_FILE = re.compile(rb'filename="?([^";\r\n]*)"?')


class Form:
    """The fields of a form, and its one file."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self.filename = ""
        self.file: bytes | None = None


def read_form(ask: Ask) -> Form | None:
    """Return the form in the body, or None if it is not multipart."""
    kind = ask.header(b"content-type") or ""
    boundary = kind.partition("boundary=")[2].partition(";")[0].strip('" ')
    if not kind.startswith("multipart/form-data") or not boundary:
        return None
    form = Form()
    for part in ask.body.split(b"--" + boundary.encode("latin-1"))[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        value = value.removesuffix(b"\r\n")
        name = _NAME.search(head)
        file = _FILE.search(head)
        if file is not None:
            form.file, form.filename = value, file.group(1).decode("utf-8", "replace")
        elif name is not None:
            form.fields[name.group(1).decode()] = value.decode("utf-8", "replace")
    return form
