"""What the origin is told first."""

from __future__ import annotations

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from edgeinf.serve.origin.http2.protocol import CONNECTION_WINDOW, STREAM_WINDOW, make_protocol, reason


def test_the_origin_is_told_the_bounds_before_anything_else():
    server = H2Connection(H2Configuration(client_side=False))
    server.initiate_connection()
    server.receive_data(make_protocol().data_to_send())
    told = server.remote_settings
    assert told.initial_window_size == STREAM_WINDOW
    assert told[SettingCodes.MAX_HEADER_LIST_SIZE] == 64 * 1024
    assert not told.enable_push
    assert server.outbound_flow_control_window == CONNECTION_WINDOW


def test_a_code_is_said_in_words_where_it_has_any():
    assert reason(ErrorCodes.ENHANCE_YOUR_CALM) == "enhance your calm"
    assert reason(0xFFFF) == "code 65535"
