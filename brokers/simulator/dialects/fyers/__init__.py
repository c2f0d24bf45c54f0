"""Fyers' API v3 as a server: REST routes on two hosts, symbol masters, the binary data socket and the order socket.

Written from what is known of the broker's documentation (not re-read by us) and of its Python client, and proved with that client;
shares no code with brokers/fyers, so that the two cannot be wrong together.
"""

from onebroker.brokers.simulator.dialects.fyers.server import build

__all__ = ["build"]
