"""Sockets that are silent for long are asked after."""

from __future__ import annotations

import asyncio
import socket

from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.keeping import MAX_AGE_S, MAX_IDLE_S, keep_alive


async def test_the_system_asks_whether_the_other_end_is_there(origin: MockOrigin):
    transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", origin.port)
    sock = transport.get_extra_info("socket")
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0
    keep_alive(transport)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    transport.abort()


def test_a_transport_without_a_socket_is_left_as_it_is():
    keep_alive(asyncio.Transport())


def test_an_idle_connection_is_let_go_before_it_is_old():
    assert MAX_IDLE_S < MAX_AGE_S
