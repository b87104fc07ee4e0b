from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.redact import MASK, looks_like_secret, redact, redact_in_place

_SECRETS = [
    "sk-proj-abcdefgh12345678", "sk-ant-api03-abcdefgh", "gsk_abcdefgh12345678", "AIzaabcdefgh1234567890abc",
    "ghp_abcdefgh1234567890ab", "hf_abcdefgh12345678", "AKIAABCDEFGH1234", "xoxb-1234567890-abc",
    "xai-abcdefgh12345678", "nvapi-abcdefgh12345678", "pplx-abcdefgh12345678", "ek-abcdefgh12345678",
]  # fmt: skip


@pytest.mark.parametrize("secret", _SECRETS)
@pytest.mark.parametrize("frame", ["{}", "key={}", "x: {}\n", '{{"k":"{}"}}', "https://h/?key={}"])
def test_a_key_never_passes(secret: str, frame: str) -> None:
    assert secret not in redact(frame.format(secret))
    assert MASK in redact(frame.format(secret))
    assert secret not in redact_in_place(frame.format(secret))
    assert looks_like_secret(secret)


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer ***"),
        ("redis://user:hunter22@host/0", "redis://user:***@host/0"),
        ("x-api-key: abcdefgh", "x-api-key: ***"),
        ("api_key=abcdefgh&b=1", "api_key=***"),
        ("password: ${PASSWORD}", "password: ${PASSWORD}"),
        ("task-force and risk-averse", "task-force and risk-averse"),
    ],
)
def test_credentials_are_cut_whatever_their_form_and_words_stay(text: str, done: str) -> None:
    assert redact(text).startswith(done)


@given(st.text(), st.sampled_from(_SECRETS))
def test_redacting_twice_is_redacting_once_and_places_can_be_kept(text: str, secret: str) -> None:
    whole = f"{text} {secret} {text}"
    assert redact(redact(whole)) == redact(whole)
    assert len(redact_in_place(whole)) == len(whole)
