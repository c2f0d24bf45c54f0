"""Kotak Neo's Neo Trade API v2 as a server: two-step login, REST routes, scrip files, config service, SFeed, order stream.

Written from the broker's page and the recorded answers, and proved with the official SDK. It shares nothing with brokers/kotakneo.
"""

from onebroker.brokers.simulator.dialects.kotakneo.server import build

__all__ = ["build"]
