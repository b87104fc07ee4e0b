"""What each level merges, and what it must keep apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeinf.core.dialects import by_name
from edgeinf.core.key import canonical_forms
from edgeinf.core.normalize.levels import DEFAULT_MASK, LEVELS, MASK_KINDS, level
from edgeinf.core.wire.canonical import parse_object
from tests.core.normalize.texts import nasty_texts, plain_words

_PAIRS = [json.loads(line) for line in (Path(__file__).parents[2] / "data" / "pairs.jsonl").read_text().splitlines()]
_CASES = [
    pytest.param(pair, name, wanted, id=f"{pair['id']}-{name}")
    for pair in _PAIRS
    for name, wanted in pair["merge"].items()
    if wanted is not None
]
_ALL = [level("safe"), level("loose"), level("masked"), level("masked", mask=MASK_KINDS)]
_IDS = ["safe", "loose", "masked", "masked-all"]


def forms(pair: dict[str, str], side: str, name: str) -> object:
    """Return the canonical forms of one side of a pair."""
    text = pair[side]
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    raw = text if pair["as"] == "body" else json.dumps(body)
    dialect = by_name("openai-chat")
    return canonical_forms(dialect.read("/v1/chat/completions", "", parse_object(raw.encode())), dialect, level(name))


@pytest.mark.parametrize(("pair", "name", "wanted"), _CASES)
def test_a_pair_shares_a_key_where_it_must_and_nowhere_else(pair: dict[str, str], name: str, wanted: bool) -> None:
    assert (forms(pair, "a", name) == forms(pair, "b", name)) is wanted


@pytest.mark.parametrize("at", _ALL, ids=_IDS)
@given(text=nasty_texts, role=st.sampled_from(["user", "system"]))
def test_a_level_applied_twice_is_the_level_applied_once(at: object, text: str, role: str) -> None:
    once = at.content(role, text)  # type: ignore[attr-defined]
    assert at.content(role, once) == once  # type: ignore[attr-defined]


@pytest.mark.parametrize("at", _ALL, ids=_IDS)
@given(code=nasty_texts.filter(lambda text: "`" not in text), words=plain_words)
def test_what_is_in_a_code_fence_keeps_every_character(at: object, code: str, words: str) -> None:
    fence = f"```\n{code}\n```"
    for role in ("system", "user"):
        assert fence in at.content(role, f"{words}\n{fence}\n{words}")  # type: ignore[attr-defined]


@pytest.mark.parametrize("at", _ALL, ids=_IDS)
@given(
    words=plain_words,
    kept=st.sampled_from(
        [
            "https://example.com/Some/Path?Query=A%20B&x=1#Frag",
            "HTTP://EXAMPLE.COM/",
            "/usr/Local/Lib",
            "C:\\Users\\Ada\\File.TXT",
            "./Run.sh",
            "`Get  User`",
            "``a ` B``",
            '"Exactly  This Text"',
            "'It Is  Quoted'",
            "«Déjà  Vu»",
            "getUserName",
            "GetUser",
            "MAX_TOKENS",
            "NaCl",
            "-V",
            "2⁵",
            "Straße".lower(),
            "&&",
            "-5",
            "1,234",
            "1.234",
            "世界",
        ]
    ),
)
def test_protected_spans_keep_every_character(at: object, words: str, kept: str) -> None:
    for role in ("system", "user"):
        assert f" {kept} " in at.content(role, f"{words} {kept} {words}")  # type: ignore[attr-defined]
        assert kept in at.content(role, f"{words} {kept}")  # type: ignore[attr-defined]


@pytest.mark.parametrize("at", _ALL, ids=_IDS)
@given(
    lines=st.lists(
        st.sampled_from(["def f(x):", "    return  x", "\tif X:", "pass", "  y = 1"]), min_size=2, max_size=6
    ).filter(lambda lines: lines[-1].startswith((" ", "\t")))
)
def test_indented_lines_keep_their_white_space(at: object, lines: list[str]) -> None:
    done = at.content("user", "x\n" + "\n".join(lines))  # type: ignore[attr-defined]
    assert [len(line) - len(line.lstrip()) for line in done.splitlines()[1:]] == [
        len(line) - len(line.lstrip()) for line in lines
    ]


@given(text=nasty_texts)
def test_exact_changes_nothing(text: str) -> None:
    assert LEVELS["exact"].content("user", text) == text
    assert LEVELS["exact"].content("user", [{"type": "text", "text": text}]) == [{"type": "text", "text": text}]


@given(text=nasty_texts)
def test_a_text_is_its_single_part_from_safe_on(text: str) -> None:
    for at in _ALL:
        assert at.content("user", [{"type": "text", "text": text}]) == at.content("user", text)


@given(part=st.fixed_dictionaries({"type": st.sampled_from(["image_url", "input_audio", "x"]), "text": nasty_texts}))
def test_parts_other_than_text_stay(part: dict[str, str]) -> None:
    for at in _ALL:
        assert at.content("user", [part]) == [part]


def test_a_fence_that_one_part_opens_goes_on_in_the_next() -> None:
    parts = [{"type": "text", "text": "See:\n```"}, {"type": "text", "text": "Get  User\n```\nThe  End."}]
    assert level("loose").content("user", parts)[1]["text"] == "Get  User\n```\nthe end"


def test_only_the_ends_of_a_message_are_trimmed_not_those_of_its_parts() -> None:
    parts = [{"type": "text", "text": "\na "}, {"type": "text", "text": "\nb "}]
    assert [part["text"] for part in level("safe").content("user", parts)] == ["a ", "\nb"]


@pytest.mark.parametrize("text", ["", " ", "\n", " \n\t"])
def test_a_text_of_white_space_only_is_another_question_than_none(text: str) -> None:
    assert level("safe").content("user", text) == text


def test_masked_masks_system_turns_and_leaves_user_turns() -> None:
    at = level("masked")
    assert at.content("system", "It is 2024-05-01.") == at.content("developer", "It is 2025-01-31.")
    assert at.content("user", "Was it 2024-05-01?") != at.content("user", "Was it 2025-01-31?")


def test_a_kind_for_user_turns_masks_all_turns() -> None:
    at = level("masked", mask=("user:timestamps",))
    assert at.content("user", "Was it 2024-05-01?") == at.content("user", "Was it 2025-01-31?")
    assert at.content("system", "It is 2024-05-01.") == at.content("system", "It is 2025-01-31.")
    assert at.content("system", "[req-8f3a2b1c]") != at.content("system", "[req-8f3a2b1d]")


def test_masked_touches_descriptions_of_tools_and_nothing_else_of_them() -> None:
    schema = {"type": "object", "properties": {"At": {"description": "since 2024-05-01"}}}
    tools = [
        {
            "type": "function",
            "function": {"name": "F", "description": "As of 2024-05-01, Do it.", "parameters": schema},
        },
        {"name": "g", "description": "As of 2024-05-01", "input_schema": schema},
    ]
    done = level("masked").tools(tools)
    assert done[0]["function"]["description"] == "As of \x1atimestamp\x1a, Do it."
    assert done[1]["description"] == "As of \x1atimestamp\x1a"
    assert done[0]["function"]["parameters"] == done[1]["input_schema"] == schema
    assert all(level(name).tools(tools) == tools for name in ("exact", "safe", "loose"))


@pytest.mark.parametrize(
    ("mask", "tag"),
    [
        (DEFAULT_MASK, "masked"),
        (tuple(reversed(DEFAULT_MASK)), "masked"),
        (("uuids",), "masked:uuids"),
        ((), "masked:none"),
        (("user:uuids",), "masked:user:uuids,uuids"),
    ],
)
def test_other_masks_are_another_level_in_the_key(mask: tuple[str, ...], tag: str) -> None:
    assert level("masked", mask=mask).tag == tag


def test_without_masks_masked_does_what_loose_does() -> None:
    text = "At 2024-05-01 10:00  [req-8f3a2b1c]"
    assert level("masked", mask=()).content("system", text) == level("loose").content("system", text)


def test_unknown_levels_and_kinds_are_refused() -> None:
    with pytest.raises(KeyError, match="unknown kind of mask 'emails'"):
        level("masked", mask=("emails",))
    with pytest.raises(KeyError):
        level("fuzzy")


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["It Is", 'say "Hi" Now', "a\\b C", "“Q” R", "x'S T"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("at", _ALL[1:3], ids=_IDS[1:3])
@given(value=_VALUES, role=st.sampled_from(["user", "system"]))
@example(value={"\\": "A"}, role="user")
@example(value={"\\\\": 'B "C" \\'}, role="system")
def test_json_in_a_prompt_keeps_its_values(at: object, value: object, role: str) -> None:
    done = at.content(role, "Look: " + json.dumps({"Data": value}))  # type: ignore[attr-defined]
    assert json.loads(done.removeprefix("look: ")) == {"Data": value}


_URLS = st.builds(
    "{}://{}/{}?{}#{}".format,
    st.sampled_from(["http", "HTTPS", "s3", "redis"]),
    st.sampled_from(["example.com", "EXAMPLE.Com:8080", "user@Host.io", "[::1]"]),
    st.text("abcXYZ09-._~%!$&'()*+,;=:@/", max_size=12),
    st.text("abcXYZ09-._~%!$&()*+,;=:@/?", max_size=8),
    st.text("abcXYZ09", max_size=4),
)


@pytest.mark.parametrize("at", _ALL, ids=_IDS)
@given(url=_URLS, before=plain_words, after=plain_words)
def test_urls_keep_every_character(at: object, url: str, before: str, after: str) -> None:
    for role in ("system", "user"):
        assert f" {url} " in at.content(role, f"{before} {url} {after}")  # type: ignore[attr-defined]
        assert url in at.content(role, f"{before} {url}")  # type: ignore[attr-defined]
