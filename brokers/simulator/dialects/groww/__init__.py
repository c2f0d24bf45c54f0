"""Groww's Trade API as a server: REST routes, the instrument file, and the stream, which is NATS inside a websocket.

Written from docs/brokers/groww.md and proved with the official SDK, whose client for the stream is nats-py. It shares nothing with brokers/groww.
"""

from onebroker.brokers.simulator.dialects.groww.server import build

__all__ = ["build"]
