"""Kite Connect 3 as a server: REST routes, the instrument file, the ticker socket with order postbacks.

Written from what is known of the Kite Connect 3 documentation (we have not re-read it) and proved with the official SDK. It shares no code with
brokers/zerodha, so the two cannot have the same error.
"""

from onebroker.brokers.simulator.dialects.zerodha.server import build

__all__ = ["build"]
