"""Prompt rules and the files that they read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from edgeinf.core.config.schema import Message, PromptRule, When
from edgeinf.serve.assembly import Assembler, FileText, Template, digest
from edgeinf.serve.exchange import Exchange


def exchange(**headers: str) -> Exchange:
    """Return a request."""
    nothing: Any = None
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Exchange("POST", "/v1/chat/completions", "", named, "", nothing, nothing)


def test_places_are_filled_with_what_is_known_and_others_stay() -> None:
    template = Template(Message(content="{{ key }}|{{route}}|{{ header:X-Tone }}|{{ unknown }}|{ key }"))
    x = exchange(x_edgeinf_route="web", x_tone="dry")
    x.key_id = "a"
    assert template.filled(x) == ("system", "a|web|dry|{{ unknown }}|{ key }")


def test_what_rules_read_is_named_with_the_headers_of_their_templates() -> None:
    rule = PromptRule(when=When(headers={"X-Plan": "pro"}), prepend=(Message(content="{{ header:X-Tone }}"),))
    assembler = Assembler([rule], [None])
    assert assembler.reads(exchange(x_tone="dry")) != assembler.reads(exchange(x_tone="wet"))
    assert assembler.reads(exchange(x_plan="pro")) != assembler.reads(exchange())
    assert assembler.reads(exchange(x_other="1")) == assembler.reads(exchange())


def test_a_place_that_a_changed_file_brings_is_read_from_then_on(tmp_path: Path) -> None:
    file = tmp_path / "p.md"
    file.write_text("Hello.")
    assembler = Assembler([PromptRule(prepend=(Message(content_file=file),))], [None])
    before = assembler.refresh()
    assert assembler.refresh() == before
    file.write_text("Hello {{ session }}.")
    os.utime(file, ns=(1, 1))
    assert assembler.refresh() != before
    assert assembler.reads(exchange(x_edgeinf_session="1")) != assembler.reads(exchange())


def test_a_file_that_is_touched_or_gone_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "p.md"
    file.write_text("Hello.\n")
    text = FileText(Message(content_file=file))
    os.utime(file, ns=(1, 1))
    assert text.refresh() is False
    file.unlink()
    assert text.refresh() is False
    assert text.text == "Hello."


def test_the_version_is_that_of_role_and_text() -> None:
    assert digest((("system", "a"),)) == digest((("system", "a"),))
    assert digest((("system", "a"),)) != digest((("user", "a"),))


def test_a_template_without_places_follows_its_file(tmp_path: Path) -> None:
    file = tmp_path / "p.md"
    file.write_text("One.")
    template = Template(Message(content_file=file))
    assert template.filled(exchange()) == ("system", "One.")
    file.write_text("Two, {{ route }}.")
    template.source.refresh()
    assert [template.filled(exchange(x_edgeinf_route=route))[1] for route in ("a", "b")] == ["Two, a.", "Two, b."]
    file.write_text("Three, and no place.")
    template.source.refresh()
    assert template.filled(exchange()) == ("system", "Three, and no place.")
