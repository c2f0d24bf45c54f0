"""Shoonya's OAuth generation of the Noren API as a server: REST calls, seven instrument files, the one socket.

Written from the broker's page and proved with the official client. It shares nothing with brokers/shoonya.
"""

from onebroker.brokers.simulator.dialects.shoonya.server import build

__all__ = ["build"]
