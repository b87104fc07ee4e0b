"""A scripted origin: answers derived from the request, delays and faults on demand, every call recorded.

In an asynchronous test, on the test's own loop::

    async with MockOrigin({"answer": {"tokens": 5}, "ttft": "20ms"}) as origin:
        ...                                        # POST to f"{origin.url}/v1/chat/completions"
        assert origin.count == 1                   # POST calls; origin.calls holds each in full
        origin.use({"fault": "cut;after=3"})       # change the script; see load.py for its form
        await origin.until(lambda: origin.calls[-1].disconnected_ns > 0)

Several at once: ``async with MockRegions({"ttft": "5ms"}, east={}, west={"fault": "503"}) as regions``.
In a synchronous test, on a thread of its own, the same names in ``with ThreadedOrigin(script) as origin``.
Fixtures in ``tests/conftest.py``: ``origin``, ``origin_thread``, ``make_origin``.

A single request can ask for its own fault, by the header ``X-Mock-Fault: cut;after=3`` or by the body field
``"mock": {"fault": "429;retry_after=1s", "answer": {"tokens": 3}, "ttft": "10ms"}``. All faults: ``faults/table.py``.
Answers are functions of the request alone (not of ``stream``, ``user`` and the like), start with its digest,
and are alike as a stream and as a whole; ids differ per call unless ``fixed_ids`` is set.
"""

from edgeinf.mock.origin import MockOrigin
from edgeinf.mock.record import Call
from edgeinf.mock.regions import MockRegions
from edgeinf.mock.script import Script
from edgeinf.mock.threaded import ThreadedOrigin
from edgeinf.mock.values import Kind

__all__ = ["Call", "Kind", "MockOrigin", "MockRegions", "Script", "ThreadedOrigin"]
