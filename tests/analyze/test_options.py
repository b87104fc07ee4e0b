"""The defaults of an analysis are those of the proxy."""

from __future__ import annotations

from edgeinf.analyze.options import Options
from edgeinf.core.config.schema import Cache


def test_level_and_expiry_default_to_the_proxy_s() -> None:
    options, cache = Options(files=()), Cache()
    assert (options.level, options.policy.ttl_s, options.policy.ttl_jitter) == (
        cache.level,
        cache.ttl,
        cache.ttl_jitter,
    )
    assert options.policy.max_temperature is cache.max_temperature is None
