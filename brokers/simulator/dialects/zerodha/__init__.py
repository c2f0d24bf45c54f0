"""Kite Connect 3 as a server: REST routes, the instrument file, the ticker socket with order postbacks.

Written from what is known of the Kite Connect 3 documentation (not re-read by us) and proved with the official SDK; shares no
code with brokers/zerodha, so that the two cannot be wrong together.
"""

from onebroker.brokers.simulator.dialects.zerodha.server import build

__all__ = ["build"]
