"""Angel One SmartAPI as a server: REST routes in both envelopes, the instrument file, the binary market socket, the order socket.

Written from what is known of the SmartAPI documentation (we have not re-read it) and proved with the official SDK. It shares no code with
brokers/angelone, so the two cannot have the same error.
"""

from onebroker.brokers.simulator.dialects.angelone.server import build

__all__ = ["build"]
