"""Fyers' API v3 as a server: REST routes on two hosts, symbol masters, the binary data socket and the order socket.

Written from what is known of the broker's documentation (we have not re-read it) and of its Python client, and proved with that client. It shares no
code with brokers/fyers, so the two cannot have the same error.
"""

from onebroker.brokers.simulator.dialects.fyers.server import build

__all__ = ["build"]
