"""DhanHQ v2 as a server: the auth host, REST routes, both instrument files, the binary market feed, the order stream.

Written from what is known of Dhan's documentation and live answers (not re-read by us) and proved with the official SDK; of
brokers/dhan it shares nothing.
"""

from onebroker.brokers.simulator.dialects.dhan.server import build

__all__ = ["build"]
