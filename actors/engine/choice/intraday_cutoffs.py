"""Whether a broker already closes intraday positions for the day (order-engine 1.8, 4.1). Pure."""

from datetime import datetime

from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.config.clock import IST, latest_boundary
from onebroker.config.sections import IntradayCutoff
from onebroker.config.vocabulary import Product


def intraday_closed(order: LegOrder, cutoff: IntradayCutoff, now: datetime) -> bool:
    """Tell whether an intraday entry comes after the broker's cut-off of the day that began at the latest 07:00.

    Always False for an order that closes a position, and for an after-market order, which is for the next session.
    """
    at = getattr(cutoff, order.calendar)
    if at is None or order.product != Product.MIS or order.closes or order.after_market:
        return False
    return now >= datetime.combine(latest_boundary(now).date(), at, IST)
