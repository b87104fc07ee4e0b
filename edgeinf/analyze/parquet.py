"""Parquet files as lines of JSON, so that every reader of such lines can read them.

Langfuse's scheduled exports are Parquet unless told otherwise, with the columns of its other file types but the
prices per unit (https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields, 2026-07).
DuckDB is named here alone; it is not needed for any other format.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from edgeinf.core.errors import UsageError

__all__ = ["MAGIC", "to_json_lines"]

MAGIC = b"PAR1"
_MEMORY = "1GB"


def to_json_lines(path: str, target: str) -> None:
    """Write each row of a Parquet file as a JSON object on a line. Raise UsageError without DuckDB, else OSError."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("Parquet needs the duckdb library", hint="pip install 'edgeinf[parquet]'") from None
    with tempfile.TemporaryDirectory(prefix="edgeinf-", dir=Path(target).parent) as folder:
        # A name of our own, since DuckDB takes the brackets and stars in a path for a pattern, and quotes for an end.
        source, lines = Path(folder) / "rows.parquet", Path(folder) / "rows.json"
        source.symlink_to(Path(path).resolve())
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",  # what is not in the library is not fetched
            "memory_limit": _MEMORY,
            "temp_directory": folder,
        }
        try:
            with duckdb.connect(":memory:", config=settings) as connection:
                connection.execute("SET TimeZone='UTC'")
                # Some writers do not mark their texts as such.
                connection.read_parquet(str(source), binary_as_string=True).create_view("log")
                connection.execute(f"COPY log TO '{lines}' (FORMAT json)")
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0].replace(f" '{source}'", "")
            raise OSError(0, f"damaged Parquet data ({reason})") from None
        lines.chmod(0o600)
        lines.replace(target)
