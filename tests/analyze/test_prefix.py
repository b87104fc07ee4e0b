"""Prefix rates on a public trace, and on prompts small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.prefix import Prefix, PrefixRule, RuleTable, load_rules, prefix
from edgeinf.analyze.run import read
from edgeinf.analyze.source import open_sources


def _log(path: Path) -> Log:
    from contextlib import ExitStack

    with ExitStack() as stack:
        options = Options(files=(str(path),), workers=1)
        return read(options, open_sources(options.files, stack), lambda what, done, total: None)


def _prefix(path: Path, rules: RuleTable, sizes: tuple[int, ...] = ()) -> Prefix:
    found = prefix(_log(path), rules, sizes=sizes)
    assert found is not None
    return found


@pytest.mark.needs_data
def test_the_mooncake_trace_gives_the_published_rates(shared_data: Path) -> None:
    expected = json.loads((shared_data / "expected.json").read_text())["traces/mooncake_conversation.jsonl.gz"]
    sizes = tuple(int(n) for n in expected["lru_block_hit"])
    found = _prefix(shared_data / "traces" / "mooncake_conversation.jsonl.gz", load_rules(), sizes)
    infinite = expected["infinite"]
    assert (found.refs, found.unique) == (expected["block_refs"], expected["unique_blocks"])
    assert found.block_rate == pytest.approx(infinite["blocks"], abs=1e-4)
    assert found.token_rate == pytest.approx(infinite["tokens"], abs=1e-4)
    assert found.request_mean_rate == pytest.approx(infinite["mean_per_request_blocks"], abs=1e-4)
    assert found.request_mean_token_rate == pytest.approx(infinite["mean_per_request_tokens"], abs=1e-4)
    assert found.any_hit_rate == pytest.approx(infinite["any_hit"], abs=1e-4)
    assert found.whole_request_rate == pytest.approx(infinite["whole_request"], abs=1e-4)
    for (size, rate), (wanted_size, wanted) in zip(found.lru, expected["lru_block_hit"].items(), strict=True):
        assert (size, rate) == (int(wanted_size), pytest.approx(wanted, abs=1e-4))
    assert found.ttl is not None
    for ttl_s, rate in found.ttl:
        assert rate == pytest.approx(expected["ttl_blocks_fixed_from_insertion_s"][str(int(ttl_s))], abs=1e-4)


RULE = PrefixRule(name="x", title="X", minimum=1024, step=512, idle_s=60, read=0.1, write=1.25)


def _trace(path: Path, *rows: tuple[int, int, list[int]]) -> Path:
    lines = [
        {"timestamp": at * 1000, "input_length": n, "output_length": 1, "hash_ids": blocks} for at, n, blocks in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("second", "cached"),
    [
        ((10, 2048, [0, 1, 2, 9]), 1536),
        ((10, 2048, [0, 8, 9, 10]), 0),
        ((70, 2048, [0, 1, 2, 3]), 0),
    ],
    ids=["three of four blocks", "one block is under the minimum", "idle for too long"],
)
def test_a_rule_counts_only_what_it_would_cache(
    tmp_path: Path, second: tuple[int, int, list[int]], cached: int
) -> None:
    trace = _trace(tmp_path / "trace", (0, 2048, [0, 1, 2, 3]), second)
    assert _prefix(trace, RuleTable(dated="now", rules=(RULE,))).providers[0].cached_tokens == cached
