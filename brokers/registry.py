"""The brokers there are, in the order of their priority for REST quotes (architecture 13). A new broker is one line here."""

from onebroker.brokers.broker import Broker, Registry
from onebroker.brokers.upstox.broker import UPSTOX
from onebroker.brokers.zerodha.broker import ZERODHA

BROKERS: tuple[Broker, ...] = (ZERODHA, UPSTOX)


def build_registry() -> Registry:
    """Return every broker by its code."""
    return {broker.code: broker for broker in BROKERS}
