from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgeinf.core.config.scalar import STAND_IN, Bad, Scalar, Secret


def _fail(value: object, base: Path) -> object:
    raise Bad("never")


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret("hunter2")
    assert "hunter2" not in f"{secret} {secret!r} {[secret]}"
    assert secret.get_secret_value() == "hunter2"
    assert secret == Secret("hunter2")
    assert len({secret, Secret("hunter2"), Secret("other")}) == 2


def test_the_stand_in_for_an_unset_variable_is_always_accepted() -> None:
    assert Scalar(_fail, {}, 7).read(STAND_IN, Path()) == 7
    with pytest.raises(Bad):
        Scalar(_fail, {}, 7).read("x", Path())


def test_nothing_here_imports_the_validation_library() -> None:
    code = (
        "import sys; from edgeinf.core.config import direct as d, load; d.build({}, base=None, insecure=False); "
        "print([m for m in ('pydantic', 'yaml', 'regex') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
