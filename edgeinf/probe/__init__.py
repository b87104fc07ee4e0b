"""Latency that can be acted on: what was measured, how sure it is, and when it cannot tell."""
