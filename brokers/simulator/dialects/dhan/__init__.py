"""DhanHQ v2 as a server: the auth host, REST routes, both instrument files, the binary market feed, the order stream.

Written from what is known of Dhan's documentation and live answers (we have not re-read them) and proved with the official SDK. It shares nothing
with brokers/dhan.
"""

from onebroker.brokers.simulator.dialects.dhan.server import build

__all__ = ["build"]
