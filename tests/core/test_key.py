"""Keys: what is in them, what is not, and that nothing else decides."""

from __future__ import annotations

import copy
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects import by_name, dialects
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.key import (
    Form,
    KeyExtras,
    Scope,
    canonical_forms,
    digest_of,
    event_key,
    hash_id,
    key_space,
    keys,
    make_key,
)
from edgeinf.core.normalize.levels import LEVELS, level
from edgeinf.core.wire.canonical import JsonObject, parse_object
from tests.core.normalize.texts import nasty_texts

_PATHS = {name: sorted(dialect.paths)[0] for name, dialect in dialects().items()}
_BODIES: dict[str, JsonObject] = {
    "openai-chat": {
        "model": "m",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
    },
    "openai-completions": {"model": "m", "prompt": "Once "},
    "openai-responses": {"model": "m", "input": "Hi", "instructions": "Be kind."},
    "openai-embeddings": {"model": "m", "input": "Hi"},
    "anthropic-messages": {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]},
    "rerank": {"model": "m", "query": "q", "documents": ["a", "b"]},
    "opaque": {"model": "m", "prompt": "a cat"},
}
_SCOPE = Scope("key", "acme")


def forms(name: str, body: JsonObject, at: str = "exact", extras: KeyExtras | None = None) -> list[Form]:
    """Return the forms of a body in a dialect."""
    dialect = by_name(name)
    call = dialect.read(_PATHS[name], "", body)
    return canonical_forms(call, dialect, LEVELS[at], extras or KeyExtras())


def fields(names: str) -> list[Any]:
    """Return (dialect, field) pairs for parametrising."""
    return [
        pytest.param(dialect, field, id=f"{dialect.name}-{field}")
        for dialect in dialects().values()
        for field in sorted(getattr(dialect, names))
    ]


# Values that a field may take without the body ceasing to be a call.
_VALUES: dict[str, list[Any]] = {
    "model": ["m1", "m2"],
    "messages": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]],
    "input": ["a", "b"],
    "prompt": ["a", "b"],
    "query": ["a", "b"],
    "documents": [["a"], ["b"]],
    "texts": [["a"], ["b"]],
    "n": [1, 2],
    "stream": [True, False],
    "top_n": [1, 2],
    "encoding_format": ["float", "base64"],
}


@pytest.mark.parametrize(("dialect", "field"), fields("keyed_fields"))
@pytest.mark.parametrize("at", list(LEVELS))
def test_a_change_in_a_keyed_field_changes_the_key(dialect: Dialect, field: str, at: str) -> None:
    body = _BODIES[dialect.name]
    first, second = ({**body, field: value} for value in _VALUES.get(field, [{"x": 1}, {"x": 2}]))
    assert forms(dialect.name, first, at) != forms(dialect.name, second, at)
    if field not in body:
        assert forms(dialect.name, first, at) != forms(dialect.name, body, at)


@pytest.mark.parametrize(("dialect", "field"), fields("unkeyed"))
@pytest.mark.parametrize("at", list(LEVELS))
def test_a_change_in_an_unkeyed_field_does_not(dialect: Dialect, field: str, at: str) -> None:
    body = _BODIES[dialect.name]
    plain = forms(dialect.name, {k: v for k, v in body.items() if k != field}, at)
    for value in _VALUES.get(field, [{"x": 1}, {"x": 2}]):
        assert forms(dialect.name, {**body, field: value}, at) == plain


@pytest.mark.parametrize("name", list(_BODIES))
@given(field=st.text(min_size=1, max_size=6).map(lambda name: f"zz_{name}"), value=st.integers() | st.text(max_size=5))
def test_an_unknown_field_is_in_the_key(name: str, field: str, value: object) -> None:
    body = _BODIES[name]
    known = forms(name, body, "masked")
    assert forms(name, {**body, field: value}, "masked") != known
    assert forms(name, {**body, field: value}) != forms(name, {**body, field: [value]})


_EXTRAS = KeyExtras(origin="o", namespace="n", sample="1", headers=(("openai-beta", "x"),))


@pytest.mark.parametrize(
    "other",
    [
        {"origin": "p"},
        {"namespace": "m"},
        {"sample": "2"},
        {"sample": ""},
        {"headers": (("openai-beta", "y"),)},
        {"headers": (("anthropic-beta", "x"),)},
        {"headers": ()},
        {"namespace": "o", "origin": "n"},
    ],
)
def test_what_enters_besides_the_body_changes_the_key(other: dict[str, Any]) -> None:
    changed = KeyExtras(
        **{name: other.get(name, getattr(_EXTRAS, name)) for name in ("origin", "namespace", "sample", "headers")}
    )
    body = _BODIES["openai-chat"]
    assert forms("openai-chat", body, extras=changed) != forms("openai-chat", body, extras=_EXTRAS)


def test_dialect_path_query_model_and_level_are_in_the_key() -> None:
    chat, body = by_name("openai-chat"), _BODIES["openai-chat"]
    seen = [
        canonical_forms(chat.read("/v1/chat/completions", query, body), chat, LEVELS["exact"])
        for query in ("", "a=1", "a=2")
    ]
    seen += [forms("openai-chat", body, at) for at in ("safe", "loose", "masked")]
    seen.append(canonical_forms(chat.read("/v1/chat/completions", "", body), chat, level("masked", mask=("uuids",))))
    rerank = by_name("rerank")
    seen += [canonical_forms(rerank.read(p, "", _BODIES["rerank"]), rerank, LEVELS["exact"]) for p in rerank.paths]
    digests = [make_key(form, _SCOPE).trust for (form,) in seen]
    assert len(set(digests)) == len(digests)


_scopes = st.builds(Scope, st.sampled_from(["key", "user", "team", "shared"]), st.text(max_size=8))


@given(_scopes, _scopes)
def test_two_scopes_share_nothing(a: Scope, b: Scope) -> None:
    (form,) = forms("openai-chat", _BODIES["openai-chat"])
    same = a == b
    assert (make_key(form, a) == make_key(form, b)) is same
    assert (make_key(form, a).trust == make_key(form, b).trust) is same
    assert (make_key(form, a).find == make_key(form, b).find) is same


def test_the_seed_moves_where_an_entry_is_found_and_not_what_proves_it() -> None:
    (form,) = forms("openai-chat", _BODIES["openai-chat"])
    one, two = make_key(form, _SCOPE, seed=1), make_key(form, _SCOPE, seed=2)
    assert one.find != two.find
    assert one.trust == two.trust
    assert (len(one.find), len(one.trust)) == (16, 32)


def test_the_spread_hangs_on_the_body_alone() -> None:
    (plain,) = forms("openai-chat", _BODIES["openai-chat"])
    (other,) = forms("openai-chat", _BODIES["openai-chat"], extras=_EXTRAS)
    assert plain.digest == other.digest
    assert plain != other


def test_an_event_names_a_form_only_to_who_knows_the_secret() -> None:
    (form,) = forms("openai-chat", _BODIES["openai-chat"])
    assert event_key(form, b"s") == event_key(form, b"s") != event_key(form, b"t")
    assert key_space(b"s") != key_space(b"t")
    assert hash_id("acme", b"s") == hash_id("acme", b"s") != hash_id("acme", b"t")
    assert "acme" not in hash_id("acme", b"s")
    event_key(form, b"s" * 200)


def test_digests_forget_the_order_of_names_and_not_of_items() -> None:
    assert digest_of([{"a": 1, "b": 2}]) == digest_of([{"b": 2, "a": 1}])
    assert digest_of([1, 2]) != digest_of([2, 1])


def test_a_body_is_not_changed_by_keying_it() -> None:
    for name, body in _BODIES.items():
        before = copy.deepcopy(body)
        for at in LEVELS:
            forms(name, body, at)
        assert body == before


@given(st.lists(st.text(max_size=5), min_size=1, max_size=5))
def test_an_embedding_has_one_key_per_input_whoever_asks_along(inputs: list[str]) -> None:
    together = forms("openai-embeddings", {"model": "m", "input": inputs})
    alone = [forms("openai-embeddings", {"model": "m", "input": text})[0] for text in inputs]
    assert together == alone


def test_equal_requests_have_equal_keys_however_they_are_written() -> None:
    body = json.dumps(_BODIES["openai-chat"])
    spaced = json.dumps(dict(reversed(_BODIES["openai-chat"].items())), indent=4)
    api = by_name("openai-chat")
    made = [
        keys(api.read("/v1/chat/completions", "", parse_object(raw.encode())), api, LEVELS["safe"], _SCOPE)
        for raw in (body, spaced)
    ]
    assert made[0] == made[1]


@given(text=nasty_texts, name=st.sampled_from(["safe", "loose", "masked"]))
def test_texts_that_must_stay_exact_are_exact_at_every_level(text: str, name: str) -> None:
    at = LEVELS[name]
    chat = by_name("openai-chat")
    messages = [
        {
            "role": "assistant",
            "content": text,
            "tool_calls": [{"id": text, "function": {"name": "f", "arguments": text}}],
        },
        {"role": "tool", "content": text, "tool_call_id": text},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": text}}, {"type": "text", "text": "a"}]},
        {"role": "assistant", "content": text},
    ]
    body = {"model": text or "m", "messages": messages, "stop": text, "response_format": {"schema": {"enum": [text]}}}
    (keyed,) = chat.keyed(chat.read("/v1/chat/completions", "", body), at)
    assert keyed == body
    messages_api = by_name("anthropic-messages")
    blocks = [{"type": "tool_result", "tool_use_id": text, "content": [{"type": "text", "text": text}]}]
    turns = [{"role": "user", "content": blocks}, {"role": "assistant", "content": text}]
    body = {
        "model": "m",
        "max_tokens": 1,
        "messages": turns,
        "tools": [{"name": "f", "input_schema": {"enum": [text]}}],
    }
    (keyed,) = messages_api.keyed(messages_api.read("/v1/messages", "", body), at)
    assert keyed == body
    for dialect_name, other in (
        ("openai-completions", {"model": "m", "prompt": text, "suffix": text}),
        ("rerank", {"model": "m", "query": text, "documents": [text]}),
    ):
        api = by_name(dialect_name)
        assert api.keyed(api.read(_PATHS[dialect_name], "", other), at) == [other]
    embeddings = by_name("openai-embeddings")
    call = embeddings.read("/v1/embeddings", "", {"model": "m", "input": [text]})
    assert embeddings.keyed(call, at) == [{"model": "m", "input": text}]
    responses = by_name("openai-responses")
    items = [{"type": "function_call_output", "call_id": text, "output": text}, {"role": "assistant", "content": text}]
    body = {"model": "m", "input": items, "text": {"format": {"schema": {"enum": [text]}}}}
    assert responses.keyed(responses.read("/v1/responses", "", body), at) == [body]


def merges(texts: list[tuple[str, str]], at: str) -> tuple[int, list[tuple[str, str]]]:
    """Return how many texts join an earlier, different one, and the pairs among them whose labels differ."""
    first: dict[Form, tuple[str, str]] = {}
    joined, wrong = 0, []
    for text, label in texts:
        (form,) = forms("openai-chat", {"model": "m", "messages": [{"role": "user", "content": text}]}, at)
        known = first.setdefault(form, (text, label))
        joined += known[0] != text
        if known[0] != text and known[1] != label:
            wrong.append((known[0], text))
    return joined, wrong


def intents(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Return (text, label) pairs of the labelled sets."""
    import csv
    import io

    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    rows = csv.reader(io.StringIO(gzip.decompress((data / "text/banking77_test.csv.gz").read_bytes()).decode()))
    found["banking77"] = [(row[0], row[1]) for row in list(rows)[1:]]
    clinc = json.loads(gzip.decompress((data / "text/clinc150.json.gz").read_bytes()))
    found["clinc150"] = [(text, label) for split in clinc.values() for text, label in split]
    return found


@pytest.mark.needs_data
def test_questions_of_different_intent_are_not_merged_at_safe(
    shared_data: Path, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, texts in intents(shared_data).items():
        counts = {at: merges(texts, at) for at in ("safe", "loose", "masked")}
        stated = {at: f"{joined} merged, {len(wrong)} of other intent" for at, (joined, wrong) in counts.items()}
        record_property(name, f"{len(texts)} texts: {stated}")
        with capsys.disabled():
            print(f"\n{name}: {len(texts)} texts; " + "; ".join(f"{at}: {said}" for at, said in stated.items()))
        assert counts["safe"][1] == []
        assert len(counts["loose"][1]) <= len(texts) // 1000
        assert counts["masked"] == counts["loose"]
