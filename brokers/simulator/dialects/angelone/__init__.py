"""Angel One SmartAPI as a server: REST routes in both envelopes, the instrument file, the binary market socket, the order socket.

Written from what is known of the SmartAPI documentation (not re-read by us) and proved with the official SDK; shares no code with
brokers/angelone, so that the two cannot be wrong together.
"""

from onebroker.brokers.simulator.dialects.angelone.server import build

__all__ = ["build"]
