"""All brokers, in the order of their priority for REST quotes (architecture 13). A new broker is one line here."""

from onebroker.brokers.angelone.broker import ANGELONE
from onebroker.brokers.broker import Broker, Registry
from onebroker.brokers.dhan.broker import DHAN
from onebroker.brokers.fivepaisa.broker import FIVEPAISA
from onebroker.brokers.fyers.broker import FYERS
from onebroker.brokers.groww.broker import GROWW
from onebroker.brokers.icicidirect.broker import ICICIDIRECT
from onebroker.brokers.kotakneo.broker import KOTAKNEO
from onebroker.brokers.shoonya.broker import SHOONYA
from onebroker.brokers.upstox.broker import UPSTOX
from onebroker.brokers.zerodha.broker import ZERODHA

BROKERS: tuple[Broker, ...] = (
    ZERODHA, UPSTOX, DHAN, ANGELONE, FYERS, KOTAKNEO,  # in service for quotes, in this order
    FIVEPAISA, GROWW, ICICIDIRECT, SHOONYA,
)  # fmt: skip


def build_registry() -> Registry:
    """Return every broker by its code."""
    return {broker.code: broker for broker in BROKERS}
