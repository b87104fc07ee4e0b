"""The protocol library set up as a client that relays: windows, bounds, and no more checks than are of use."""

from __future__ import annotations

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings

__all__ = ["CONNECTION_WINDOW", "STREAM_WINDOW", "make_protocol", "reason"]

# Unread bytes of one answer above which the origin may send no more of it.
STREAM_WINDOW = 256 * 1024
CONNECTION_WINDOW = 16 * 2**20
_USUAL_WINDOW = 65_535
_MAX_HEAD = 64 * 1024


def make_protocol() -> H2Connection:
    """Return the protocol of a connection, with what the origin is told first ready to be sent."""
    # What we send comes from our own lists and is checked there; what comes in is checked by the library.
    h2 = H2Connection(
        H2Configuration(
            client_side=True, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
        )
    )
    h2.local_settings = Settings(
        client=True,
        initial_values={
            SettingCodes.ENABLE_PUSH: 0,
            SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: _MAX_HEAD,
        },
    )
    h2.initiate_connection()
    h2.increment_flow_control_window(CONNECTION_WINDOW - _USUAL_WINDOW)
    return h2


def reason(code: int) -> str:
    """Return an error code in words."""
    try:
        return ErrorCodes(code).name.lower().replace("_", " ")
    except ValueError:
        return f"code {code}"
