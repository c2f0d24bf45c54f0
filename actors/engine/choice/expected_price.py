"""The likely fill price of an order, as far as quotes show it: used for its cost and its margin (order-engine 4.2). Never an order's price."""

from decimal import Decimal

from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.quotes.interface import QuoteReader
from onebroker.actors.sessions.session_view import SessionView
from onebroker.config.money import exact
from onebroker.config.vocabulary import Side


def expected_price(order: LegOrder, quotes: QuoteReader) -> Decimal | None:
    """Return the order's own price (LIMIT, SL) or its trigger (SL-M). Else return the touch it would meet, or without a touch the last price. None
    when no price is known. Rupees."""
    typed = order.price if order.price is not None else order.trigger_price
    return typed if typed is not None else market_price(order, quotes)


def market_price(order: LegOrder, quotes: QuoteReader) -> Decimal | None:
    """Return the opposite touch of a usable quote, or else the last price of a quote; None when no price is known."""
    instrument_id = order.instrument.instrument_id
    tick = quotes.usable_tick(instrument_id)
    if tick is not None:
        side = tick.sell if Side(order.transaction_type) is Side.BUY else tick.buy
        return exact(side[0].price if side else tick.last_price)
    last = quotes.usable_price(instrument_id)
    return None if last is None else exact(last)


def row_price(order: LegOrder, broker: str, view: SessionView) -> Decimal | None:
    """Return the last price in a broker's own position row of the instrument; None without one."""
    listing = order.instrument.listings.get(broker)
    rows = view.positions if listing is not None else ()
    prices = (row.last_price for row in rows if listing is not None and row.instrument_token == listing.broker_token)
    price = next((price for price in prices if price), None)
    return None if price is None else exact(price)
