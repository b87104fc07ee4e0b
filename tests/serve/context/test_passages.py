"""Documents in passages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.serve.context.passages import documents, split


def test_a_passage_knows_its_headings_and_its_line() -> None:
    text = "# One\n\nfirst\n\n## Two\nsecond\n\n# Three\n\nthird\n"
    assert [(p.heading, p.line, p.text) for p in split(text)] == [
        ("One", 3, "first"),
        ("One > Two", 6, "second"),
        ("Three", 10, "third"),
    ]


def test_underlined_titles_are_headings_and_comments_in_code_are_not() -> None:
    assert [p.heading for p in split("Title\n=====\n\ntext\n")] == ["Title"]
    [passage] = split("# T\n\n```sh\n# no heading\nls\n```\n")
    assert passage.heading == "T"
    assert "# no heading" in passage.text


def test_html_is_read_without_its_tags() -> None:
    text = "<html><script>x()</script><h1>Title</h1><p>Hello &amp; <b>bye</b></p></html>"
    [passage] = split(text, ".html")
    assert passage.heading == "Title"
    assert "x()" not in passage.text
    assert "Hello &" in passage.text


@given(st.lists(st.text(alphabet="ab \n#=-`", max_size=60), max_size=30))
def test_no_word_is_lost_and_no_passage_is_too_long(parts: list[str]) -> None:
    text = "\n".join(parts)
    passages = split(text)
    assert all(len(p.text) < 2500 for p in passages)
    kept = sum(p.text.count("a") for p in passages) + sum(h.count("a") for h in {p.heading for p in passages})
    assert kept <= 2 * text.count("a")


@pytest.mark.parametrize("size", [10, 5000, 100_000])
def test_long_paragraphs_and_lines_are_cut(size: int) -> None:
    passages = split("word " * size)
    assert sum(p.text.count("word") for p in passages) >= size * 0.99
    assert max(len(p.text) for p in passages) <= 1300


def test_hidden_files_other_kinds_and_links_that_lead_out_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / ".git").mkdir(parents=True)
    (folder / "sub").mkdir()
    for name in ("a.md", "sub/b.txt", ".git/c.md", ".hidden.md", "d.png"):
        (folder / name).write_text("text")
    (tmp_path / "secret.md").write_text("secret")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    assert [path.relative_to(folder).as_posix() for path in documents(folder)] == ["a.md", "sub/b.txt"]
