"""Bytes on the wire: server-sent events, one canonical JSON form, headers."""
