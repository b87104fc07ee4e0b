import random

from edgeinf.probe.choose import agent_loop, rank, recommend
from tests.probe.made import attempt_of, run_of


def _run(middle, name, seed, n=60, spread=0.05):
    rng = random.Random(seed)
    return run_of([middle * (1 + spread * rng.gauss(0, 1)) for _ in range(n)], name)


def _advice(**targets):
    ranking = rank(targets, "ttft_ms", "warm", 200, 1)
    return ranking, recommend(ranking)


def test_identical_regions_are_called_indistinguishable():
    told = 0
    for seed in range(40):
        ranking = rank({n: _run(100, n, f"{n}{seed}", 20) for n in ("a", "b", "c")}, "ttft_ms", "warm", 20, seed)
        told += len(recommend(ranking).indistinguishable) < 2
    assert told <= 5  # 5 % of 40 and two standard deviations


def test_regions_five_per_cent_apart_are_told_apart_with_enough_rounds():
    ranking, advice = _advice(near=_run(100, "near", 1, 200), far=_run(105, "far", 2, 200))
    assert (advice.region, advice.indistinguishable) == ("near", [])
    assert ranking[1].slower_low > 0


def test_a_clear_winner_among_many_is_recommended():
    targets = {f"r{n}": _run(100 + 30 * n, f"r{n}", n) for n in range(12)}
    ranking, advice = _advice(**targets)
    assert [r.name for r in ranking] == [f"r{n}" for n in range(12)]
    assert advice.indistinguishable == []
    assert "told apart" in advice.reason


def test_a_fast_region_that_fails_is_not_the_best():
    broken = [*_run(10, "broken", 1, 15), *run_of([None] * 10, "broken")]
    ranking, advice = _advice(broken=broken, slow=_run(100, "slow", 2))
    assert advice.region == "slow"
    assert not ranking[-1].healthy


def test_a_region_without_answers_is_last_and_no_region_is_no_advice():
    ranking, advice = _advice(dead=run_of([None] * 9, "dead"), alive=_run(100, "alive", 1))
    assert [r.name for r in ranking] == ["alive", "dead"]
    assert advice.region == "alive"
    assert _advice(dead=run_of([None] * 9, "dead"))[1].region is None


def test_few_rounds_tell_nothing_apart():
    ranking, advice = _advice(a=run_of([10.0] * 4, "a"), b=run_of([90.0] * 4, "b"))
    assert (advice.region, advice.indistinguishable) == ("a", ["b"])
    assert "5 rounds are needed" in advice.reason
    assert ranking[0].median is None, "a median that cannot be bounded is not shown"


def test_an_agents_loop_pays_one_round_trip_per_step():
    made = [
        attempt_of(round=n, phase="cold", at={"dns": 1.0, "tcp": 31.0, "tls": 91.0, "request_start": 92.0})
        for n in range(5)
    ]
    loop = agent_loop(15, {"a": made}, "a")
    assert loop.network_ms == 15 * 30
    assert loop.new_connection_each_ms["a"] == 15 * (30 + 92)
    assert agent_loop(15, {"a": made}, None).network_ms is None
