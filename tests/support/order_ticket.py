"""An order as the engine hands it to a codec: a share bought for delivery at a limit, with what a test changes of it."""

from decimal import Decimal
from typing import Any

from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.records import Listing


def limit_order(listing: Listing, **changes: Any) -> OrderTicket:
    fields: dict[str, Any] = {
        "segment": "nse_equities", "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "validity": "DAY",
        "quantity": 5, "price": Decimal("1573.10"), **changes,
    }  # fmt: skip
    return OrderTicket(listing=listing, **fields)
