"""The house keeps its order: a twin test for each file, a docstring for each package, imports only downwards."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_SOURCE = _ROOT / "edgeinf"
_FILES = sorted(_SOURCE.rglob("*.py"))
_PACKAGES = sorted({path.parent for path in _FILES})
# Files without a test of their own. Lines leave this list and never enter it.
_EXCEPTIONS = frozenset((_ROOT / "tests" / "without_twin.txt").read_text().split())
_MOST_LINES = 500


def without_twin() -> set[str]:
    """Return the source files that have no test file of their own."""
    named = {path.relative_to(_SOURCE) for path in _FILES if path.name != "__init__.py"}
    return {str(path) for path in named if not (_ROOT / "tests" / path.parent / f"test_{path.name}").exists()}


def test_every_file_has_its_twin() -> None:
    assert sorted(without_twin() - _EXCEPTIONS) == []


def test_the_exceptions_only_shrink() -> None:
    assert sorted(_EXCEPTIONS - without_twin()) == [], "these have a twin now, or are gone: take them off the list"


def test_every_folder_with_code_is_a_package_that_says_what_it_is() -> None:
    silent = []
    for package in _PACKAGES:
        init = package / "__init__.py"
        if not init.exists() or not ast.get_docstring(ast.parse(init.read_text())):
            silent.append(str(package.relative_to(_ROOT)))
    assert silent == []


def test_every_file_says_what_it_is_and_none_is_a_drawer_for_everything() -> None:
    assert [str(path) for path in _FILES if not ast.get_docstring(ast.parse(path.read_text()))] == []
    assert [str(path) for path in _FILES if path.stem in ("utils", "helpers", "common", "misc")] == []


def test_no_file_is_too_long_to_read() -> None:
    lengths = {str(path.relative_to(_ROOT)): len(path.read_text().splitlines()) for path in _FILES}
    assert {path: length for path, length in lengths.items() if length > _MOST_LINES} == {}


def test_what_a_module_says_it_offers_is_there() -> None:
    wrong = []
    for path in _FILES:
        tree = ast.parse(path.read_text())
        offered = [
            [item.value for item in node.value.elts if isinstance(item, ast.Constant)]
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.List)
            and [getattr(target, "id", "") for target in node.targets] == ["__all__"]
        ]
        bound = {
            name
            for node in ast.walk(tree)
            for name in (
                *([node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []),
                *([node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []),
                *((a.asname or a.name for a in node.names) if isinstance(node, ast.Import | ast.ImportFrom) else []),
            )
        }
        wrong += [f"{path.relative_to(_ROOT)}: {name}" for names in offered for name in names if name not in bound]
    assert wrong == []


def test_nobody_imports_what_is_not_theirs_to_import() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))",
        ],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


_HEAVY = [
    "asyncio",
    "diskcache",
    "genai_prices",
    "h11",
    "httptools",
    "httpx",
    "pydantic",
    "pyreqwest",
    "redis",
    "rich",
    "tiktoken",
    "typer",
    "uvicorn",
    "uvloop",
    "yaml",
]  # fmt: skip


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], []], ids=["version", "help", "nothing"])
def test_a_short_answer_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from edgeinf.cli.app import run; "
        f"code = run({arguments!r}); "
        f"print(sorted(set({_HEAVY!r}) & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "edgeinf" in done.stdout
