"""The recipes, and an environment in which each is complete."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["ENV", "FOLDER", "NAMES", "config_of"]

FOLDER = Path(__file__).resolve().parents[2] / "recipes"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())

_KEYS = ("US_KEY", "EU_KEY", "INFERENCE_KEY", "OPENAI_API_KEY", "GROQ_API_KEY", "ANTHROPIC_API_KEY")
_HASHES = ("ADMIN_SHA256", "SEARCH_SHA256", "INTERN_SHA256", "APP_SHA256")
ENV = {
    **{name: f"placeholder-{name.lower()}" for name in _KEYS},
    **{name: hashlib.sha256(name.encode()).hexdigest() for name in _HASHES},
    "OPENAI_KEY_FILE": str(Path(__file__).with_name("placeholder.key")),
}
"""Values for every variable that a recipe has no default for; the hashes are of the variables' own names."""


def config_of(name: str) -> Path:
    """Return a recipe's config."""
    return FOLDER / name / "edgeinf.yaml"
