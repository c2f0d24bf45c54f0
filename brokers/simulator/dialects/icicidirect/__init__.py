"""ICICI Direct's Breeze API as a server: signed REST v1, historical v2, the security master, two Socket.IO streams and candles.

Written from the broker's page (SDK, README samples, public fixtures) and proved with the official SDK. It shares no code with brokers/icicidirect.
"""

from onebroker.brokers.simulator.dialects.icicidirect.server import build

__all__ = ["build"]
