from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule, run
from edgeinf.core.config.schema import Config, Limit, Listen
from tests.core.config.kit import codes, look


def _rule(finding: Finding) -> Rule:
    def check(facts: Facts) -> Iterator[Finding]:
        yield finding

    return Rule(code="E999", severity="error", title="", why="", example="", instead="", check=check)


def test_a_finding_on_an_unknown_value_is_left_out() -> None:
    facts = Facts(config=Config(), uncertain=frozenset({("listen", "port")}))
    assert list(run([_rule(Finding(path=("listen", "port"), message="m"))], facts)) == []
    assert list(run([_rule(Finding(path=("cache",), message="m", needs=(("listen",),)))], facts)) == []
    assert len(list(run([_rule(Finding(path=("cache",), message="m", needs=(("regions",),)))], facts))) == 1


def test_items_carry_the_index_of_the_file() -> None:
    config = Config(limits=(Limit(name="b"),), listen=Listen(allowed_hosts=("x",)))
    facts = Facts(config=config, indices={("limits",): [1]})
    assert [path for path, _ in facts.items("limits")] == [("limits", 1)]
    assert [path for path, _ in facts.items("listen", "allowed_hosts")] == [("listen", "allowed_hosts", 0)]
    assert list(facts.items("auth", "keys")) == []


def test_names_come_from_what_is_written_or_not_at_all() -> None:
    written = Facts(config=Config(), tree={"regions": [{"name": "a", "url": 5}]})
    assert written.names("regions") == [(("regions", 0), "a")]
    assert Facts(config=Config(), tree={"regions": [{"nmae": "a"}]}).names("regions") is None
    assert [name for _, name in Facts(config=Config()).names("regions") or []] == ["openai", "anthropic"]


def test_a_misspelt_name_elsewhere_invents_no_dangling_reference(tmp_path: Path) -> None:
    text = "regions: [{nmae: a, url: https://x.example}]\nmodels: [{name: m, regions: [a]}]\n"
    assert codes(look(text, tmp_path)) == ["E104"]


def test_a_rule_points_past_items_that_are_faulty(tmp_path: Path) -> None:
    text = "limits:\n- 5\n- {name: a}\n"
    seen = look(text, tmp_path)
    assert [(d.code, d.span.line if d.span else 0) for d in seen.diagnostics] == [("E101", 2), ("E331", 3)]


PATHS = st.lists(st.sampled_from(["a", "b", 0, 1]), max_size=4).map(tuple)


@given(uncertain=st.frozensets(PATHS, max_size=5), path=PATHS)
def test_a_value_is_certain_if_nothing_above_or_below_it_is_uncertain(
    uncertain: frozenset[KeyPath], path: KeyPath
) -> None:
    facts = Facts(config=Config(), uncertain=uncertain)
    above = any(path[: len(u)] == u for u in uncertain)
    below = any(u[: len(path)] == path for u in uncertain)
    assert facts.within_uncertain(path) is above
    assert facts.certain(path) is not (above or below)


def test_every_text_of_a_file_is_given_in_its_order() -> None:
    tree = {"a": {"b": "one", "c": [2, "three", {"d": "four"}]}, "e": None, "f": "five"}
    facts = Facts(config=Config(), tree=tree)
    assert facts.texts() == [
        (("a", "b"), "one"),
        (("a", "c", 1), "three"),
        (("a", "c", 2, "d"), "four"),
        (("f",), "five"),
    ]
