"""Rules that bring natural-language text into one form, one per file, each a pure, idempotent ``str -> str``."""
