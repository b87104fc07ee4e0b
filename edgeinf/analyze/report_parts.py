"""The later parts of the report: what to change, risk, what-if, the provider's cache, other tools."""

from __future__ import annotations

from edgeinf.analyze.breaks import Also, Break, Breaks
from edgeinf.analyze.document_parts import assumed
from edgeinf.analyze.run import Analysis
from edgeinf.analyze.whatif import Side
from edgeinf.core.report.tree import Cell, Column, Part, Section, Table, Text

__all__ = ["change", "gateways", "headline", "prefix_cache", "risk", "what_if"]

_SHOWN = 12
_HEADLINES = 3
_WORTH_SAYING = 0.001
_BRIEF = 40


def headline(a: Analysis) -> list[Part]:
    """Return the first things to change, one line each."""
    if a.misses is None:
        return []
    return [
        Text(text=f"+{100 * m.gain:.1f} points: {' and '.join(c.what for c in m.causes)}: {m.advice}.")
        for m in a.misses.causes[:_HEADLINES]
        if m.gain >= _WORTH_SAYING
    ]


def change(a: Analysis) -> Part | None:
    """Return what keeps equal questions apart, most recoverable first."""
    m = a.misses
    if m is None:
        return None
    causes = [miss for miss in m.causes if miss.gain >= _WORTH_SAYING][:_SHOWN]
    if not causes:
        return Text(text="Nothing was found that keeps equal questions apart.")
    rows: list[tuple[Cell, ...]] = [
        (
            " and ".join(c.what for c in miss.causes),
            ", ".join(c.where for c in miss.causes),
            miss.gain,
            f"{miss.a} / {miss.b}",
            miss.advice,
        )
        for miss in causes
    ]
    how = f"a sample of {m.compared:,} misses" if m.sampled else f"all {m.compared:,} misses that resemble another"
    return Table(
        title="what keeps equal questions apart, and what removing it would add",
        columns=(
            Column(title="cause"),
            Column(title="where"),
            Column(title="gain", unit="%"),
            Column(title="example"),
            Column(title="advice"),
        ),
        rows=tuple(rows),
        caption=f"gain: share of all requests that would become hits; from {how}",
    )


def risk(a: Analysis) -> Section | None:
    """Return what each level risks, with examples."""
    known = {level: r for level, r in a.risk.items() if r is not None and r.compared}
    if not known:
        return None
    rows: list[tuple[Cell, ...]] = [
        (level, r.classes, r.compared, r.conflicts, r.rate, r.baseline, r.low, r.high, r.why or "")
        for level, r in known.items()
    ]
    parts: list[Part] = [
        Table(
            columns=(
                Column(title="level"),
                Column(title="newly merged"),
                Column(title="compared"),
                Column(title="conflicts"),
                Column(title="rate", unit="%"),
                Column(title="exact repeats", unit="%"),
                Column(title="excess from", unit="%"),
                Column(title="to", unit="%"),
                Column(title=""),
            ),
            rows=tuple(rows),
            caption="conflict: other numbers, yes against no, a refusal, code, JSON; excess over what exact repeats "
            "show anyway, 95 % (Newcombe)",
        )
    ]
    for level, r in known.items():
        if r.examples:
            parts.append(
                Table(
                    title=f"merged at {level}",
                    columns=(
                        Column(title="where"),
                        Column(title="one"),
                        Column(title="other"),
                        Column(title="its answer"),
                        Column(title="other answer"),
                        Column(title="conflict"),
                    ),
                    rows=tuple((e.path, e.a, e.b, e.answer_a, e.answer_b, e.conflict or "none") for e in r.examples),
                )
            )
    return Section(title="What a looser level risks", parts=tuple(parts))


def what_if(a: Analysis) -> Section | None:
    """Return both sides, the identity and every assumption."""
    w = a.whatif
    if w is None:
        return None

    def row(name: str, field: str) -> tuple[Cell, ...]:
        before, after = _number(w.before, field), _number(w.after, field)
        saved = None if before is None or after is None or not before else 1 - after / before
        return (name, before, after, saved)

    rows = (
        row("median, ms", "p50_ms"),
        row("p95, ms", "p95_ms"),
        row("requests at the origin", "origin_requests"),
        row("most at once", "peak_concurrency"),
        row("replicas", "replicas"),
        row("USD a month", "usd_month"),
    )
    loop = w.agent_loop
    loops = ("an agent's loop, ms", loop.before_ms, loop.after_ms)
    saved = None if not loop.before_ms or loop.after_ms is None else 1 - loop.after_ms / loop.before_ms
    parts: list[Part] = [
        Table(
            columns=(
                Column(title=""),
                Column(title="before"),
                Column(title="after"),
                Column(title="less", unit="%"),
            ),
            rows=(*rows, (*loops, saved)),
            caption=f"the loop has {loop.steps} steps ({loop.steps_from})",
        )
    ]
    if w.identity:
        parts.append(Text(text=w.identity))
    if w.break_even_hit_rate is not None:
        parts.append(
            Text(text=f"In time, the layer pays for itself from a hit rate of {w.break_even_hit_rate:.2%} on.")
        )
    parts.append(Text(text="Assumed: " + "; ".join(w.assumptions + assumed(a)) + "."))
    return Section(title="Before and after", parts=tuple(parts))


def _number(side: Side, field: str) -> float | None:
    value = getattr(side, field)
    return None if value is None else float(value)


def prefix_cache(a: Analysis) -> Section | None:
    """Return what the provider's prefix cache gave and could give."""
    p = a.prefix
    if p is None:
        return None
    unit = "about " if p.estimated else ""
    parts: list[Part] = [
        Text(
            text=f"{p.block_rate:.1%} of {p.refs:,} blocks of {unit}{p.block_tokens} tokens stand at the start of an "
            f"earlier prompt; by request, on average {p.request_mean_rate:.1%}; of prompts, {p.whole_request_rate:.1%} "
            "are there whole."
        )
    ]
    if p.observed_token_rate is not None:
        parts.append(
            Text(text=f"Observed: {p.observed_token_rate:.1%} of input tokens came from the provider's cache.")
        )
    parts.append(
        Table(
            title="possible under the providers' rules",
            columns=(
                Column(title="provider"),
                Column(title="cached input tokens", unit="%"),
                Column(title="USD saved"),
                Column(title="rule"),
            ),
            rows=tuple((v.rule.title, v.cached_token_rate, v.usd_saved, v.rule.note) for v in p.providers),
            caption=f"rules as read in {p.providers[0].dated}" if p.providers else "",
        )
    )
    if p.just_below:
        parts.append(
            Text(
                text=f"{p.just_below:,} prompts miss the smallest minimum by less than a quarter: below it nothing is "
                "cached and no error says so.",
                tone="warning",
            )
        )
    if p.breaks is not None:
        parts += _first_differences(p.breaks)
    return Section(title="The provider's prefix cache", parts=tuple(parts))


def _first_differences(b: Breaks) -> list[Part]:
    """Return where prompts part first, and what to do about it, the costliest first."""
    places = [place for place in b.places if place.share >= _WORTH_SAYING][:_SHOWN]
    how = (
        f"a sample of {b.compared:,} of {b.prompts:,} long prompts" if b.sampled else f"all {b.compared:,} long prompts"
    )
    if not places:
        return [Text(text=f"Prompts share their start as far as they are the same: seen in {how}.", tone="good")]
    first = places[0]
    lead = Text(
        text=f"{_of(first)} part first at {_where(first)}, {first.what}: {first.advice}. About {first.tokens:,} tokens "
        "behind it are the same as before and are paid for in full.",
        tone="warning",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            place.route or place.template or "",
            _where(place),
            place.what + "".join(f"; then {o.what} at {_where(o)}" for o in place.also),
            place.advice,
            place.share,
            round(place.shared),
            place.tokens,
            f"{_brief(place.a)} / {_brief(place.b)}",
        )
        for place in places
    ]
    return [
        lead,
        Table(
            title="the first difference between a prompt and the one most like it before",
            columns=(
                Column(title="application"),
                Column(title="where"),
                Column(title="what changes"),
                Column(title="advice"),
                Column(title="prompts", unit="%"),
                Column(title="tokens before it"),
                Column(title="tokens it costs"),
                Column(title="example"),
            ),
            rows=tuple(rows),
            caption="prompts: share of those compared that part there first; tokens before it: shared, on average; it "
            f"costs what is the same behind it, in the whole log; from {how}; characters count from 0",
        ),
    ]


def _brief(text: str) -> str:
    return text if len(text) <= _BRIEF else text[: _BRIEF - 1] + "…"


def _of(place: Break) -> str:
    name = place.route or place.template
    return f"{place.share:.1%} of prompts" + (f" ({name})" if name else "")


def _where(place: Break | Also) -> str:
    path = place.path.removeprefix("$.")
    if place.start is None or place.end is None:
        return path
    return f"{path}, characters {place.start}-{max(place.end - 1, place.start)}"


def gateways(a: Analysis) -> Table | None:
    """Return what other tools' keys would have hit."""
    if not a.gateways:
        return None
    return Table(
        title="other tools' keys on this log (approximate)",
        columns=(
            Column(title="tool"),
            Column(title="read in"),
            Column(title="hits"),
            Column(title="hit rate", unit="%"),
            Column(title="merges wrongly or splits needlessly"),
        ),
        rows=tuple((g.gateway.name, g.gateway.dated, g.hits, g.hit_rate, g.gateway.note) for g in a.gateways),
        caption="a higher rate than edgeinf's at exact can mean that different questions share an answer",
    )
