"""Kite Connect 3 as a server: REST routes, the instrument file, the ticker socket with order postbacks.

Written from kite.trade/docs/connect/v3 and proved with the official SDK; shares no code with brokers/zerodha, so that the
two cannot be wrong together.
"""

from onebroker.brokers.simulator.dialects.zerodha.server import build

__all__ = ["build"]
