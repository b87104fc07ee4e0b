from edgeinf.probe.calibrate import own_overhead_ms


def test_the_probers_own_share_is_measured_and_small():
    assert 0 < own_overhead_ms() < 10
