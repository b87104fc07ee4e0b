"""Azure API Management's ``ApiManagementGatewayLlmLog``: request and answer of a call in rows of one CorrelationId."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from edgeinf.analyze.readers.base import Sample, count, embedded, json_lines, number, text
from edgeinf.analyze.record import CHAT, Damaged, NotARequest, Record
from edgeinf.analyze.times import instant

__all__ = ["READER"]


class AzureApim:
    """Joins rows by CorrelationId in the order of SequenceNumber; rows of the gateway's own log bring latencies."""

    name = "azure-apim"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("CorrelationId", "TimeGenerated", "SequenceNumber")

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        calls: dict[str, list[dict[str, Any]]] = {}
        for _, row in json_lines(paths):
            if isinstance(row, Damaged):
                yield row
            elif isinstance(row.get("CorrelationId"), str):
                calls.setdefault(row["CorrelationId"], []).append(row)
            else:
                yield Damaged("no CorrelationId")
        for rows in calls.values():
            yield _record(rows)


def _record(rows: list[dict[str, Any]]) -> Record | NotARequest:
    parts = sorted((r for r in rows if "SequenceNumber" in r), key=lambda r: count(r["SequenceNumber"]) or 0)
    gateway: dict[str, Any] = next((r for r in rows if "TotalTime" in r), {})
    asked = _joined(parts, "RequestMessages")
    if not isinstance(asked, list):
        return NotARequest("a call without its request")
    head: dict[str, Any] = next((r for r in parts if r.get("ModelName") or r.get("DeploymentName")), parts[0])
    model = text(head.get("ModelName")) or text(head.get("DeploymentName"))
    cache = str(gateway.get("Cache") or "").lower()
    return Record(
        at=instant(parts[0].get("TimeGenerated")),
        route=text(head.get("ApiId")),
        model=model,
        path=CHAT,
        request={"model": model, "messages": asked},
        answer=_joined(parts, "ResponseMessages"),
        status=count(gateway.get("ResponseCode")),
        latency_ms=number(gateway.get("TotalTime")),
        input_tokens=count(head.get("PromptTokens")),
        output_tokens=count(head.get("CompletionTokens")),
        cache=cache if cache in ("hit", "miss") else None,
        id=text(head.get("RequestId")),
    )


def _joined(parts: list[dict[str, Any]], field: str) -> Any:
    """Return a field whose value may lie in pieces in several rows: texts are put together before they are parsed."""
    found = [p[field] for p in parts if p.get(field)]
    if not found:
        return None
    if all(isinstance(f, str) for f in found):
        whole = embedded("".join(found))
        if not isinstance(whole, str):
            return whole
        found = [embedded(f) for f in found]
    return [item for f in found for item in (f if isinstance(f, list) else [f])]


READER = AzureApim()
