"""Where a client comes from is known before anything else is."""

from __future__ import annotations

from pathlib import Path

from edgeinf.core.config.schema import Clients, Guard
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for
from tests.serve.running import config_for, running


async def test_a_client_that_is_turned_away_is_not_even_asked_for_its_key(tmp_path: Path, origin: MockOrigin) -> None:
    guard = Guard(clients=Clients(deny_cidr=("127.0.0.0/8",)))
    async with running(config_for(tmp_path, origin.url, guard=guard, auth=auth_for("a"))) as proxy:
        assert (await proxy.ask(headers={"authorization": ""})).status_code == 403
