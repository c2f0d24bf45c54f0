"""5paisa's Open API as a server: REST routes, the instrument file, candles, and the one socket for market data and orders.

Written from the broker's page and proved with the official SDK. It shares no code with brokers/fivepaisa.
"""

from onebroker.brokers.simulator.dialects.fivepaisa.server import build

__all__ = ["build"]
