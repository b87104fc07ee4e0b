"""Whatever is in a file, every output is a text, soon, and shows no credential."""

from __future__ import annotations

import json
import time
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.diagnostic import DOCS
from edgeinf.validate.check import Options, check
from edgeinf.validate.effective import effective
from edgeinf.validate.foreign.litellm_convert import convert
from edgeinf.validate.render.registry import FORMATS, renderer
from edgeinf.validate.render.text import render as render_text
from edgeinf.validate.report import Report
from tests.core.config.kit import TODAY
from tests.recipes.kit import ENV, FOLDER, NAMES, config_of

_SECRET = "sk-proj-Zx9Qw8Er7Ty6Ui5Op4As3Df2"
_ENV = {**ENV, "OPENAI_API_KEY": _SECRET, "US_KEY": "correct-horse-battery", "HOME": "/nonexistent"}
_SOURCES = [config_of(name).read_bytes() for name in NAMES] + [
    (FOLDER / "migrate-from-litellm" / "litellm.yaml").read_bytes()
]
_PIECES = [
    b"",
    b"\t",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"\xe2\x80\xa8",
    b"{",
    b"}",
    b"[",
    b"]",
    b"- ",
    b": ",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"!!binary ",
    b"'",
    b'"',
    b"|\n",
    b"${",
    b"}",
    b"${OPENAI_API_KEY}",
    b"${US_KEY:-x}",
    b"? ",
    b"---\n",
    b"...\n",
    b"#",
    b"null",
    b"yes",
    b"1e999",
    b"-.inf",
    b"0x" + b"f" * 40,
    b"9" * 400,
    b"listen: ",
    b"regions: ",
    _SECRET.encode(),
]


def outputs(data: bytes, kind: str | None = None, env: dict[str, str] | None = _ENV) -> list[str]:
    """Return every form of output for a file."""
    file, seen = check(data, "edgeinf.yaml", base=FOLDER, options=Options(env=env, today=TODAY, kind=kind))
    report = Report(files=(file,))
    made = [renderer(form)(report) for form in FORMATS] + [render_text(report, colour=True)]
    json.loads(renderer("json")(report))
    json.loads(renderer("sarif")(report))
    json.loads(renderer("gitlab")(report))
    ElementTree.fromstring(renderer("junit")(report))
    if seen is not None and seen.config is not None and not seen.errors:
        made.append(effective(seen))
    return made


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A recipe with some stretches replaced by pieces, by bytes, or by other stretches of itself."""
    data = draw(st.sampled_from(_SOURCES))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        there = draw(st.integers(0, len(data)))
        new = draw(st.sampled_from(_PIECES) | st.binary(max_size=6) | st.just(data[there : there + 40]))
        data = data[:at] + new + data[at + length :]
    return data


@given(mutated())
@settings(max_examples=400, deadline=None)
def test_mutated_recipes_give_texts_without_secrets(data: bytes) -> None:
    started = time.monotonic()
    made = outputs(data)
    assert time.monotonic() - started < 20
    for text in made:
        assert _SECRET not in text
        assert "correct-horse" not in text


_NAMES = [
    "listen",
    "regions",
    "name",
    "url",
    "api_key",
    "models",
    "upstream",
    "cache",
    "limits",
    "auth",
    "keys",
    "per",
    "prices",
    "routing",
    "model_list",
    "model_name",
    "litellm_params",
    "model",
    "api_base",
    "router_settings",
    "litellm_settings",
    "fallbacks",
    "model_group_alias",
    "general_settings",
    "master_key",
    "cache_params",
    "host",
]
_TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["os.environ/A", "${OPENAI_API_KEY}", _SECRET, "http://h/v1", "openai/gpt-4o", "10s", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_NAMES) | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(_TREES, st.sampled_from([None, "edgeinf", "litellm"]))
@settings(max_examples=300, deadline=None)
def test_values_of_any_shape_give_texts_without_secrets(tree: object, kind: str | None) -> None:
    for text in outputs(json.dumps(tree).encode(), kind):
        assert _SECRET not in text


@given(_TREES)
@settings(max_examples=200, deadline=None)
def test_a_foreign_config_of_any_shape_is_rewritten_without_its_secrets(tree: object) -> None:
    made = convert(tree if isinstance(tree, dict) else {"model_list": tree})
    assert _SECRET not in made.text
    assert all(_SECRET not in note for note in made.notes)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_texts(data: bytes) -> None:
    assert all(isinstance(text, str) for text in outputs(data))


def test_a_secret_in_the_wrong_field_is_not_shown_either() -> None:
    regions = (
        b"regions: [{name: '${US_KEY}', url: 'http://${US_KEY}.example.com/v1/', headers: {X-Team: '${US_KEY}'}}]\n"
    )
    twice = regions.replace(b"}]\n", b"}, {name: '${US_KEY}', url: 'http://b/v1'}]\n")
    doubled = b"regions: [{name: a, url: 'http://h.example/${US_KEY}/v1/chat/completions'}]\n"
    for data in (
        regions,
        doubled,
        twice,
        b"listen: {host: '${US_KEY}'}",
        b"models: [{name: '${US_KEY}', fallback: ['${US_KEY}']}]",
    ):
        assert all("correct-horse" not in text for text in outputs(data))


def test_without_an_environment_no_variable_is_shown(tmp_path: Path) -> None:
    for data in _SOURCES:
        assert all(_SECRET not in text for text in outputs(data, env=None))
    assert DOCS.startswith("https://")
