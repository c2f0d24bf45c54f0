"""Kotak Neo's Neo Trade API v2 as a server: two-step login, REST routes, scrip files, config service, SFeed, order stream.

Written from the broker's page and the recorded answers, proved with the official SDK; it shares nothing with brokers/kotakneo.
"""

from onebroker.brokers.simulator.dialects.kotakneo.server import build

__all__ = ["build"]
