"""``edgeinf demo``: everything at once on this machine, without a key or a network."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli import output
from edgeinf.cli.failures import Terminated

if TYPE_CHECKING:
    from edgeinf.analyze.run import Analysis
    from edgeinf.core.config.schema import Config, Region
    from edgeinf.probe.replay import Outcome

__all__ = ["app", "demo_config", "demo_regions"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

# name, place, time to first token: what a client in Frankfurt sees of three regions.
_REGIONS = (
    ("frankfurt", "eu-central-1", "30ms"),
    ("virginia", "us-east-1", "110ms"),
    ("singapore", "ap-southeast-1", "180ms"),
)


def demo_regions(stack: ExitStack) -> tuple[Region, ...]:
    """Start the scripted regions on threads, to be ended by ``stack``, and return them as the config has regions."""
    from edgeinf.core.config.schema import Region
    from edgeinf.mock import ThreadedOrigin

    regions = []
    for name, location, ttft in _REGIONS:
        script: dict[str, Any] = {"name": name, "ttft": ttft, "tpot": "2ms", "answer": {"tokens": 16}}
        origin = stack.enter_context(ThreadedOrigin(script))
        families: Any = ("openai", "anthropic", "rerank")
        regions.append(Region(name=name, url=origin.url, passthrough=True, location=location, serves=families))
    return tuple(regions)


def demo_config(config: Config, stack: ExitStack) -> Config:
    """Return the config in front of scripted regions, keeping nothing on disk."""
    cache, events = replace(config.cache, disk=None), replace(config.events, file=None)
    return replace(config, regions=demo_regions(stack), cache=cache, events=events)


@app.command()
def demo(
    requests: Annotated[int, typer.Option(min=20, max=100_000, help="how many requests the sample log has")] = 300,
    port: Annotated[int, typer.Option(help="port of the proxy and its dashboard, 0 for any")] = 0,
    stay: Annotated[bool, typer.Option("--stay", help="keep serving afterwards, dashboard included")] = False,
    json_: Annotated[bool, typer.Option("--json", help="one JSON document on stdout")] = False,
) -> int:
    """See it work: three scripted regions, the proxy before them, a sample log analysed and then replayed through it.

    edgeinf demo

    edgeinf demo --requests 100 --json
    """

    from edgeinf.core.config.schema import Config
    from edgeinf.serve.run import bind

    def end(number: int, frame: object) -> None:
        raise Terminated  # so that the folder of the sample log goes as well

    sock = bind("127.0.0.1", port)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, end))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edgeinf-demo-")))
        log = folder / "sample.jsonl"
        _write_sample(log, requests)
        output.note(
            f"a sample log of {requests} requests: {len(_TEMPLATES)} applications, one with a clock in its prompt"
        )
        predicted = _analyse(log)
        config = demo_config(Config(), stack)
        output.note(f"the proxy is at {url}, in front of {', '.join(name for name, *_ in _REGIONS)}; replaying the log")
        try:
            served = asyncio.run(
                _replay(config, sock, url, log, requests, stay=stay, say=lambda f: _say(f, predicted, url, json_))
            )
        except asyncio.CancelledError:
            raise Terminated from None
    return 0 if served else 1


_TEMPLATES = (("support", 3.0, None), ("search", 2.0, None), ("reports", 1.0, "clock"))


def _write_sample(log: Path, requests: int) -> None:
    from edgeinf.analyze.synthetic import Cause, LogPlan, Template, write_log

    templates = tuple(
        Template(name=name, weight=weight, cause=None if cause is None else Cause(kind="clock", site="end"))
        for name, weight, cause in _TEMPLATES
    )
    plan = LogPlan(requests=requests, templates=templates, intents=max(10, requests // 6), zipf=1.1, spacing_s=3.0)
    with log.open("wb") as file:
        write_log(plan, file)


def _analyse(log: Path) -> Analysis:
    from edgeinf.analyze.options import Options
    from edgeinf.analyze.run import analyze

    return analyze(Options(files=(str(log),), workers=1))


async def _replay(config: Config, sock: Any, url: str, log: Path, requests: int, *, stay: bool, say: Any) -> bool:
    """Serve, send the log through, show the figures; with ``stay`` go on serving until Ctrl-C."""
    from edgeinf.analyze.options import Options
    from edgeinf.analyze.replayable import again
    from edgeinf.cli.replay import as_requests
    from edgeinf.probe.replay import replay
    from edgeinf.serve.run import serve

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    if task is not None:
        # As for Ctrl-C: raising in the middle of whatever runs would leave requests behind that nobody ends.
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    stop, up = asyncio.Event(), asyncio.Event()
    serving = asyncio.ensure_future(serve(config, sock, stop=stop, ready=up.set))
    bar = output.Progress("replaying", requests)
    try:
        await asyncio.wait({serving, asyncio.ensure_future(up.wait())}, return_when=asyncio.FIRST_COMPLETED)
        with ExitStack() as stack:
            _, records = again(Options(files=(str(log),)), stack, lambda what, done, of: None)
            found = await replay(as_requests(records), url, progress=bar.update)
        bar.close()
        say(found)
        if stay:
            output.note(f"the dashboard is at {url}/_edgeinf/; Ctrl-C ends it")
            await serving
    finally:
        stop.set()
        await serving
    return not found.errors


def _say(found: Outcome, predicted: Analysis, url: str, as_json: bool) -> None:
    from edgeinf.probe.replay import document

    measured = document(found)
    default = predicted.default
    hits = None if default is None else default.hits
    if as_json:
        output.print_json({"predicted_hits": hits, **measured, "dashboard": f"{url}/_edgeinf/"})
        return
    rate = 0.0 if measured["hit_rate"] is None else 100 * measured["hit_rate"]
    every, hit = measured["latency"]["all"], measured["latency"]["hit"]
    same = "the same" if hits == measured["hits"] else "not the same"
    lines = [
        f"{measured['requests']} requests in {measured['elapsed_s']:.1f} s",
        f"answered from the cache: {measured['hits']} ({rate:.1f} %); analyze predicted from the log: {hits}, {same}",
    ]
    if every["n"] and hit["n"]:
        lines.append(f"median of all {every['median_ms']:.1f} ms, of a hit {hit['median_ms']:.2f} ms")
    lines += [f"why equal questions missed: {cause}" for cause in _causes(predicted)]
    if measured["errors"]:
        lines.append(f"errors: {measured['errors']}")
    sys.stdout.write("\n".join(lines) + "\n")


def _causes(predicted: Analysis) -> list[str]:
    from edgeinf.analyze.document import document

    misses = document(predicted).get("misses") or []
    return [
        f"{miss['cause']} at {miss['where']}, {100 * miss['gain']:+.1f} points: {miss['advice']}" for miss in misses[:3]
    ]
