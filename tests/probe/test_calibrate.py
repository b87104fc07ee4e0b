import edgeinf.probe.calibrate as calibrate
from edgeinf.probe.calibrate import own_overhead_ms


def test_the_probers_own_share_is_measured_and_small():
    assert 0 < own_overhead_ms() < 10


def test_where_the_origin_gives_up_nobody_waits_for_it(monkeypatch):
    monkeypatch.setattr(calibrate, "_PATIENCE_S", 0.0)
    measured = calibrate.own_overhead_ms(times=3)
    assert measured is None or measured > 0
