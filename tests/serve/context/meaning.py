"""Embeddings with a meaning: an origin scripted so that a crate going home is near to a parcel sent back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edgeinf.mock import MockOrigin

__all__ = ["CRATE", "embedded", "embeddings", "meaning", "of_the_documents", "texts"]

CRATE = "May my crate go home?"

RETURNS = "# Returns\n\nA parcel can be sent back within 30 days.\n"
SHIPPING = "# Shipping\n\nIslands wait nine days.\n"


def of_the_documents(folder: Path) -> Path:
    """Write the two documents."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "returns.md").write_text(RETURNS)
    (docs / "shipping.md").write_text(SHIPPING)
    return docs


def embeddings(*vectors: list[float]) -> str:
    """Return the body of an answer with these vectors."""
    return json.dumps({"data": [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]})


def meaning() -> dict[str, Any]:
    """Return the script: both documents in one batch, in the order of their names, and one question."""
    return {
        "rules": [
            {
                "when": {"path": "*/embeddings", "contains": "*sent back*"},
                "answer": {"raw": [embeddings([1, 0, 0.1], [0, 1, 0.1])]},
            },
            {
                "when": {"path": "*/embeddings", "contains": "*crate*"},
                "answer": {"raw": [embeddings([0.9, 0.1, 0])]},
            },
        ]
    }


def embedded(origin: MockOrigin) -> list[str]:
    """Return every text that the origin was asked to embed."""
    return [text for texts_ in texts(origin) for text in texts_]


def texts(origin: MockOrigin) -> list[list[str]]:
    """Return the texts of each request for embeddings."""
    return [call.json["input"] for call in origin.calls if call.path.endswith("/embeddings")]
