"""Upstox Developer API v2 and v3 as a server: REST routes, the instrument file, the market feed, the portfolio stream.

Written from what is known of Upstox' developer documentation (we have not re-read it) and proved with the official SDK. It shares nothing with brokers/upstox.
"""

from onebroker.brokers.simulator.dialects.upstox.server import build

__all__ = ["build"]
