"""Settings of the cache that have no effect, or more than meant."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _sampled(facts: Facts) -> Iterator[Finding]:
    if facts.given(("cache",)) and not facts.given(("cache", "max_temperature")):
        yield Finding(
            path=("cache",),
            message="sampled answers are cached too: whoever asks again gets the same one",
            help="that is the default; max_temperature: 0 caches deterministic calls only, null says that all is meant",
            at_key=True,
        )


def _idle_mask(facts: Facts) -> Iterator[Finding]:
    if facts.given(("cache", "mask")) and facts.config.cache.level != "masked":
        yield Finding(
            path=("cache", "mask"),
            message=f"mask has no effect at level {facts.config.cache.level}",
            help="write level: masked, or remove the line",
            needs=(("cache", "level"),),
            at_key=True,
        )


def _empty_mask(facts: Facts) -> Iterator[Finding]:
    cache = facts.config.cache
    if cache.level == "masked" and not cache.mask:
        yield Finding(
            path=("cache", "mask"),
            message="level masked with nothing to mask is level loose",
            help="write level: loose, or name what to mask: timestamps, request-ids, uuids",
            needs=(("cache", "level"),),
        )


def _no_tier(facts: Facts) -> Iterator[Finding]:
    cache = facts.config.cache
    if cache.memory is None and cache.disk is None and cache.shared is None:
        yield Finding(
            path=("cache",),
            message="memory, disk and shared are all off, so nothing is cached",
            help="leave one of them on",
            needs=(("cache", "memory"), ("cache", "disk"), ("cache", "shared")),
            at_key=True,
        )


def _inverted(facts: Facts) -> Iterator[Finding]:
    cache = facts.config.cache
    if cache.memory is not None and cache.disk is not None and cache.memory.max_size > cache.disk.max_size > 0:
        where = ("cache", "disk", "max_size") if facts.given(("cache", "disk", "max_size")) else ("cache", "memory")
        yield Finding(
            path=where,
            message="the disk tier is smaller than the memory tier in front of it",
            help="make disk.max_size the larger one",
            needs=(("cache", "memory"), ("cache", "disk")),
        )


def _risky_sharing(facts: Facts) -> Iterator[Finding]:
    cache = facts.config.cache
    if cache.level in ("loose", "masked") and cache.scope == "shared":
        yield Finding(
            path=("cache", "level"),
            message=f"level {cache.level} may merge different questions, and everybody shares the answer",
            help="measure the risk with edgeinf analyze first, or narrow the scope",
            related=(("the scope is here", ("cache", "scope")),),
            needs=(("cache", "scope"),),
        )


def _credential_header(facts: Facts) -> Iterator[Finding]:
    for where, name in facts.items("cache", "forward_headers"):
        if name.lower() in ("authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"):
            yield Finding(
                path=where,
                message=f"{name} would reach every region and keep all answers apart",
                help="use passthrough for the client's own credential",
            )


def _no_room(facts: Facts) -> Iterator[Finding]:
    for tier in ("memory", "disk"):
        part = getattr(facts.config.cache, tier)
        if part is not None and part.max_size < 2**20 and facts.given(("cache", tier, "max_size")):
            yield Finding(
                path=("cache", tier, "max_size"),
                message=f"{part.max_size} bytes hold hardly an answer",
                help=f"at least 1MiB, or {tier}: null to turn the tier off",
            )


_AUTH = "regions: [{name: a, url: https://a.example.com}]\nauth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}\n"

RULES = (
    Rule(
        code="I361",
        severity="info",
        title="sampled answers are cached",
        why="At a temperature above 0 the origin would vary its answer; the cache repeats the first one. "
        "A client that wants another sends Cache-Control: no-cache, or X-Edgeinf-Sample for several.",
        example="cache: {ttl: 1h}",
        instead="cache: {ttl: 24h, max_temperature: 0}",
        check=_sampled,
    ),
    Rule(
        code="W361",
        severity="warning",
        title="a mask without level masked",
        why="Only level masked replaces what changes from call to call.",
        example="cache: {mask: [uuids], max_temperature: 0}",
        instead="cache: {level: masked, mask: [uuids], max_temperature: 0}",
        check=_idle_mask,
    ),
    Rule(
        code="W362",
        severity="warning",
        title="level masked with nothing to mask",
        why="It takes the risk of loose under another name.",
        example="cache: {level: masked, mask: [], max_temperature: 0}",
        instead="cache: {level: masked, mask: [timestamps], max_temperature: 0}",
        check=_empty_mask,
    ),
    Rule(
        code="W363",
        severity="warning",
        title="no tier is on",
        why="Questions are still coalesced, but no answer is kept.",
        example="cache: {memory: null, disk: null, max_temperature: 0}",
        instead="cache: {disk: null, max_temperature: 0}",
        check=_no_tier,
    ),
    Rule(
        code="W364",
        severity="warning",
        title="a disk smaller than the memory",
        why="The tier behind should hold what the one in front has dropped.",
        example="cache: {disk: {max_size: 100MiB}, max_temperature: 0}",
        instead="cache: {disk: {max_size: 10GiB}, max_temperature: 0}",
        check=_inverted,
    ),
    Rule(
        code="W365",
        severity="warning",
        title="a loose level shared by all",
        why="Where two different questions are merged, a stranger's answer is served.",
        example=_AUTH + "cache: {level: loose, scope: shared, max_temperature: 0}",
        instead=_AUTH + "cache: {level: safe, scope: shared, max_temperature: 0}",
        check=_risky_sharing,
    ),
    Rule(
        code="W366",
        severity="warning",
        title="a credential among the forwarded headers",
        why="Forwarded headers go to every region and into the key.",
        example="cache: {forward_headers: [Authorization], max_temperature: 0}",
        instead="cache: {forward_headers: [X-Language], max_temperature: 0}",
        check=_credential_header,
    ),
    Rule(
        code="W367",
        severity="warning",
        title="a tier without room",
        why="An answer that does not fit is not kept.",
        example="cache: {memory: {max_size: 1KiB}, max_temperature: 0}",
        instead="cache: {memory: {max_size: 64MiB}, max_temperature: 0}",
        check=_no_room,
    ),
)
